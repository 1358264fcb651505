import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIRST, refused, SECOND, testEdge } from '../../../test/support/edge.ts'

const IDENTITY = '{ apiKeyIdentity { isValid capabilities } }'

test('401: no or wrong credentials, for every document but apiKeyIdentity alone', async () => {
  const edge = await testEdge()
  const documents = [
    '{ listWorkspaces { ok } }',
    '{ nope }',
    '{ this does not parse',
    '',
    '{ __typename }',
    '{ __schema { types { name } } }',
    '{ apiKeyIdentity { isValid } listWorkspaces { ok } }',
    '{ apiKeyIdentity { isValid } __schema { types { name } } }',
    '{ apiKeyIdentity { isValid } ...f } fragment f on Query { listWorkspaces { ok } }',
    'query A { apiKeyIdentity { isValid } } query B { listWorkspaces { ok } }',
    'mutation { apiKeyIdentity { isValid } }',
    `{ ${'a '.repeat(3_000)} }`,
  ]
  for (const key of [null, 'nobody', 'expired', 'revoked', 'malformed', '']) {
    for (const query of documents)
      refused(await edge.ask(query, { key }), 401, 'UNAUTHENTICATED', /Authorization: Bearer/)
    for (const query of [
      IDENTITY,
      '{ __typename apiKeyIdentity { isValid capabilities } }',
      `${IDENTITY} fragment f on Query { a }`,
    ]) {
      const reply = await edge.ask(query, { key })
      if (query.includes('fragment')) refused(reply, 400, 'BAD_REQUEST', /Cannot query field "a"/)
      else assert.deepEqual([reply.status, reply.json.data.apiKeyIdentity.isValid], [200, false])
    }
  }
  assert.match((await edge.ask('{ a }', { key: 'expired' })).json.errors[0].message, /expired/)
  assert.match((await edge.ask('{ a }', { key: 'revoked' })).json.errors[0].message, /revoked/)
  assert.equal((await edge.ask('{ a }', { key: 'nobody' })).status, 401)
  assert.ok(edge.calls.every(({ operation }) => operation === 'apiKeyIdentity'))
})

test('the anonymous are told no names', async () => {
  const edge = await testEdge()
  const query = '{ apiKeyIdentity { isValidd } }'
  const known = await edge.ask(query)
  const unknown = await edge.ask(query, { key: null })
  assert.match(known.json.errors[0].message, /Did you mean "isValid"\?/)
  assert.equal(unknown.status, 400)
  assert.doesNotMatch(unknown.text, /Did you mean/)
})

test('403: a good key without the capability reads which one is missing', async () => {
  const edge = await testEdge()
  const reply = await edge.ask('{ listWorkspaces { ok } }', { key: 'audit-only' })
  refused(reply, 403, 'FORBIDDEN', /User Management Admin or User Metadata Viewer or Workspace Metadata Viewer/)
  assert.equal((await edge.ask('{ getAuditLogs { ok } }', { key: 'audit-only' })).status, 200)
})

test('the gate decides on the whole document before anything runs', async () => {
  const edge = await testEdge()
  const rows: [query: string, status: number][] = [
    ['{ getAuditLogs { ok } listWorkspaces { ok } }', 403],
    ['{ getAuditLogs { ok } ...f } fragment f on Query { listWorkspaces { ok } }', 403],
    ['{ getAuditLogs { ok } ... on Query { listWorkspaces { ok } } }', 403],
    ['{ getAuditLogs { ok } listWorkspaces @skip(if: true) { ok } }', 403],
    ['{ getAuditLogs { ok } apiKeyIdentity { isValid } me { ok } }', 403],
    ['mutation { createWorkspace(name: "a") { ok } }', 403],
  ]
  for (const [query, status] of rows) assert.equal((await edge.ask(query, { key: 'audit-only' })).status, status, query)
  assert.equal(edge.calls.length, 0)
})

