import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { recordingLog, testApp } from '../../test/support/app.ts'
import { mutate } from '../app/mutate.ts'
import type { AuditWitness, WitnessedHead } from '../ports/audit-witness.ts'
import * as nodes from '../store/nodes.ts'
import { auditWitness } from './audit-witness.ts'
import { heartbeat, housekeeping } from './housekeeping.ts'
import { startPeriodic } from './periodic.ts'

const NODE = { id: 'n1', host: 'h', pid: 1, roles: ['api'], kids: ['k1'], version: '1' }

test('what is kept for a day is gone after it: answers, and processes that did not say goodbye', async () => {
  await using t = await testApp()
  const ctx = { ...t.system, idempotency: { key: 'k', bodyHash: '00', position: 0 } }
  await mutate(ctx, async () => 'answer')
  await nodes.beat(t.app.db, NODE)
  const left = async (): Promise<number[]> => {
    const counts = await Promise.all(
      ['idempotent_answer', 'node'].map((table) =>
        sql<{ count: number }>`select count(*)::int as count from ${sql.table(table)}`.execute(t.app.db),
      ),
    )
    return counts.map((one) => one.rows[0]!.count)
  }
  await housekeeping(t.app).runOnce()
  assert.deepEqual(await left(), [1, 1])
  await sql`update idempotent_answer set created_at = created_at - interval '25 hours'`.execute(t.app.db)
  await sql`update node set seen_at = seen_at - interval '25 hours'`.execute(t.app.db)
  await housekeeping(t.app).runOnce()
  assert.deepEqual(await left(), [0, 0])
  assert.equal(t.lines.find((line) => line.level === 'debug')?.fields.forgotten, 1)
})

test('a heartbeat writes the process down, and again as seen now', async () => {
  await using t = await testApp()
  await heartbeat(t.app, NODE).runOnce()
  await sql`update node set seen_at = seen_at - interval '1 hour'`.execute(t.app.db)
  assert.deepEqual(await nodes.listWithoutKey(t.app.db, 'k2'), [], 'who was not seen for a minute does not count')
  await heartbeat(t.app, NODE).runOnce()
  assert.deepEqual(await nodes.listWithoutKey(t.app.db, 'k2'), [{ host: 'h', pid: 1 }])
  assert.deepEqual(await nodes.listWithoutKey(t.app.db, 'k1'), [])
  await nodes.leave(t.app.db, NODE.id)
  assert.deepEqual(await nodes.listWithoutKey(t.app.db, 'k2'), [])
})

test('the head of the audit log is written outside when it moved, and not when it did not', async () => {
  await using t = await testApp()
  const seen: WitnessedHead[] = []
  const witness: AuditWitness = {
    append: async (head) => void seen.push({ ...head, where: '' }),
    read: async () => seen,
  }
  const task = auditWitness(t.app, witness)
  await task.runOnce()
  assert.equal(seen.length, 0, 'an empty log has no head to see')
  const change = () => mutate(t.system, async (unit) => unit.record('workspace_renamed', {}))
  await change()
  await change()
  await task.runOnce()
  await task.runOnce()
  assert.deepEqual(
    seen.map((head) => head.id),
    [2],
  )
  await change()
  await task.runOnce()
  assert.deepEqual(
    seen.map((head) => head.id),
    [2, 3],
  )
  assert.ok(task.everyMs <= 60_000)
})

test('a head that could not be written is tried again with the next round', async () => {
  await using t = await testApp()
  let broken = true
  const seen: number[] = []
  const task = auditWitness(t.app, {
    append: async ({ id }) => {
      if (broken) throw new Error('disk full')
      seen.push(id)
    },
    read: async () => [],
  })
  await mutate(t.system, async (unit) => unit.record('workspace_renamed', {}))
  await assert.rejects(task.runOnce(), /disk full/)
  broken = false
  await task.runOnce()
  assert.deepEqual(seen, [1])
})

test('a periodic task runs at once and again; a failure is logged and goes by; a stop waits for the work under way', async () => {
  const lines: Parameters<typeof recordingLog>[0] = []
  const [third, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let runs = 0
  let ended = false
  const service = startPeriodic(recordingLog(lines), {
    name: 'test task',
    everyMs: 1,
    runOnce: async () => {
      runs++
      if (runs === 1) throw new Error('once')
      if (runs < 3) return
      third.resolve()
      await mayEnd.promise
      ended = true
    },
  })
  await third.promise
  const stopping = service.stop()
  mayEnd.resolve()
  await stopping
  assert.ok(ended)
  assert.equal(runs, 3)
  assert.deepEqual(
    lines.map((line) => [line.level, line.fields.task]),
    [['warn', 'test task']],
  )
  await service.stop()
})

test('a periodic task that is pausing stops at once', async () => {
  const ran = Promise.withResolvers<void>()
  const task = { name: 'slow', everyMs: 3_600_000, runOnce: async () => ran.resolve() }
  const service = startPeriodic(recordingLog([]), task)
  await ran.promise
  await service.stop()
})
