// contract/semantics.md, "Audit": each test has a sentence of it for a name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyAudit } from '../service/src/app/audit.ts'
import { signInWithPassword } from '../service/src/app/sign-in.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import { EVENT_SOURCES, EVENTS } from '../service/src/domain/audit.ts'
import * as audit from '../service/src/store/audit.ts'
import { inTransaction } from '../service/src/store/database.ts'
import { bearer, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'
import { schema } from './support/arguments.ts'
import { goodMutations } from './support/mutations.ts'

const visitor = { id: 'test', address: '192.0.2.7', userAgent: 'test' }
const FIELDS = `id createdDttm updatedDttm workspaceId workspaceName actorType actorUserId actorEmail eventSourceId
  eventSource eventId eventType metadataJson`

interface Row {
  readonly id: number
  readonly createdDttm: string
  readonly updatedDttm: string
  readonly workspaceId: number
  readonly workspaceName: string
  readonly actorType: string
  readonly actorUserId: number
  readonly actorEmail: string
  readonly eventSourceId: number
  readonly eventSource: string
  readonly eventId: number
  readonly eventType: string
  readonly metadataJson: Record<string, unknown>
}

interface Place extends AsyncDisposable {
  readonly api: TestApi
  readonly a: WorkspaceRef
  readonly by: RequestHeaders
  logs(args?: string): Promise<{ rows: Row[]; total: number }>
}

async function place(): Promise<Place> {
  const api = await testApi()
  const a = await api.t.workspace('A')
  const by = bearer((await api.t.key({ name: 'the key' })).key)
  return {
    api,
    a,
    by,
    logs: async (args = '') => {
      const reply = await api.ask(`{ getAuditLogs${args} { auditLogs { ${FIELDS} } totalCount } }`, { by })
      assert.deepEqual([reply.status, reply.code], [200, ''], reply.text)
      const { auditLogs, totalCount } = reply.json.data.getAuditLogs
      return { rows: auditLogs, total: totalCount }
    },
    [Symbol.asyncDispose]: () => api.close(),
  }
}

test('every mutation that changed something writes one record', async () => {
  await using p = await place()
  const seen = new Set<string>()
  for (const { name, ask } of await goodMutations(p.api, p.a)) {
    const before = await p.logs('(limit: 1)')
    const reply = await p.api.ask(ask.query, ask)
    assert.deepEqual([reply.status, reply.code], [200, ''], `${name}: ${reply.text}`)
    const { rows, total } = await p.logs('(limit: 1)')
    // Slugs are only reckoned: nothing has changed.
    assert.equal(total - before.total, name === 'createScheduleSlugs' ? 0 : 1, name)
    const [row] = rows as [Row]
    assert.equal(row.actorType, ask.by.authorization === undefined ? 'user' : 'api_key', name)
    assert.deepEqual(EVENTS[row.eventType as keyof typeof EVENTS], { id: row.eventId, source: row.eventSource }, name)
    assert.equal(EVENT_SOURCES[row.eventSource as keyof typeof EVENT_SOURCES], row.eventSourceId)
    assert.match(row.eventType, /^[a-z]+(_[a-z]+)*$/)
    seen.add(name)
  }
  assert.deepEqual([...seen].sort(), Object.keys(schema.getMutationType()!.getFields()).sort())
})

test('a mutation that is refused by a rule, and a query, write none', async () => {
  await using p = await place()
  const { total } = await p.logs('(limit: 1)')
  for (const document of [
    'mutation { disableUser(uid: "nobody") { ok } }',
    'mutation { createWorkspace(name: "A") { ok } }',
    'mutation { archiveWorkspace { ok } }',
    'mutation { nothing }',
    '{ listUsers { ok } }',
  ]) {
    await p.api.ask(document, { by: p.by, workspace: p.a.uid })
  }
  assert.equal((await p.logs('(limit: 1)')).total, total)
})

test('every mutation that was denied is on record; refusals of one key or address are counted into one record an hour', async () => {
  const { rows, total, key } = await inOneHour(denyAll)
  assert.equal(total, 4)
  const found = rows.map((row) => [row.actorType, row.metadataJson.address, row.metadataJson.count])
  assert.deepEqual(found, [
    ['user', '192.0.2.1', 5],
    ['system', '192.0.2.2', 1],
    ['system', '192.0.2.1', 6],
    ['api_key', '192.0.2.1', 3],
  ])
  assert.deepEqual(rows[0]?.actorEmail, 'ben@example.com')
  assert.deepEqual(rows[0]?.metadataJson.operations, ['renameWorkspace'])
  assert.deepEqual(rows[3]?.metadataJson.api_key, { id: key.id, name: 'reads' })
  assert.ok(rows[3]!.updatedDttm > rows[3]!.createdDttm)
})

/** A full hour that comes in the middle begins new records: then it is done again. */
async function inOneHour<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    const began = new Date().getUTCHours()
    const value = await work()
    if (new Date().getUTCHours() === began) return value
  }
}

