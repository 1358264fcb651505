import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { CHANGES, type Log, random } from '../../test/support/audit-changes.ts'
import type { AuditEntry, EventType } from '../domain/audit.ts'
import { AppError } from '../domain/errors.ts'
import type { WitnessedHead } from '../ports/audit-witness.ts'
import * as audit from '../store/audit.ts'
import { type Db, inTransaction } from '../store/database.ts'
import { Vault } from '../store/vault.ts'
import { exportAudit, listAuditLogs, verifyAudit } from './audit.ts'

const OLD_KEY = randomBytes(32)
const NEW_KEY = randomBytes(32)
const beforeRotation = new Vault([OLD_KEY])
const vault = new Vault([NEW_KEY, OLD_KEY])

const EVENTS: readonly EventType[] = ['user_invited', 'secret_set', 'api_key_created', 'workspace_renamed', 'signed_in']

function entry(number: number): AuditEntry {
  return {
    workspaceId: number % 3,
    workspaceName: number % 3 === 0 ? '' : `Workspace ${number % 3}`,
    actorType: number % 2 === 0 ? 'user' : 'api_key',
    actorUserId: number % 5,
    actorEmail: `person-${number % 5}@example.com`,
    eventType: EVENTS[number % EVENTS.length]!,
    metadata: { number, name: `thing "${number}" 東京`, list: [1, 2, { deep: null }] },
  }
}

/** Sixty records, the first half before a rotation of the master key, some of them refusals with counts beside them. */
async function fill(db: Db): Promise<WitnessedHead[]> {
  const witnesses: WitnessedHead[] = []
  for (let number = 1; number <= 60; number++) {
    const current = number <= 30 ? beforeRotation : vault
    await inTransaction(db, async (tx) => {
      const refused = number % 10 === 0
      const one: AuditEntry = refused ? { ...entry(number), eventType: 'mutation_denied' } : entry(number)
      const [auditId] = await audit.append(tx, current, [one])
      if (!refused) return
      const principal = `key:${number}`
      await audit.beginRefusals(tx, current, { principal, eventId: 60, auditId: auditId!, count: 1 + number })
    })
    if (number % 20 === 0) {
      const { id, mac } = await audit.readHead(db)
      witnesses.push({ id, mac, where: `minute ${number}` })
    }
  }
  return witnesses
}

