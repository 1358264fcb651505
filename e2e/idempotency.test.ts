// An Idempotency-Key header on every mutation: the same key and body give the same answer for 24 hours.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { type Ask, bearer, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'
import { goodMutations } from './support/mutations.ts'

let api: TestApi
let a: WorkspaceRef
let by: RequestHeaders
let count = 0

before(async () => {
  api = await testApi({ poolSize: 12 })
  a = await api.t.workspace('A')
  by = bearer((await api.t.key()).key)
})
after(() => api.close())

const fresh = (): string => `key-${++count}`
const keyed = (key: string, more: Ask = {}): Ask => ({
  by,
  workspace: a.uid,
  ...more,
  headers: { 'idempotency-key': key, ...more.headers },
})
const CREATE = 'mutation ($name: String!) { createWorkspace(name: $name) { workspace { uid name } } }'
const create = (name: string, key: string, more: Ask = {}) =>
  api.ask(CREATE, keyed(key, { ...more, variables: { name } }))
const recorded = async () => (await api.t.records()).length

test('the same key and body give the same answer, and one effect, for every mutation that is served', async () => {
  await using own = await testApi()
  const workspace = await own.t.workspace('A')
  const node = await own.secondNode()
  const mutations = await goodMutations(own, workspace)
  assert.ok(mutations.length >= 20)
  for (const { name, ask } of mutations) {
    const headers = { 'idempotency-key': `once-${name}` }
    const first = await own.ask(ask.query, { ...ask, headers })
    assert.deepEqual([first.status, first.code], [200, ''], `${name}: ${first.text}`)
    const before = (await own.t.records()).length
    // The workspace that was archived takes no request any more, not even one that it has answered.
    if (name === 'archiveWorkspace') continue
    for (const at of [undefined, node]) {
      const again = await own.ask(ask.query, { ...ask, headers, node: at })
      assert.deepEqual([again.status, again.json], [200, first.json], name)
    }
    assert.equal((await own.t.records()).length, before, name)
  }
})

test('a key that is shown once is shown again to the same request', async () => {
  const query =
    'mutation { createApiKey(key: { name: "twice", kind: PAIR, workspaceUid: "' + a.uid + '" }) { id key secret } }'
  const key = fresh()
  const [first, again] = [await api.ask(query, keyed(key)), await api.ask(query, keyed(key))]
  assert.match(first.json.data.createApiKey.secret, /^ym_sec_/)
  assert.deepEqual(again.json, first.json)
  const other = await api.ask(query, keyed(fresh()))
  assert.notEqual(other.json.data.createApiKey.key, first.json.data.createApiKey.key)
  // It lies there sealed.
  const rows = await api.t.app.db.selectFrom('idempotent_answer').select(['sealed']).execute()
  for (const row of rows) assert.ok(!row.sealed.includes(first.json.data.createApiKey.secret.slice(7, 20)))
})

test('another body with the same key is CONFLICT and changes nothing', async () => {
  const key = fresh()
  assert.equal((await create('One', key)).code, '')
  const before = await recorded()
  const other = await create('Two', key)
  assert.deepEqual([other.status, other.code], [200, 'CONFLICT'])
  assert.match(other.message, /Idempotency-Key/)
  const switched = 'mutation { setAccountFeature(feature: "scheduling", enabled: false) { ok } }'
  assert.equal((await api.ask(switched, keyed(key))).code, 'CONFLICT')
  assert.equal((await create('One', key)).code, '')
  assert.equal(await recorded(), before)
})

test('the order of the members of the variables does not make another body', async () => {
  const query = 'mutation ($name: String!, $value: String!) { setVariable(name: $name, value: $value) { ok } }'
  const key = fresh()
  const before = await recorded()
  for (const variables of [
    { name: 'V', value: '1' },
    { value: '1', name: 'V' },
  ]) {
    assert.equal((await api.ask(query, keyed(key, { variables }))).code, '')
  }
  assert.equal((await recorded()) - before, 1)
})

test('of two that come at once, on two nodes, one has the effect and both the answer', async () => {
  const node = await api.secondNode()
  for (let round = 0; round < 10; round++) {
    const key = fresh()
    const before = await recorded()
    const replies = await Promise.all(
      [undefined, node, undefined, node].map((at) => create(`At once ${round}`, key, { node: at })),
    )
    const [first, ...others] = replies.map((one) => one.json)
    assert.match(first.data.createWorkspace.workspace.uid, /^[a-z0-9]{16}$/)
    for (const other of others) assert.deepEqual(other, first)
    assert.equal((await recorded()) - before, 1)
  }
})

