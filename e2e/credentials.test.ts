// contract/semantics.md, "Credentials" and "Clients": each test has a sentence of it for a name.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedKey } from '../service/src/app/keys.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { newUid } from '../service/src/domain/ids.ts'
import * as people from '../service/src/store/people.ts'
import { type Ask, bearer, pairOf, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'

let api: TestApi
let a: WorkspaceRef
let b: WorkspaceRef
let account: CreatedKey
let keyA: CreatedKey
let pairA: CreatedKey
let keyB: CreatedKey

before(async () => {
  api = await testApi()
  const { t } = api
  a = await t.workspace('A')
  b = await t.workspace('B')
  await t.member(a, 'ADMIN', { email: 'ana@example.com' })
  await t.member(b, 'ADMIN', { email: 'ben@example.com' })
  account = await t.key()
  keyA = await t.key({ kind: 'workspace', workspace: a })
  pairA = await t.key({ kind: 'pair', workspace: a })
  keyB = await t.key({ kind: 'workspace', workspace: b })
})
after(() => api.close())

const USERS = '{ listUsers { activeUsers { email } } }'
const ACCOUNT_WIDE = [
  '{ listWorkspaces { ok } }',
  '{ getAuditLogs(limit: 5) { ok } }',
  '{ apiKeyIdentity { isValid } }',
]
const IDENTITY = '{ apiKeyIdentity { isValid capabilities } }'

async function emails(ask: Ask): Promise<string[]> {
  const reply = await api.ask(USERS, ask)
  assert.equal(reply.status, 200, reply.text)
  return reply.json.data.listUsers.activeUsers.map((one: { email: string }) => one.email)
}

async function workspacesOf(ask: Ask): Promise<string[]> {
  const reply = await api.ask('{ listWorkspaces { workspaces { name uid } } }', ask)
  assert.equal(reply.status, 200, reply.text)
  return reply.json.data.listWorkspaces.workspaces.map((one: { name: string }) => one.name)
}

test('account key: workspace operations also need the workspace header, account-wide operations do not', async () => {
  const by = bearer(account.key)
  assert.deepEqual(await emails({ by, workspace: a.uid }), ['ana@example.com'])
  assert.deepEqual(await emails({ by, workspace: b.uid }), ['ben@example.com'])
  for (const document of ACCOUNT_WIDE) assert.equal((await api.ask(document, { by })).status, 200, document)
})

test('the word Bearer is read in any case, and another scheme is no credential of ours', async () => {
  for (const authorization of [`bearer ${account.key}`, `BEARER   ${account.key}  `]) {
    assert.equal((await api.ask(ACCOUNT_WIDE[0], { by: { authorization } })).status, 200, authorization)
  }
  for (const authorization of [account.key, `Basic ${btoa(account.key)}`, `Token ${account.key}`, 'Bearer', '']) {
    assert.equal((await api.ask(ACCOUNT_WIDE[0], { by: { authorization } })).status, 401, authorization)
  }
})

test('workspace key: bound to its workspace; a workspace header naming another one is 403', async () => {
  const by = bearer(keyA.key)
  assert.deepEqual(await emails({ by }), ['ana@example.com'])
  assert.deepEqual(await emails({ by, workspace: a.uid }), ['ana@example.com'])
  for (const workspace of [b.uid, newUid()]) {
    for (const document of [USERS, ACCOUNT_WIDE[0], ACCOUNT_WIDE[1], '{ __typename }']) {
      const reply = await api.ask(document, { by, workspace })
      assert.deepEqual([reply.status, reply.code], [403, 'FORBIDDEN'], String(document))
    }
  }
})

test('workspace key pair: X-API-KEY and X-API-SECRET, bound to its workspace', async () => {
  const by = pairOf(pairA)
  assert.deepEqual(await emails({ by }), ['ana@example.com'])
  assert.equal((await api.ask(USERS, { by, workspace: b.uid })).status, 403)
  const other = await api.t.key({ kind: 'pair', workspace: a })
  const wrong: RequestHeaders[] = [
    { 'x-api-key': pairA.key },
    { 'x-api-secret': pairA.secret },
    pairOf({ key: pairA.key, secret: other.secret }),
    pairOf({ key: pairA.secret, secret: pairA.key }),
    pairOf({ key: keyA.key, secret: '' }),
    pairOf({ key: keyA.key, secret: keyA.key }),
  ]
  for (const headers of wrong) assert.equal((await api.ask(USERS, { by: headers })).status, 401)
})

test('a bound key, and a personal key, sees only its own workspaces through the account-wide operations', async () => {
  const ana = (await people.findByEmail(api.t.app.db, 'ana@example.com'))!
  const personal = await api.t.key({ kind: 'personal', person: ana })
  const mine: [RequestHeaders, string, WorkspaceRef][] = [
    [bearer(keyA.key), 'A', a],
    [pairOf(pairA), 'A', a],
    [bearer(personal.key), 'A', a],
    [bearer(keyB.key), 'B', b],
  ]
  for (const [by, name, workspace] of mine) {
    assert.deepEqual(await workspacesOf({ by }), [name])
    const logs = await api.ask('{ getAuditLogs { auditLogs { workspaceId } totalCount } }', { by })
    const { auditLogs, totalCount } = logs.json.data.getAuditLogs
    assert.ok(auditLogs.length > 0)
    assert.equal(totalCount, auditLogs.length)
    assert.deepEqual(new Set(auditLogs.map((one: { workspaceId: number }) => one.workspaceId)), new Set([workspace.id]))
    const features = await api.ask('{ features { workspaces { workspaceUid } } }', { by })
    assert.deepEqual(features.json.data.features.workspaces, [{ workspaceUid: workspace.uid }])
    const keys = await api.ask('{ listApiKeys { keys { workspaceUid } } }', { by })
    for (const one of keys.json.data.listApiKeys.keys) assert.equal(one.workspaceUid, workspace.uid)
  }
  assert.deepEqual(await workspacesOf({ by: bearer(account.key) }), ['A', 'B'])
})

test('a workspace header on an account-wide operation does not filter', async () => {
  const by = bearer(account.key)
  assert.deepEqual(await workspacesOf({ by, workspace: a.uid }), ['A', 'B'])
  const count = async (ask: Ask) =>
    (await api.ask('{ getAuditLogs(limit: 1) { totalCount } }', ask)).json.data.getAuditLogs.totalCount
  assert.equal(await count({ by, workspace: a.uid }), await count({ by }))
})

test('an account key without the header, on a workspace operation, is 400 and the message names the header', async () => {
  const reply = await api.ask(USERS, { by: bearer(account.key) })
  assert.deepEqual([reply.status, reply.code], [400, 'WORKSPACE_REQUIRED'])
  assert.match(reply.message, /X-Service-Workspace/)
})

test('the deployment can name further headers that mean the same', async () => {
  await using named = await testApi({ env: { YARDMASTER_WORKSPACE_HEADERS: 'X-Team, X-Other-Team' } })
  const workspace = await named.t.workspace()
  const by = bearer((await named.t.key()).key)
  for (const header of ['x-team', 'X-OTHER-TEAM', 'X-Service-Workspace']) {
    assert.equal((await named.ask(USERS, { by, headers: { [header]: workspace.uid } })).status, 200, header)
  }
  assert.equal((await named.ask(USERS, { by, headers: { 'x-paradime-workspace': workspace.uid } })).status, 400)
  const both = { 'x-team': workspace.uid, 'x-other-team': newUid() }
  const reply = await named.ask(USERS, { by, headers: both })
  assert.equal(reply.status, 400, 'two that disagree')
})

test('an unknown workspace and one that the key may not use are both 403, in the same words', async () => {
  const ana = (await people.findByEmail(api.t.app.db, 'ana@example.com'))!
  const personal = bearer((await api.t.key({ kind: 'personal', person: ana })).key)
  const session = sessionOf(await api.session(ana))
  for (const by of [personal, session, bearer(keyA.key)]) {
    const unknown = await api.ask(USERS, { by, workspace: newUid() })
    const others = await api.ask(USERS, { by, workspace: b.uid })
    assert.deepEqual([unknown.status, unknown.message], [403, others.message])
    assert.equal(others.status, 403)
  }
  assert.equal((await api.ask(USERS, { by: bearer(account.key), workspace: newUid() })).status, 403)
})

test('a key has a name, capabilities, an optional expiry, and is shown once; only a hash of its secret is stored', async () => {
  const by = bearer(account.key)
  const create = `mutation { createApiKey(key: { name: "Nightly", kind: ACCOUNT, capabilities: ["users:read", "audit:read"],
    expiresDays: 30 }) { id key secret } }`
  const made = (await api.ask(create, { by })).json.data.createApiKey
  assert.match(made.key, /^ym_acc_[A-Za-z0-9]{61}$/)
  const list = await api.ask('{ listApiKeys { keys { id name start capabilities expiresDttm revokedDttm } } }', { by })
  const listed = list.json.data.listApiKeys.keys.find((one: { id: number }) => one.id === made.id)
  assert.equal(listed.name, 'Nightly')
  assert.deepEqual(listed.capabilities, ['users:read', 'audit:read'])
  assert.match(listed.expiresDttm, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/)
  assert.ok(made.key.startsWith(listed.start) && listed.start.length < 20)
  const row = await api.t.app.db.selectFrom('api_key').selectAll().where('id', '=', made.id).executeTakeFirstOrThrow()
  const secret = made.key.slice(19, 62)
  for (const [column, value] of Object.entries(row)) {
    const text = Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)
    assert.ok(!text.includes(secret) && !text.includes(secret.slice(0, 12)), column)
  }
})

