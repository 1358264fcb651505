// contract/semantics.md, "Envelope": each test has a sentence of it for a name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { bearer, type RequestHeaders, replyOf, type TestApi, testApi } from './support/api.ts'

let api: TestApi
let a: WorkspaceRef
let by: RequestHeaders

before(async () => {
  api = await testApi()
  a = await api.t.workspace('A')
  await api.t.member(a, 'ADMIN', { email: 'ana@example.com' })
  by = bearer((await api.t.key()).key)
})
after(() => api.close())

const inA = () => ({ by, workspace: a.uid })

async function raw(payload: string | Buffer, headers: Record<string, string> = {}, method = 'POST') {
  const all = { 'content-type': 'application/json', ...by, 'x-service-workspace': a.uid, ...headers }
  return replyOf(await api.node.inject({ method: method as 'POST', url: '/graphql', headers: all, payload }))
}

test('one endpoint, POST /graphql, also served at /api/v1/<anything>/graphql', async () => {
  for (const path of ['/graphql', '/api/v1/anything/graphql', '/api/v1/a.b-c_d/graphql']) {
    const reply = await api.ask('{ listUsers { ok } }', { ...inA(), path })
    assert.deepEqual([reply.status, reply.json], [200, { data: { listUsers: { ok: true } } }], path)
  }
  for (const path of ['/nothing', '/graphql/', '/api/v1/graphql', '/api/v1/a/b/graphql', '/api/v2/a/graphql']) {
    const reply = await api.ask('{ listUsers { ok } }', { ...inA(), path })
    assert.deepEqual([reply.status, reply.code], [404, 'NOT_FOUND'], path)
  }
})

test('a refusal by a rule is 200, its message says what to do next, its code what it is', async () => {
  const refusals = [
    ['mutation { disableUser(uid: "nobody") { ok } }', 'NOT_FOUND', /listUsers shows them/],
    ['mutation { inviteUser(email: "ana", accountType: ANALYST) { ok } }', 'INVALID_INPUT', /such as ana@example\.com/],
    ['mutation { inviteUser(email: "ANA@example.com", accountType: ANALYST) { ok } }', 'CONFLICT', /Use update/],
    ['{ getAuditLogs(limit: 0) { ok } }', 'INVALID_INPUT', /limit: 1 to 10000/],
  ] as const
  for (const [document, code, text] of refusals) {
    const reply = await api.ask(document, inA())
    assert.deepEqual([reply.status, reply.code], [200, code], document)
    assert.match(reply.message, text)
  }
})

test('a success never has errors: []', async () => {
  const reply = await api.ask('{ listUsers { ok } }', inA())
  assert.equal(Object.hasOwn(reply.json, 'errors'), false)
})

test("400: the document does not parse or validate, in GraphQL's own wording", async () => {
  const bad = [
    ['{ listUsers { ok }', /^Syntax Error/],
    ['{ nothing }', /^Cannot query field "nothing" on type "Query"/],
    ['{ listUsers { nothing } }', /^Cannot query field "nothing" on type "Users"/],
    ['{ listUsers }', /must have a selection of subfields/],
    ['mutation { disableUser { ok } }', /argument "uid" of type "String!" is required/],
    ['mutation { disableUser(uid: 1) { ok } }', /String cannot represent a non string value/],
    ['mutation { inviteUser(email: "a@b.c", accountType: KING) { ok } }', /does not exist in "UserAccountType" enum/],
    ['mutation { revokeApiKey(id: 2147483648) { ok } }', /Int cannot represent non 32-bit signed integer/],
    ['query A { listUsers { ok } } query B { listUsers { ok } }', /Must provide operation name/],
    ['', /^Syntax Error/],
  ] as const
  for (const [document, text] of bad) {
    const reply = await api.ask(document, inA())
    assert.equal(reply.status, 400, document)
    assert.match(reply.message, text)
    assert.equal(Object.hasOwn(reply.json, 'data'), false)
  }
})