describe('the audit log', () => {
  let t: TestApp
  let witnesses: WitnessedHead[]
  before(async () => {
    t = await testApp({ empty: true })
    witnesses = await fill(t.app.db)
  })
  after(() => t.close())

  test('verifies as it was written, across a rotation of the master key', async () => {
    const { rows, faults, head, witnesses: seen } = await verifyAudit(t.app.db, vault, witnesses)
    assert.deepEqual(faults, [])
    assert.deepEqual([rows, head.id, seen], [60, 60, 3])
  })

  test('verifies while it is empty', async () => {
    await using other = await testApp({ empty: true })
    assert.deepEqual((await verifyAudit(other.app.db, vault, [])).faults, [])
  })

  test('does not verify without the master key that it was written under', async () => {
    const { faults } = await verifyAudit(t.app.db, new Vault([NEW_KEY]), witnesses)
    assert.match(faults[0]!, /row 1 names the master key [0-9a-f]{16}, which is not in the ring/)
    assert.ok(faults.length <= 20, 'a log that is wrong all over is not told row by row')
  })

  test('shows every one of a thousand random changes', async (context) => {
    const seed = Number.parseInt(randomBytes(4).toString('hex'), 16)
    context.diagnostic(`seed ${seed}`)
    const dice = random(seed)
    const done = new Map<string, number>()
    await changing(t, async (tx) => {
      const kinds = Object.entries(CHANGES)
      for (let number = 0; number < 1_000; number++) {
        // Every kind in turn, so that none is left to chance; which row, column and value is.
        const [name, change] = kinds[number % kinds.length]!
        await sql`savepoint untouched`.execute(tx)
        const log: Log = { tx, vault, rows: 60, witnesses }
        const what = await change(log, dice)
        const { faults } = await verifyAudit(tx, vault, witnesses)
        assert.ok(faults.length > 0, `seed ${seed}, change ${number}, ${name}: ${what} was not found`)
        await sql`rollback to savepoint untouched`.execute(tx)
        done.set(name, (done.get(name) ?? 0) + 1)
      }
      assert.deepEqual((await verifyAudit(tx, vault, witnesses)).faults, [], 'what was undone verifies again')
    })
    assert.equal(
      [...done.values()].reduce((sum, one) => sum + one),
      1_000,
    )
    assert.deepEqual((await verifyAudit(t.app.db, vault, witnesses)).faults, [])
  })

  test('finds a change at the border between two batches, also where the same id stands twice', async () => {
    await using other = await testApp({ empty: true })
    const { db } = other.app
    const border = 5_000
    for (let from = 0; from < border + 1_000; from += 1_000) {
      const entries = Array.from({ length: 1_000 }, (_, index) => entry(from + index))
      await inTransaction(db, (tx) => audit.append(tx, vault, entries))
    }
    assert.deepEqual((await verifyAudit(db, vault, [])).faults, [])
    await changing(other, async (tx) => {
      await sql`insert into audit_log select id, created_at, workspace_id, workspace_name, actor_type, actor_user_id,
        'mallory@example.com', event_source_id, event_source, event_id, event_type, metadata, kid, mac
        from audit_log where id = ${border}`.execute(tx)
      assert.notDeepEqual((await verifyAudit(tx, vault, [])).faults, [])
    })
  })

  test('verifies beside writers that go on', async () => {
    await using other = await testApp({ empty: true, poolSize: 6 })
    const { db } = other.app
    let writing = true
    const writers = Array.from({ length: 3 }, async (_, writer) => {
      for (let number = 0; writing; number++) {
        await other.refusals.record({
          actor: { kind: 'anonymous' },
          address: `192.0.2.${writer}.${number}`,
          event: 'sign_in_refused',
          metadata: {},
          at: 'account',
        })
        await inTransaction(db, (tx) => audit.append(tx, other.app.vault, [entry(number)]))
      }
    })
    try {
      for (let round = 0; round < 20; round++) {
        assert.deepEqual((await verifyAudit(db, other.app.vault, [])).faults, [], `round ${round}`)
      }
    } finally {
      writing = false
      await Promise.all(writers)
    }
  })

  test('is exported whole and in order, with what another program needs to verify it', async () => {
    const rows = []
    for await (const row of exportAudit(t.app.db)) rows.push(row)
    assert.deepEqual(
      rows.map((row) => row.id),
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
    assert.equal(rows[0]?.mac.length, 32)
  })

  test('is listed newest first, by page, by time, event and actor, each with the count of all that match', async () => {
    const none = { offset: null, limit: null, from: null, to: null, eventType: null, actorEmail: null }
    const all = await listAuditLogs(t.system, none)
    assert.deepEqual([all.total, all.records.length, all.records[0]?.id], [60, 60, 60])
    const page = await listAuditLogs(t.system, { ...none, offset: 10, limit: 5 })
    assert.deepEqual([page.total, page.records.map((one) => one.id)], [60, [50, 49, 48, 47, 46]])
    const denied = await listAuditLogs(t.system, { ...none, eventType: 'mutation_denied', limit: 1 })
    assert.deepEqual([denied.total, denied.records[0]?.refusals], [6, 61])
    const mine = await listAuditLogs(t.system, { ...none, actorEmail: 'PERSON-1@example.com' })
    assert.equal(mine.total, 12)
    const inOne = await listAuditLogs({ ...t.system, visible: [2] }, none)
    assert.ok(inOne.total === 20 && inOne.records.every((one) => one.workspaceId === 2))
    const at = all.records.find((one) => one.id === 30)!.createdAt
    const since = await listAuditLogs(t.system, { ...none, from: at })
    const until = await listAuditLogs(t.system, { ...none, to: at })
    assert.ok(since.records.some((one) => one.id === 30) && !until.records.some((one) => one.id === 30))
    assert.equal(since.total + until.total, 60)
    const offset = await listAuditLogs(t.system, { ...none, from: '2000-01-01T00:00:00+15:59' })
    assert.equal(offset.total, 60)
  })

  test('refuses limits, offsets, times and texts that make no sense, and never with a fault of its own', async () => {
    const none = { offset: null, limit: null, from: null, to: null, eventType: null, actorEmail: null }
    const bad = [
      { limit: 0 },
      { limit: -1 },
      { limit: 10_001 },
      { offset: -1 },
      { from: 'yesterday' },
      { to: '2026-02-30' },
      { to: '2026-02-03 10:00:00+99:99' },
      { eventType: 'a\u0000' },
      { actorEmail: '\u0000' },
    ]
    for (const one of bad) {
      await assert.rejects(
        listAuditLogs(t.system, { ...none, ...one }),
        (error) => error instanceof AppError && error.code === 'INVALID_INPUT',
        JSON.stringify(one),
      )
    }
    assert.equal((await listAuditLogs(t.system, { ...none, offset: 2 ** 31 - 1 })).records.length, 0)
  })
})

/** As an owner of the tables who has put every guard out of the way; all of it is undone at the end. */
async function changing(t: TestApp, work: (tx: Db) => Promise<void>): Promise<void> {
  class Undone extends Error {}
  await assert.rejects(
    t.database.owner.kysely.transaction().execute(async (tx) => {
      await sql`alter table audit_log disable trigger all`.execute(tx)
      await sql`alter table audit_log drop constraint audit_log_pkey`.execute(tx)
      await sql`create index on audit_log (id)`.execute(tx)
      await sql`alter table audit_log drop constraint audit_log_actor_type_check`.execute(tx)
      await sql`alter table audit_refusal drop constraint audit_refusal_pkey`.execute(tx)
      await sql`drop index audit_refusal_audit`.execute(tx)
      await work(tx)
      throw new Undone()
    }),
    Undone,
  )
}