test('the workspace: 400 names the header, an unknown one and a foreign one read the same', async () => {
  const edge = await testEdge()
  const query = '{ listUsers { ok } }'
  refused(await edge.ask(query), 400, 'WORKSPACE_REQUIRED', /X-Service-Workspace/)
  assert.equal((await edge.ask(query, { workspace: FIRST.uid })).status, 200)
  const headers = { 'x-other-workspace': FIRST.uid }
  assert.equal((await edge.ask(query, { headers })).status, 200)
  refused(await edge.ask(query, { headers, workspace: SECOND.uid }), 400, 'BAD_REQUEST', /two workspaces/)
  refused(await edge.ask(query, { headers, workspace: SECOND.uid, key: null }), 401, 'UNAUTHENTICATED', /./)
  const unknown = await edge.ask(query, { workspace: 'z'.repeat(16), key: 'personal' })
  const foreign = await edge.ask(query, { workspace: SECOND.uid, key: 'personal' })
  refused(unknown, 403, 'FORBIDDEN', /No access/)
  assert.equal(unknown.json.errors[0].message, foreign.json.errors[0].message)
})

test('a bound key keeps to its workspace in every document but apiKeyIdentity alone', async () => {
  const edge = await testEdge()
  const documents = [
    '{ listUsers { ok } }',
    '{ listWorkspaces { ok } }',
    '{ __typename }',
    '{ __schema { types { name } } }',
    '{ apiKeyIdentity { isValid } __type(name: "Query") { name } }',
  ]
  const pair = { 'x-api-key': 'pair', 'x-api-secret': 'secret' }
  for (const query of documents) {
    for (const workspace of [SECOND.uid, 'z'.repeat(16)]) {
      refused(await edge.ask(query, { key: 'bound', workspace }), 403, 'FORBIDDEN', /No access to this workspace/)
      refused(await edge.ask(query, { key: null, headers: pair, workspace }), 403, 'FORBIDDEN', /No access/)
    }
    for (const workspace of [FIRST.uid, undefined]) {
      assert.equal((await edge.ask(query, { key: 'bound', workspace })).status, 200, query)
      assert.equal((await edge.ask(query, { key: null, headers: pair, workspace })).status, 200, query)
    }
  }
  const reply = await edge.ask(IDENTITY, { key: 'bound', workspace: SECOND.uid })
  assert.equal(reply.json.data.apiKeyIdentity.isValid, true)
})

test('introspection is for whoever has credentials', async () => {
  const edge = await testEdge()
  const query = '{ __schema { queryType { name } } __type(name: "Users") { name } }'
  for (const key of ['full', 'no-capability', 'personal']) assert.equal((await edge.ask(query, { key })).status, 200)
  assert.equal((await edge.ask(query, { key: null })).status, 401)
})

test('a switch that is off refuses its field alone, and says where it is', async () => {
  const edge = await testEdge({ switches: { user_management: false, scheduling: false } })
  const query = '{ listUsers { ok } listWorkspaces { ok } environments { ok } }'
  const first = await edge.ask(query, { workspace: FIRST.uid })
  assert.equal(first.status, 200)
  assert.deepEqual(first.json.data, { listUsers: null, listWorkspaces: { ok: true }, environments: { ok: true } })
  assert.equal(first.json.errors.length, 1)
  assert.equal(first.json.errors[0].extensions.code, 'FEATURE_DISABLED')
  assert.match(first.json.errors[0].message, /User management is switched off .* setAccountFeature/)
  // The second workspace has its agents off too, and with them the last reason for environments.
  const second = await edge.ask(query, { workspace: SECOND.uid })
  assert.deepEqual(second.json.data, { listUsers: null, listWorkspaces: { ok: true }, environments: null })
  assert.match(second.json.errors[1].message, /Scheduling .* Programmable agents are switched off/)
})

test('429: a key that asks too often is told when to come back; ten fields count as ten', async () => {
  const edge = await testEdge({ limits: { requestsPerSecond: 1, requestBurst: 20 } })
  const ten = `{ ${Array.from({ length: 10 }, (_, at) => `a${at}: listWorkspaces { ok }`).join(' ')} }`
  assert.equal((await edge.ask(ten)).status, 200)
  assert.equal((await edge.ask(ten)).status, 200)
  const reply = await edge.ask('{ listWorkspaces { ok } }')
  refused(reply, 429, 'RATE_LIMITED', /try again in 1 s/)
  assert.equal(reply.headers['retry-after'], '1')
  assert.equal((await edge.ask(ten, { key: 'other' })).status, 200)
  edge.clock.ms += 1_000
  assert.equal((await edge.ask('{ listWorkspaces { ok } }')).status, 200)
  // Documents that are refused cost too.
  for (let at = 0; at < 11; at++) await edge.ask('{ nope }', { key: 'other' })
  assert.equal((await edge.ask('{ nope }', { key: 'other' })).status, 429)
})

