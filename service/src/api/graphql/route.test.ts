import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST, refused, replyOf, testEdge } from '../../../test/support/edge.ts'
import { AppError, invalidInput, notFound } from '../../domain/errors.ts'

const IDENTITY = '{ apiKeyIdentity { isValid capabilities } }'

test('200: what ran has data and no errors, on both paths', async () => {
  const edge = await testEdge()
  for (const path of ['/graphql', '/api/v1/anything/graphql', '/api/v1/0a-b/graphql?x=1']) {
    const reply = await edge.ask('{ listWorkspaces { ok } }', { path })
    assert.equal(reply.status, 200)
    assert.deepEqual(reply.json, { data: { listWorkspaces: { ok: true } } })
    assert.equal(reply.headers['cache-control'], 'no-store')
  }
})

test('200: a refusal by a rule is null with its entry, and the others stand', async () => {
  const edge = await testEdge({
    resolvers: {
      listUsers: () => {
        throw notFound('No such thing: look at listWorkspaces.')
      },
    },
  })
  const reply = await edge.ask('{ a: listWorkspaces { ok } b: listUsers { ok } }', { workspace: FIRST.uid })
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.json, {
    data: { a: { ok: true }, b: null },
    errors: [
      {
        message: 'No such thing: look at listWorkspaces.',
        locations: [{ line: 1, column: 28 }],
        path: ['b'],
        extensions: { code: 'NOT_FOUND' },
      },
    ],
  })
})

test('a refusal by a use case is 200 whatever its code, except for a database that does not answer', async () => {
  const codes = ['INVALID_INPUT', 'CONFLICT', 'FORBIDDEN', 'BAD_REQUEST', 'RATE_LIMITED'] as const
  for (const code of codes) {
    const edge = await testEdge({ resolvers: { listWorkspaces: () => Promise.reject(new AppError(code, 'no')) } })
    refused(await edge.ask('{ listWorkspaces { ok } }'), 200, code, /^no$/)
  }
})

test('400: a document that does not parse or validate, in words of GraphQL', async () => {
  const edge = await testEdge()
  const rows: [query: string, message: RegExp][] = [
    ['{ listUsers { ok', /^Syntax Error: Expected Name, found <EOF>\.$/],
    ['{ nope }', /^Cannot query field "nope" on type "Query"\.$/],
    ['{ listUsrs { ok } }', /Did you mean "listUsers"\?/],
    ['{ listUsers { nope } }', /^Cannot query field "nope" on type "Users"\.$/],
    ['{ listUsers }', /must have a selection of subfields/],
    ['mutation { inviteUser(email: "a@b.c") { ok } }', /argument "accountType" of type "UserAccountType!" is required/],
    ['mutation { inviteUser(email: 1, accountType: ADMIN) { ok } }', /String cannot represent a non string value/],
    ['mutation { inviteUser(email: "a", accountType: KING) { ok } }', /does not exist in "UserAccountType"/],
  ]
  for (const [query, message] of rows)
    refused(await edge.ask(query, { workspace: FIRST.uid }), 400, 'BAD_REQUEST', message)
  assert.equal(edge.calls.length, 0)
})

test('400: variables that do not fit their types, in the same words each time', async () => {
  const edge = await testEdge()
  const query = 'query ($n: Int!) { getAuditLogs(limit: $n) { ok } }'
  const rows: [variables: unknown, message: RegExp][] = [
    [{}, /^Variable "\$n" of required type "Int!" was not provided\.$/],
    [{ n: null }, /^Variable "\$n" of non-null type "Int!" must not be null\.$/],
    [{ n: 'x' }, /^Variable "\$n" got invalid value "x"; Int cannot represent non-integer value: "x"$/],
    [{ n: 2 ** 31 }, /^Variable "\$n" got invalid value 2147483648; Int cannot represent non 32-bit/],
    [{ n: 1.5 }, /Int cannot represent non-integer value: 1\.5/],
    [{ n: { a: [] } }, /Int cannot represent non-integer value/],
  ]
  // Five times, so that the compiled document is asked too.
  for (let round = 0; round < 5; round++) {
    for (const [variables, message] of rows) refused(await edge.ask(query, { variables }), 400, 'BAD_REQUEST', message)
    assert.equal((await edge.ask(query, { variables: { n: 5 } })).status, 200)
  }
})