test('a document of apiKeyIdentity alone is answered with 200 also for a missing, unknown, expired or revoked key', async () => {
  const revoked = await api.t.key()
  await api.ask('mutation ($id: Int!) { revokeApiKey(id: $id) { ok } }', {
    by: bearer(account.key),
    variables: { id: revoked.id },
  })
  const expired = await api.t.key({ expiresDays: 1 })
  const owner = api.t.database.owner.kysely
  await owner.updateTable('api_key').set({ expires_at: '2020-01-01Z' }).where('id', '=', expired.id).execute()
  for (const by of [{}, bearer('nonsense'), bearer(revoked.key), bearer(expired.key), { 'x-api-key': 'x' }]) {
    const alone = await api.ask(IDENTITY, { by })
    assert.deepEqual(
      [alone.status, alone.json],
      [200, { data: { apiKeyIdentity: { isValid: false, capabilities: [] } } }],
    )
    const named = 'query A { apiKeyIdentity { isValid } __typename }'
    assert.equal((await api.ask(named, { by, operationName: 'A' })).status, 200)
    for (const more of [
      '{ apiKeyIdentity { isValid } listWorkspaces { ok } }',
      'query A { apiKeyIdentity { isValid } } query B { listWorkspaces { ok } }',
      '{ apiKeyIdentity { isValid } __schema { types { name } } }',
      '{ __typename }',
    ]) {
      const reply = await api.ask(more, { by, operationName: more.includes('query B') ? 'A' : undefined })
      assert.equal(reply.status, 401, more)
    }
  }
})