test('429: wrong credentials run out per address and key, and a good key is never held up', async () => {
  const edge = await testEdge({ limits: { badCredentialsPerMinute: 10 } })
  const statuses: number[] = []
  for (let at = 0; at < 15; at++)
    statuses.push((await edge.ask('{ listWorkspaces { ok } }', { key: `wrong${at}` })).status)
  assert.deepEqual(statuses, [...Array(10).fill(401), ...Array(5).fill(429)])
  const reply = await edge.ask(IDENTITY, { key: 'another' })
  assert.deepEqual([reply.status, reply.headers['retry-after']], [429, '6'])
  for (let at = 0; at < 20; at++) assert.equal((await edge.ask('{ listWorkspaces { ok } }')).status, 200)
  // Without any credentials nothing was wrong: the address's own share holds.
  assert.equal((await edge.ask(IDENTITY, { key: null })).status, 200)
  assert.equal((await edge.ask(IDENTITY, { key: 'another', address: '10.0.0.9' })).status, 200)
  for (let at = 0; at < 10; at++) await edge.ask(IDENTITY, { key: 'one', address: `10.0.1.${at}` })
  assert.equal((await edge.ask(IDENTITY, { key: 'one', address: '10.0.2.1' })).status, 429)
})

test('1,000 aliased checks of a key are refused or counted one by one', async () => {
  const edge = await testEdge({ limits: { requestsPerSecond: 1, requestBurst: 25 } })
  const many = (count: number): string =>
    `{ ${Array.from({ length: count }, (_, at) => `a${at}: apiKeyIdentity { isValid }`).join(' ')} }`
  assert.equal((await edge.ask(many(1_000), { key: null })).status, 401)
  assert.equal((await edge.ask(many(10), { key: null })).status, 200)
  assert.equal((await edge.ask(many(10), { key: null })).status, 200)
  assert.equal((await edge.ask(many(10), { key: null })).status, 429)
  assert.equal(edge.calls.length, 20)
})

test('a denied mutation is handed over once, with the names of served operations only', async () => {
  const edge = await testEdge()
  const invite = 'inviteUser(email: "a@b.c", accountType: ADMIN) { ok }'
  const rows: [query: string, key: string | null, code: string | null, operations?: string[]][] = [
    [`mutation { ${invite} }`, null, 'UNAUTHENTICATED', ['inviteUser']],
    [`mutation { ${invite} }`, 'revoked', 'UNAUTHENTICATED', ['inviteUser']],
    [
      `mutation { ${invite} disableUser(uid: "x") { ok } made_up }`,
      null,
      'UNAUTHENTICATED',
      ['inviteUser', 'disableUser'],
    ],
    [`mutation { ${invite} }`, 'audit-only', 'FORBIDDEN', ['inviteUser']],
    ['mutation { made_up }', null, null],
    ['{ listUsers { ok } }', null, null],
    ['{ listUsers { ok } }', 'audit-only', null],
    [`mutation { ${invite} `, null, null],
    // Not denied, but wrong: 400.
    [`mutation { ${invite} }`, 'full', null],
  ]
  for (const [query, key, code, operations] of rows) {
    edge.denials.length = 0
    await edge.ask(query, { key, ...(key === 'audit-only' && { workspace: FIRST.uid }) })
    assert.equal(edge.denials.length, code === null ? 0 : 1, `${key}: ${query}`)
    if (code === null) continue
    assert.equal(edge.denials[0]!.code, code)
    assert.deepEqual(edge.denials[0]!.operations, operations)
    assert.equal(edge.denials[0]!.request.address, '127.0.0.1')
  }
})

test('a denied mutation that cannot be recorded is logged, and answered all the same', async () => {
  const edge = await testEdge({ onDenied: () => Promise.reject(new Error('the database is away')) })
  const reply = await edge.ask('mutation { archiveWorkspace { ok } }', { key: null })
  assert.equal(reply.status, 401)
  assert.ok(edge.lines.some(({ level, message }) => level === 'error' && message.includes('was not recorded')))
})