test('400: a body that is not the JSON of one operation', async () => {
  const edge = await testEdge()
  const rows: [payload: string, message: RegExp][] = [
    ['', /./],
    ['{', /not JSON|JSON/],
    ['nonsense', /JSON/],
    ['[]', /one operation in each request/],
    ['[{"query":"{ listWorkspaces { ok } }"}]', /one operation in each request/],
    ['"text"', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['1', /must be a JSON object/],
    ['{}', /"query" must be a text/],
    ['{"query":1}', /"query" must be a text/],
    ['{"query":null}', /"query" must be a text/],
    ['{"query":{"kind":"Document"}}', /"query" must be a text/],
    ['{"query":"{a}","variables":[]}', /"variables" must be an object/],
    ['{"query":"{a}","variables":"{}"}', /"variables" must be an object/],
    ['{"query":"{a}","operationName":1}', /"operationName" must be a text/],
    ['{"query":"{a}","__proto__":{"x":1}}', /./],
    ['{"query":"{a}","variables":{"__proto__":{"x":1}}}', /./],
    ['{"query":"{a}","variables":{"constructor":{"prototype":{}}}}', /./],
  ]
  for (const [payload, message] of rows) {
    const response = await edge.app.inject({
      method: 'POST',
      url: '/graphql',
      headers: { 'content-type': 'application/json', authorization: 'Bearer full' },
      payload,
    })
    refused(replyOf(response), 400, 'BAD_REQUEST', message)
  }
  const deep = `{"query":"{ listWorkspaces { ok } }","variables":{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}}`
  const response = await edge.app.inject({
    method: 'POST',
    url: '/graphql',
    headers: { 'content-type': 'application/json', authorization: 'Bearer full', 'idempotency-key': 'x' },
    payload: deep,
  })
  assert.equal(response.statusCode, 200)
})

test('null means not given: for members of the body, and for a variable with a default', async () => {
  const seen: unknown[] = []
  const edge = await testEdge({
    resolvers: {
      getAuditLogs: (_call, args: unknown) => {
        seen.push(args)
        return { ok: true, auditLogs: [], totalCount: 0 }
      },
    },
  })
  assert.equal((await edge.ask('{ listWorkspaces { ok } }', { variables: null, operationName: null })).status, 200)
  assert.equal((await edge.ask('{ listWorkspaces { ok } }', { operationName: '' })).status, 200)
  const query =
    'query ($n: Int = 7, $o: Int, $b: Boolean = true) { getAuditLogs(limit: $n, offset: $o) { ok @include(if: $b) } }'
  for (let round = 0; round < 5; round++) {
    const reply = await edge.ask(query, { variables: { n: null, o: null, b: null } })
    assert.deepEqual(reply.json, { data: { getAuditLogs: { ok: true } } })
    assert.deepEqual(seen.pop(), { limit: 7, offset: null })
    await edge.ask(query, { variables: {} })
    assert.deepEqual(seen.pop(), { limit: 7 })
  }
})

test('rows: the limits of a document are added up before anything is read', async () => {
  const edge = await testEdge()
  const query = 'query ($a: Int, $b: Int) { a: getAuditLogs(limit: $a) { ok } b: getAuditLogs(limit: $b) { ok } }'
  const tooMany = /asks for up to \d+ rows, more than 10000/
  for (const variables of [{}, { a: 1 }, { a: null, b: 1 }, { a: 5_000, b: 5_001 }, { a: 2_147_483_647, b: 1 }]) {
    const reply = await edge.ask(query, { variables })
    refused(reply, 200, 'INVALID_INPUT', tooMany)
    assert.equal(reply.json.data, null)
  }
  assert.equal(edge.calls.length, 0)
  for (const variables of [
    { a: 5_000, b: 5_000 },
    { a: -1, b: 10_000 },
  ]) {
    assert.equal((await edge.ask(query, { variables })).json.errors, undefined)
  }
  assert.equal((await edge.ask('{ getAuditLogs { ok } }')).json.errors, undefined)
  refused(await edge.ask('{ a: getAuditLogs { ok } b: getAuditLogs(limit: 1) { ok } }'), 200, 'INVALID_INPUT', tooMany)
  refused(
    await edge.ask('{ ...f } fragment f on Query { getAuditLogs(limit: 20000) { ok } }'),
    200,
    'INVALID_INPUT',
    tooMany,
  )
})

test('an answer over 32 MiB says to ask for less', async () => {
  const edge = await testEdge({
    resolvers: {
      listWorkspaces: () => ({ ok: true, workspaces: [{ uid: 'a', name: 'é'.repeat(17 * 1024 * 1024) }] }),
    },
  })
  const reply = await edge.ask('{ listWorkspaces { workspaces { name } } }')
  refused(reply, 200, 'INVALID_INPUT', /ask for less at once/)
  assert.equal(reply.json.data, null)
})

test('503: a database that does not answer, at the gate and in a use case', async () => {
  const lost = new Error('connect ECONNREFUSED 10.0.0.1:5432')
  const isUnavailable = (error: unknown) => error === lost
  const atGate = await testEdge({ isUnavailable, authenticate: () => Promise.reject(lost) })
  const inside = await testEdge({ isUnavailable, resolvers: { listUsers: () => Promise.reject(lost) } })
  for (const edge of [atGate, inside]) {
    const reply = await edge.ask('{ listUsers { ok } listWorkspaces { ok } }', { workspace: FIRST.uid })
    refused(reply, 503, 'UNAVAILABLE', /try again/)
    assert.equal(reply.headers['retry-after'], '2')
    assert.doesNotMatch(reply.text, /ECONNREFUSED|5432/)
  }
})

test('500: a fault shows its request id and nothing else, and the log has both', async () => {
  const edge = await testEdge({
    resolvers: {
      listUsers: () => {
        throw new Error('select secret from drawer')
      },
      listWorkspaces: () => ({ ok: null }),
    },
  })
  for (const query of ['{ listUsers { ok } }', '{ listWorkspaces { ok } }']) {
    for (let round = 0; round < 5; round++) {
      edge.lines.length = 0
      const reply = await edge.ask(query, { workspace: FIRST.uid })
      const id = String(reply.headers['x-request-id'])
      assert.equal(reply.status, 500)
      assert.equal(reply.json.errors[0].message, `Internal error, request ${id}`)
      assert.equal(reply.json.errors[0].extensions.code, 'INTERNAL')
      assert.doesNotMatch(reply.text, /drawer|Cannot return null/)
      const line = edge.lines.find(({ message }) => message === 'internal fault')
      assert.equal(line?.fields.requestId, id)
      const err = line?.fields.err
      assert.match(String(err instanceof Error ? err.stack : err), /drawer|Cannot return null/)
    }
  }
})

test('500: a fault in the gatekeeper is masked too', async () => {
  const edge = await testEdge({ authenticate: () => Promise.reject(new TypeError('x is not a function')) })
  const reply = await edge.ask(IDENTITY)
  refused(reply, 500, 'INTERNAL', /^Internal error, request /)
})

test('Idempotency-Key reaches each mutation with its place, and the hash of the whole request', async () => {
  const edge = await testEdge()
  const query = 'mutation ($a: String!) { a: createWorkspace(name: $a) { ok } b: createWorkspace(name: "b") { ok } }'
  const ask = async (headers: Record<string, string>, variables: unknown, more = {}) => {
    edge.calls.length = 0
    const reply = await edge.ask(query, { headers, variables, ...more })
    assert.equal(reply.status, 200, reply.text)
    return edge.calls.map((call) => call.idempotency)
  }
  const first = await ask({ 'idempotency-key': 'abc' }, { a: 'x', b: { c: 1, d: [2] } })
  const second = await ask({ 'idempotency-key': 'abc' }, { b: { d: [2], c: 1 }, a: 'x' })
  const other = await ask({ 'idempotency-key': 'abc' }, { a: 'y' })
  assert.deepEqual(first, second)
  assert.deepEqual(
    first.map((one) => [one?.key, one?.position]),
    [
      ['abc', 0],
      ['abc', 1],
    ],
  )
  assert.match(first[0]!.bodyHash, /^[0-9a-f]{64}$/)
  assert.notEqual(first[0]!.bodyHash, other[0]!.bodyHash)
  assert.deepEqual(await ask({}, { a: 'x' }), [null, null])
  for (const key of ['', 'a'.repeat(256), 'a\tb', 'ü']) {
    const reply = await edge.ask(query, { headers: { 'idempotency-key': key }, variables: { a: 'x' } })
    refused(reply, 400, 'BAD_REQUEST', /Idempotency-Key/)
  }
})

test('an input that a use case refuses leaves the other mutations standing, in order', async () => {
  const order: string[] = []
  const edge = await testEdge({
    resolvers: {
      createWorkspace: async (_call, { name }: { name: string }) => {
        order.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(`${name} ends`)
        if (name === 'b') throw invalidInput('no b')
        return { ok: true }
      },
    },
  })
  const query = `mutation { ${['a', 'b', 'c'].map((name) => `${name}: createWorkspace(name: "${name}") { ok }`).join(' ')} }`
  for (let round = 0; round < 4; round++) {
    order.length = 0
    const reply = await edge.ask(query)
    assert.deepEqual(reply.json.data, { a: { ok: true }, b: null, c: { ok: true } })
    assert.deepEqual(order, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  }
})