test('apiKeyIdentity returns the labels of the capabilities', async () => {
  const labels = {
    'bolt:schedules:admin': 'Bolt Schedules Admin',
    'bolt:schedules:read': 'Bolt Schedules Metadata Viewer',
    'users:admin': 'User Management Admin',
    'users:read': 'User Metadata Viewer',
    'workspaces:read': 'Workspace Metadata Viewer',
    'audit:read': 'Audit Logs viewer',
    'dinoai:agent:trigger': 'Agent Admin',
    'dinoai:agent:read': 'Agent Viewer',
  } as const
  for (const [capability, label] of Object.entries(labels)) {
    const key = await api.t.key({ capabilities: [capability as keyof typeof labels] })
    const reply = await api.ask(IDENTITY, { by: bearer(key.key) })
    assert.deepEqual(reply.json.data.apiKeyIdentity, { isValid: true, capabilities: [label] })
  }
  const whole = await api.ask(IDENTITY, { by: bearer(account.key) })
  assert.deepEqual(whole.json.data.apiKeyIdentity.capabilities, Object.values(labels))
})

test('a key issued for an existing client has the prefix that it recognises, and its header selects the workspace', async () => {
  const by = bearer(account.key)
  const create = (rest: string) => `mutation { createApiKey(key: { name: "c", client: "paradime", ${rest} }) { key } }`
  const company = (await api.ask(create('kind: ACCOUNT'), { by })).json.data.createApiKey.key
  const bound = (await api.ask(create(`kind: WORKSPACE, workspaceUid: "${a.uid}"`), { by })).json.data.createApiKey.key
  assert.match(company, /^prdm_cmp_[A-Za-z0-9]{61}$/)
  assert.match(bound, /^prdm_wsp_[A-Za-z0-9]{61}$/)
  const header = { 'x-paradime-workspace': a.uid }
  assert.deepEqual(await emails({ by: bearer(company), headers: header }), ['ana@example.com'])
  assert.deepEqual(await emails({ by: bearer(bound) }), ['ana@example.com'])
  assert.equal((await api.ask(USERS, { by: bearer(bound), headers: { 'x-paradime-workspace': b.uid } })).status, 403)
  const reply = await api.ask(create('kind: ACCOUNT').replace('paradime', 'other'), { by })
  assert.deepEqual([reply.status, reply.code], [200, 'INVALID_INPUT'])
})

test('metadataJson is a string to a key of an existing client, an object to every other key', async () => {
  const document = '{ getAuditLogs(limit: 3) { auditLogs { metadataJson } } }'
  const read = async (by: RequestHeaders) =>
    (await api.ask(document, { by })).json.data.getAuditLogs.auditLogs.map(
      (one: { metadataJson: unknown }) => one.metadataJson,
    )
  const client = await api.t.key({ client: 'paradime' })
  const own = await read(bearer(account.key))
  const theirs = await read(bearer(client.key))
  assert.equal(own.length, 3)
  for (const one of own) assert.equal(typeof one, 'object')
  for (const one of theirs) assert.equal(typeof JSON.parse(one), 'object')
  for (const at of [0, 1, 2]) assert.deepEqual(JSON.parse(theirs[at]), own[at])
})