async function denyAll(): Promise<{ rows: Row[]; total: number; key: { id: number } }> {
  await using p = await place()
  const ben = await p.api.t.member(p.a, 'SECURITY_ADMIN', { email: 'ben@example.com' })
  const key = await p.api.t.key({ name: 'reads', capabilities: ['users:read'] })
  const session = sessionOf(await p.api.session(ben))
  const rename = 'mutation { renameWorkspace(name: "B") { ok } }'
  const promote = 'mutation { inviteUser(email: "x@example.com", accountType: ADMIN) { ok } }'
  const denied = async (query: string, by: RequestHeaders, times: number, address = '192.0.2.1') => {
    for (let at = 0; at < times; at++) await p.api.ask(query, { by, workspace: p.a.uid, address })
  }
  await denied(rename, bearer(key.key), 3)
  await denied(rename, {}, 4)
  await denied(rename, bearer('nonsense'), 2)
  await denied(rename, {}, 1, '192.0.2.2')
  await denied(rename, session, 2)
  // Inside the operation: nobody gives what they may not.
  await denied(promote, session, 3)
  // A document of queries is not a mutation.
  await denied('{ getAuditLogs { ok } }', bearer(key.key), 1)
  return { ...(await p.logs('(eventType: "mutation_denied")')), key }
}

test('every sign-in and refused sign-in writes one record', async () => {
  await using p = await place()
  const { t } = p.api
  await t.member(p.a, 'ADMIN', { email: 'ana@example.com', password: 'correct horse battery' })
  const signIn = (password: string) =>
    signInWithPassword(t.app, t.refusals, visitor, { email: 'ana@example.com', password })
  await signIn('correct horse battery')
  await signIn('correct horse battery')
  const before = new Date().getUTCHours()
  for (let at = 0; at < 3; at++) await assert.rejects(signIn('wrong'))
  const signedIn = await p.logs('(eventType: "signed_in")')
  assert.equal(signedIn.total, 2)
  assert.deepEqual([signedIn.rows[0]?.actorType, signedIn.rows[0]?.actorEmail], ['user', 'ana@example.com'])
  const refused = await p.logs('(eventType: "sign_in_refused")')
  const counts = refused.rows.map((row) => Number(row.metadataJson.count))
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    3,
  )
  assert.ok(counts.length === 1 || new Date().getUTCHours() !== before)
})

test('secrets are never in metadataJson', async () => {
  await using p = await place()
  const canary = 'canary-0123456789'
  const ask = (query: string) => p.api.ask(query, { by: p.by, workspace: p.a.uid })
  await ask(`mutation { createEnvironment(environment: { displayName: "e",
    repositoryUrl: "https://user:${canary}@git.example.com/x.git" }) { ok } }`)
  await ask(`mutation { updateEnvironment(slug: "e", environment: {
    repositoryUrl: "https://${canary}@git.example.com/x.git" }) { ok } }`)
  await ask(`mutation { setSecret(kind: VARIABLE, name: "S", value: "${canary}") { ok } }`)
  await ask(`mutation { setVariable(name: "V", value: "${canary}") { ok } }`)
  const made = (await ask('mutation { createApiKey(key: { name: "k", kind: ACCOUNT }) { key } }')).json.data
    .createApiKey
  const { rows } = await p.logs()
  assert.ok(rows.length >= 5)
  const text = JSON.stringify(rows)
  assert.ok(!text.includes(canary))
  assert.ok(!text.includes(made.key.slice(19)))
  assert.ok(!(await ask('{ environments { environments { repositoryUrl } } }')).text.includes(canary))
})