test('400: its variables do not fit their types', async () => {
  const document = 'query ($limit: Int, $from: String) { getAuditLogs(limit: $limit, from: $from) { ok } }'
  for (const variables of [
    { limit: '1' },
    { limit: 1.5 },
    { limit: 2 ** 31 },
    { from: 7 },
    { from: {} },
    { limit: [] },
  ]) {
    const reply = await api.ask(document, { ...inA(), variables })
    assert.equal(reply.status, 400, JSON.stringify(variables))
    assert.match(reply.message, /^Variable "\$(limit|from)" got invalid value/)
  }
  const missing = await api.ask('mutation ($uid: String!) { disableUser(uid: $uid) { ok } }', inA())
  assert.deepEqual([missing.status, /required type "String!"/.test(missing.message)], [400, true])
  for (const variables of ['text', 7, true, [1]]) {
    assert.equal((await api.ask(document, { ...inA(), variables })).status, 400)
  }
})

test('400: the body is not JSON', async () => {
  for (const body of [
    '',
    '{',
    'query=1',
    '{"query": "{ listUsers { ok } }"',
    '\u0000',
    '[]',
    '"text"',
    '7',
    'null',
    '{}',
  ]) {
    const reply = await raw(body)
    assert.deepEqual([reply.status, reply.code], [400, 'BAD_REQUEST'], body)
  }
})

test('405 for another method, 415 for another content type', async () => {
  const body = JSON.stringify({ query: '{ listUsers { ok } }' })
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const reply = await raw(method === 'GET' ? '' : body, {}, method)
    assert.deepEqual([reply.status, reply.code], [405, 'METHOD_NOT_ALLOWED'], method)
    assert.equal(reply.headers.allow, 'POST')
  }
  for (const type of [
    'text/plain',
    'application/graphql',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    '',
  ]) {
    const reply = await raw(body, { 'content-type': type })
    assert.deepEqual([reply.status, reply.code], [415, 'UNSUPPORTED_MEDIA_TYPE'], type)
  }
})

test('413 for a body over 1 MiB', async () => {
  const reply = await raw(JSON.stringify({ query: '{ listUsers { ok } }', extensions: 'x'.repeat(1024 * 1024) }))
  assert.deepEqual([reply.status, reply.code], [413, 'PAYLOAD_TOO_LARGE'])
})

test('every answer is JSON, errors too, and none may be kept by a cache', async () => {
  const answers = [
    await api.ask('{ listUsers { ok } }', inA()),
    await api.ask('{ nothing }', inA()),
    await api.ask('{ listUsers { ok } }'),
    await api.ask('{ listUsers { ok } }', { by }),
    await raw('{'),
    await raw('x'.repeat(2 * 1024 * 1024)),
    await raw('', {}, 'DELETE'),
    await raw('', { 'content-type': 'text/plain' }),
    replyOf(await api.node.inject({ method: 'GET', url: '/nothing/here' })),
    replyOf(await api.node.inject({ method: 'GET', url: '/%c0%ae' })),
  ]
  for (const { headers, json, status } of answers) {
    assert.match(String(headers['content-type']), /^application\/json/)
    assert.equal(headers['cache-control'], 'no-store')
    assert.match(String(headers['x-request-id']), /^[0-9a-f]{12}-/)
    assert.equal(status === 200, json.errors === undefined, String(status))
  }
})

test('root fields are nullable: a refused one is null and has its entry in errors, the others stand', async () => {
  const document = '{ good: listUsers { ok } bad: getAuditLogs(limit: 0) { ok } also: listWorkspaces { ok } }'
  const reply = await api.ask(document, inA())
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.json.data, { good: { ok: true }, bad: null, also: { ok: true } })
  assert.equal(reply.json.errors.length, 1)
  assert.deepEqual(reply.json.errors[0].path, ['bad'])
})

