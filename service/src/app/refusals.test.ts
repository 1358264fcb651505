import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { Actor } from '../domain/actor.ts'
import * as audit from '../store/audit.ts'
import { listAuditLogs, verifyAudit } from './audit.ts'
import type { Refusal } from './refusals.ts'
import { RefusalRecorder } from './refusals.ts'

const ANYBODY: Actor = { kind: 'anonymous' }

const refusal = (address: string, more: Partial<Refusal> = {}): Refusal => ({
  actor: ANYBODY,
  address,
  event: 'mutation_denied',
  metadata: { operations: ['inviteUser'], code: 'FORBIDDEN' },
  at: 'account',
  ...more,
})

async function listed(t: TestApp): Promise<[address: unknown, count: number | null][]> {
  const all = { offset: null, limit: null, from: null, to: null, eventType: null, actorEmail: null }
  const { records } = await listAuditLogs(t.system, all)
  return records.map((one) => [(JSON.parse(one.metadata) as { address: unknown }).address, one.refusals])
}

/** Commits of this database so far, as the server counts them. */
async function commits(t: TestApp): Promise<number> {
  const { rows } = await sql<{ count: number }>`select pg_stat_force_next_flush(), xact_commit as count
    from pg_stat_database where datname = current_database()`.execute(t.database.owner.kysely)
  return rows[0]!.count
}

test('refusals of one principal are one record an hour, with a count that goes on', async () => {
  await using t = await testApp()
  for (let time = 0; time < 5; time++) await t.refusals.record(refusal('192.0.2.1'))
  await t.refusals.record(refusal('192.0.2.2'))
  await t.refusals.record(refusal('192.0.2.1', { event: 'sign_in_refused' }))
  assert.deepEqual(await listed(t), [
    ['192.0.2.1', 1],
    ['192.0.2.2', 1],
    ['192.0.2.1', 5],
  ])
  assert.deepEqual((await verifyAudit(t.app.db, t.app.vault, [])).faults, [])
})

test('a key is counted as that key, from whatever address it comes', async () => {
  await using t = await testApp()
  const identity = {
    id: 7,
    kind: 'account' as const,
    name: 'ci',
    client: null,
    capabilities: [],
    workspaceId: null,
    makerId: 3,
    makerEmail: 'ana@example.com',
  }
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
    await t.refusals.record(refusal(address, { actor: { kind: 'key', key: identity } }))
  const [record] = await t.records('mutation_denied')
  assert.equal((await listed(t))[0]?.[1], 3)
  assert.deepEqual([record?.actorType, record?.actorEmail, record?.actorUserId], ['api_key', 'ana@example.com', 3])
  assert.deepEqual(record?.data.api_key, { id: 7, name: 'ci' })
})

test('the next hour begins a new record, and the old one keeps its count', async () => {
  await using t = await testApp()
  await t.refusals.record(refusal('192.0.2.1'))
  await t.refusals.record(refusal('192.0.2.1'))
  // The database's own clock decides, so the count is moved an hour back instead of the clock forward. Its mac does not
  // fit any more, which is what verification is for.
  await sql`update audit_refusal set hour = hour - interval '1 hour'`.execute(t.database.owner.kysely)
  await t.refusals.record(refusal('192.0.2.1'))
  assert.deepEqual(await listed(t), [
    ['192.0.2.1', 1],
    ['192.0.2.1', 2],
  ])
})

test('a thousand refusals at once are one record and a handful of transactions', async () => {
  await using t = await testApp()
  const before = await commits(t)
  await Promise.all(Array.from({ length: 1_000 }, () => t.refusals.record(refusal('192.0.2.1'))))
  const used = (await commits(t)) - before
  assert.deepEqual(await listed(t), [['192.0.2.1', 1_000]])
  assert.ok(used <= 10, `${used} transactions`)
  assert.deepEqual((await verifyAudit(t.app.db, t.app.vault, [])).faults, [])
})

test('two processes that refuse the same principal at once count into one record', async () => {
  await using t = await testApp()
  const recorders = [t.refusals, new RefusalRecorder(t.app), new RefusalRecorder(t.app)]
  await Promise.all(
    Array.from({ length: 30 }, async (_, number) => {
      await recorders[number % 3]!.record(refusal('192.0.2.1'))
    }),
  )
  assert.deepEqual(await listed(t), [['192.0.2.1', 30]])
  assert.deepEqual((await verifyAudit(t.app.db, t.app.vault, [])).faults, [])
})

test('a flood from ever new addresses is kept in bounded memory and loses no refusal', async () => {
  await using t = await testApp()
  const recorder = new RefusalRecorder(t.app, { maxPending: 20 })
  const flood = 200
  await Promise.all(Array.from({ length: flood }, (_, number) => recorder.record(refusal(`192.0.2.${number}`))))
  const all = await listed(t)
  assert.equal(
    all.reduce((sum, [, count]) => sum + (count ?? 0), 0),
    flood,
  )
  // The first goes at once, twenty wait by name, the rest are counted together.
  assert.equal(all.length, 1 + 20 + 1)
  assert.ok(all.some(([address, count]) => address === 'others' && count === flood - 21))
})

test('who waits for a write that fails is told, and the next refusal is recorded all the same', async () => {
  await using t = await testApp()
  const { db } = t.app
  let broken = true
  const recorder = new RefusalRecorder({
    ...t.app,
    get db() {
      if (broken) throw new Error('no database')
      return db
    },
  })
  const waiting = [1, 2, 3].map(() => recorder.record(refusal('192.0.2.1')))
  for (const outcome of await Promise.allSettled(waiting)) assert.equal(outcome.status, 'rejected')
  broken = false
  await recorder.record(refusal('192.0.2.2'))
  const addresses = (await listed(t)).map(([address]) => address)
  assert.ok(addresses.includes('192.0.2.2'))
  assert.equal((await audit.readHead(db)).id, addresses.length)
})