test('a refusal is given again, also when it would not be refused any more', async () => {
  const key = fresh()
  const query = 'mutation { archiveEnvironment(slug: "late") { ok } }'
  const first = await api.ask(query, keyed(key))
  assert.equal(first.code, 'NOT_FOUND')
  await api.ask('mutation { createEnvironment(environment: { displayName: "Late" }) { ok } }', { by, workspace: a.uid })
  const again = await api.ask(query, keyed(key))
  assert.deepEqual(again.json, first.json)
  assert.equal((await api.ask(query, keyed(fresh()))).code, '')
})

test('several mutations of one document each have their answer again', async () => {
  const key = fresh()
  const query = `mutation { a: createWorkspace(name: "Several 1") { workspace { uid } } b: createWorkspace(name: "One") { ok }
    c: createWorkspace(name: "Several 2") { workspace { uid } } }`
  const first = await api.ask(query, keyed(key))
  assert.deepEqual(Object.keys(first.json.data), ['a', 'b', 'c'])
  assert.deepEqual([first.json.data.b, first.code], [null, 'CONFLICT'])
  const before = await recorded()
  assert.deepEqual((await api.ask(query, keyed(key))).json, first.json)
  assert.equal(await recorded(), before)
})

test('two callers do not share a key', async () => {
  const key = fresh()
  const other = bearer((await api.t.key()).key)
  const ana = await api.t.member(a, 'ADMIN')
  const query = 'mutation { inviteUser(email: "shared@example.com", accountType: ANALYST) { ok } }'
  const before = await recorded()
  for (const who of [by, other, sessionOf(await api.session(ana))]) {
    assert.equal((await api.ask(query, keyed(key, { by: who }))).code, '')
  }
  assert.equal((await recorded()) - before, 3)
  // Neither does one caller in two workspaces.
  const b = await api.t.workspace('B')
  assert.equal((await api.ask(query, keyed(key, { workspace: b.uid }))).code, '')
  assert.equal((await recorded()) - before, 4)
})

test('who may not, or may not any more, does not get the answer', async () => {
  const spare = await api.t.key()
  const key = fresh()
  const mine = { by: bearer(spare.key) }
  assert.equal((await create('Mine', key, mine)).code, '')
  await api.ask(`mutation { revokeApiKey(id: ${spare.id}) { ok } }`, { by })
  assert.equal((await create('Mine', key, mine)).status, 401)
  assert.equal((await create('Mine', key, { by: {} })).status, 401)
})

test('after 24 hours the key is free again', async () => {
  const key = fresh()
  assert.equal((await create('Day', key)).code, '')
  const owner = api.t.database.owner.kysely
  await owner.updateTable('idempotent_answer').set({ created_at: '2020-01-01Z' }).where('key', '=', key).execute()
  assert.equal((await create('Day after', key)).code, '')
})

test('without the header nothing is remembered, and a query passes it over', async () => {
  const before = await api.t.app.db.selectFrom('idempotent_answer').select('key').execute()
  await api.ask(CREATE, { by, workspace: a.uid, variables: { name: 'Plain' } })
  await api.ask('{ listWorkspaces { ok } }', keyed(fresh()))
  const rows = await api.t.app.db.selectFrom('idempotent_answer').select('key').execute()
  assert.equal(rows.length, before.length)
})

test('a key that is empty, too long or not printable is 400, and nothing is executed', async () => {
  const before = await recorded()
  for (const key of ['', 'x'.repeat(256), 'caf\u00e9', 'tab\there']) {
    const reply = await create(`Bad ${key.length}`, key)
    assert.deepEqual([reply.status, reply.code], [400, 'BAD_REQUEST'], JSON.stringify(key))
  }
  assert.equal(await recorded(), before)
  assert.equal((await create('Longest', 'x'.repeat(255))).code, '')
})

test('revocation and a changed role are in force on the next request, on another node too', async () => {
  const node = await api.secondNode()
  const spare = await api.t.key()
  const ana = await api.t.member(a, 'ADMIN')
  const session = sessionOf(await api.session(ana))
  const users = (who: RequestHeaders) => api.ask('{ listUsers { ok } }', { by: who, workspace: a.uid, node })
  for (let at = 0; at < 5; at++) assert.equal((await users(bearer(spare.key))).status, 200)
  await api.ask(`mutation { revokeApiKey(id: ${spare.id}) { ok } }`, { by })
  assert.equal((await users(bearer(spare.key))).status, 401)
  assert.match((await users(bearer(spare.key))).message, /revoked/)

  assert.equal((await users(session)).status, 200)
  const change = `mutation { updateUserAccountType(uid: "${ana.uid}", accountType: SANDBOX_USER) { ok } }`
  assert.equal((await api.ask(change, { by, workspace: a.uid })).code, '')
  assert.equal((await users(session)).status, 403)
  await api.ask('mutation { setAccountFeature(feature: "user_management", enabled: false) { ok } }', { by })
  assert.equal((await users(by)).code, 'FEATURE_DISABLED')
  await api.ask('mutation { setAccountFeature(feature: "user_management", enabled: true) { ok } }', { by })
  assert.equal((await users(by)).code, '')
})