test('if one root field would be 400, 401 or 403, so is the document, and nothing is executed', async () => {
  const names = async () => (await api.ask('{ listWorkspaces { workspaces { name } } }', inA())).text
  const untouched = await names()
  const first = (rest: string) => `mutation { a: createWorkspace(name: "Made by half") { ok } ${rest} }`
  const half = bearer((await api.t.key({ capabilities: ['users:admin'] })).key)
  const cases = [
    [400, { by }, 'b: renameWorkspace(name: "B") { ok }'],
    [400, inA(), 'b: revokeApiKey(id: "x") { ok }'],
    [401, { workspace: a.uid }, 'b: renameWorkspace(name: "B") { ok }'],
    [403, { by: half, workspace: a.uid }, 'b: setVariable(name: "A", value: "") { ok }'],
    [403, { by, workspace: '0'.repeat(16) }, 'b: renameWorkspace(name: "B") { ok }'],
    [403, inA(), 'b: endSession(id: 1) { ok }'],
  ] as const
  for (const [status, ask, rest] of cases) {
    const reply = await api.ask(first(rest), ask)
    assert.equal(reply.status, status, rest)
    assert.equal(Object.hasOwn(reply.json, 'data'), false)
  }
  assert.equal(await names(), untouched)
})

test('an internal fault is 500 with a request id and no detail; the log line carries the same id', async () => {
  await using broken = await testApi()
  const workspace = await broken.t.workspace()
  const key = bearer((await broken.t.key()).key)
  const owner = broken.t.database.owner.kysely
  await owner.schema.alterTable('environment').renameTo('elsewhere').execute()
  const document = '{ environments { ok } listWorkspaces { ok } }'
  const reply = await broken.ask(document, { by: key, workspace: workspace.uid })
  const id = reply.headers['x-request-id']
  assert.equal(reply.status, 500)
  assert.deepEqual(reply.json.errors, [
    {
      message: `Internal error, request ${id}`,
      locations: [{ line: 1, column: 3 }],
      path: ['environments'],
      extensions: { code: 'INTERNAL', requestId: id },
    },
  ])
  assert.deepEqual(reply.json.data, { environments: null, listWorkspaces: { ok: true } })
  const line = broken.t.lines.find((one) => one.message === 'internal fault')
  assert.equal(line?.fields.requestId, id)
  assert.match(String(line?.fields.err), /environment/)
})

test('503 with Retry-After without a database', async () => {
  await using alone = await testApi()
  const key = bearer((await alone.t.key()).key)
  await alone.t.database.database.close()
  const reply = await alone.ask('{ listWorkspaces { ok } }', { by: key })
  assert.deepEqual([reply.status, reply.code], [503, 'UNAVAILABLE'])
  assert.ok(Number(reply.headers['retry-after']) >= 1)
  const ready = replyOf(await alone.node.inject('/readyz'))
  assert.equal(ready.status, 503)
  assert.equal((await alone.node.inject('/healthz')).statusCode, 200)
})

test('ids are 32-bit Ints', async () => {
  for (const id of [0, -1, 2_147_483_647, -2_147_483_648]) {
    const reply = await api.ask('mutation ($id: Int!) { revokeApiKey(id: $id) { ok } }', {
      ...inA(),
      variables: { id },
    })
    assert.deepEqual([reply.status, reply.code], [200, 'NOT_FOUND'])
  }
})

test('texts are never null, empty where nothing is known', async () => {
  const records = await api.ask(
    '{ getAuditLogs { auditLogs { actorType actorEmail actorUserId workspaceName } } }',
    inA(),
  )
  const [first] = records.json.data.getAuditLogs.auditLogs.filter(
    (one: { actorType: string }) => one.actorType === 'system',
  )
  assert.deepEqual([first.actorEmail, first.actorUserId, first.workspaceName], ['', 0, ''])
  const keys = await api.ask('{ listApiKeys { keys { client workspaceUid createdByEmail expiresDttm } } }', inA())
  assert.deepEqual(keys.json.data.listApiKeys.keys[0], {
    client: '',
    workspaceUid: '',
    createdByEmail: '',
    expiresDttm: null,
  })
})