test('actorUserId is 0 for the system; workspaceId 0 and an empty name mean the account', async () => {
  await using p = await place()
  await p.api.ask('mutation { setAccountFeature(feature: "audit_logs", enabled: true) { ok } }', { by: p.by })
  await p.api.ask('mutation { renameWorkspace(name: "A2") { ok } }', { by: p.by, workspace: p.a.uid })
  const { rows } = await p.logs()
  const [renamed, switched, created] = rows as [Row, Row, Row]
  assert.deepEqual([renamed.workspaceId, renamed.workspaceName], [p.a.id, 'A2'])
  assert.deepEqual(
    [switched.eventType, switched.workspaceId, switched.workspaceName],
    ['account_feature_switched', 0, ''],
  )
  assert.deepEqual([created.eventType, created.actorType, created.actorUserId], ['api_key_created', 'system', 0])
})

test('getAuditLogs is newest first; without arguments it gives the newest 10,000; totalCount says how many there are, offset and limit reach the rest', async () => {
  await using p = await place()
  const { app } = p.api.t
  const before = (await p.logs('(limit: 1)')).total
  const entry = {
    ...{ workspaceId: p.a.id, workspaceName: 'A', actorType: 'system', actorUserId: 0, actorEmail: '' },
    ...{ eventType: 'user_invited', metadata: {} },
  } as const
  for (let at = 0; at < 10_040; at += 1_004) {
    await inTransaction(app.db, (tx) => audit.append(tx, app.vault, Array(1_004).fill(entry)))
  }
  const whole = before + 10_040
  const newest = await p.logs()
  assert.equal(newest.total, whole)
  assert.deepEqual(
    newest.rows.map((row) => row.id),
    Array.from({ length: 10_000 }, (_, at) => whole - at),
  )
  const rest = await p.logs('(offset: 10000, limit: 10000)')
  assert.deepEqual([rest.rows.length, rest.rows.at(-1)?.id, rest.total], [whole - 10_000, 1, whole])
  assert.deepEqual((await p.logs(`(offset: ${whole + 5})`)).rows, [])
  for (const args of ['(limit: 0)', '(limit: -1)', '(limit: 10001)', '(offset: -1)', '(limit: 2147483647)']) {
    const reply = await p.api.ask(`{ getAuditLogs${args} { ok } }`, { by: p.by })
    assert.deepEqual([reply.status, reply.code], [200, 'INVALID_INPUT'], args)
  }
  assert.deepEqual((await verifyAudit(app.db, app.vault, [])).faults, [])
})

test('from, to, eventType and actorEmail filter, and totalCount counts what they leave', async () => {
  await using p = await place()
  const { t } = p.api
  const ana = sessionOf(await p.api.session(await t.member(p.a, 'ADMIN', { email: 'ana@example.com' })))
  const rename = (name: string) =>
    p.api.ask('mutation ($name: String!) { renameWorkspace(name: $name) { ok } }', {
      by: ana,
      workspace: p.a.uid,
      variables: { name },
    })
  for (const name of ['A1', 'A2', 'A3']) await rename(name)
  await p.api.ask('mutation { setVariable(name: "V", value: "1") { ok } }', { by: ana, workspace: p.a.uid })
  const renames = await p.logs('(eventType: "workspace_renamed", limit: 2)')
  assert.deepEqual([renames.total, renames.rows.map((row) => row.metadataJson.to)], [3, ['A3', 'A2']])
  assert.equal((await p.logs('(actorEmail: "ANA@example.com")')).total, 4)
  assert.equal((await p.logs('(actorEmail: "nobody@example.com")')).total, 0)
  const [third, second] = renames.rows as [Row, Row]
  const between = await p.logs(`(from: "${second.createdDttm}", to: "${third.createdDttm}")`)
  assert.deepEqual(
    between.rows.map((row) => row.id),
    [second.id],
  )
  const iso = `${second.createdDttm.replace(' ', 'T')}+00:00`
  assert.equal((await p.logs(`(from: "${iso}", eventType: "workspace_renamed")`)).total, 2)
  assert.equal((await p.logs('(from: "2000-01-01", to: "2001-01-01 12:30")')).total, 0)
  for (const bad of [
    '2024-02-30',
    '2024-13-01',
    '2024-1-1',
    'now',
    '',
    '1',
    '2024-01-01T25:00:00Z',
    '2024-01-01 00:00:00+99:99',
  ]) {
    const reply = await p.api.ask('query ($t: String) { getAuditLogs(from: $t) { ok } }', {
      by: p.by,
      variables: { t: bad },
    })
    assert.deepEqual([reply.status, reply.code], [200, 'INVALID_INPUT'], bad)
    assert.match(reply.message, /^from: /)
  }
})
