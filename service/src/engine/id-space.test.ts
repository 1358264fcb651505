// The ids of runs, commands, files and schedules come to their end (R25): whoever asks is told so, nothing begins again
// at one, and what works in the background goes on with what it has.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { type TestRuns, type TestSchedule, testRuns } from '../../test/support/runs.ts'
import { openFilesystemBlobs } from '../adapters/blob/filesystem.ts'
import { createScriptedExecutor } from '../adapters/executor/scripted.ts'
import { listArtifacts } from '../app/artifacts.ts'
import { commandOutput } from '../app/command-logs.ts'
import { retryAllRun } from '../app/retry.ts'
import { createSchedule } from '../app/schedules.ts'
import { AppError } from '../domain/errors.ts'
import { MAX_ID } from '../store/expected-errors.ts'
import { listNearlyUsedUp } from '../store/id-space.ts'
import { housekeeping } from './housekeeping.ts'
import { scheduler } from './scheduler.ts'
import { openLog } from './worker/log-shipper.ts'
import { runFiles } from './worker/run-files.ts'

type Table = 'run' | 'command' | 'artifact' | 'schedule'

let r: TestRuns
before(async () => {
  r = await testRuns({ queue: 'real' })
})
after(() => r[Symbol.asyncDispose]())

/** The sequence gives out so many more ids. Rows with the highest ids stay from test to test, so each begins below them. */
const leave = (table: Table, left: number) =>
  sql`select setval(${`yardmaster.${table}_id_seq`}::regclass, ${MAX_ID - left})`.execute(r.t.database.owner.kysely)
const free = async (): Promise<void> => {
  for (const table of ['run', 'command', 'artifact', 'schedule'] as const) {
    const { rows } = await sql<{ last: number }>`select coalesce(max(id), 0) as last from ${sql.table(table)}
      where id < ${2 ** 30}`.execute(r.t.app.db)
    await leave(table, MAX_ID - rows[0]!.last - 1)
  }
}
beforeEach(free)
afterEach(() => r.stopWorkers())

const usedUp = (table: Table) => (error: unknown) => {
  assert.ok(error instanceof AppError, String(error))
  assert.equal(error.code, 'CONFLICT')
  assert.match(error.message, new RegExp(`^The id space of ${table} is used up: .*Tell whoever runs this deployment`))
  return true
}
const count = async (table: Table): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${sql.table(table)}`.execute(
    r.t.app.db,
  )
  return rows[0]!.count
}

test('the last ten ids of runs are given out and work; the eleventh trigger is told that there are no more', async () => {
  const schedule = await r.schedule({ overlap: 'allow' })
  await r.worker({})
  await leave('run', 10)
  const ids: number[] = []
  for (let number = 0; number < 10; number++) ids.push(await r.trigger(schedule))
  assert.deepEqual(
    ids,
    ids.map((_, index) => MAX_ID - 9 + index),
  )
  const before = await count('run')
  for (let tries = 0; tries < 2; tries++) await assert.rejects(r.trigger(schedule), usedUp('run'))
  assert.equal(await count('run'), before)
  for (const id of ids) assert.equal((await r.until(id, 'succeeded', 'failed', 'errored')).state, 'succeeded')
  await assert.rejects(retryAllRun(r.ctx, { runId: ids[9]! }), usedUp('run'))
})

test('a run whose commands have no ids left is refused whole', async () => {
  const schedule = await r.schedule({ commands: ['one', 'two', 'three'] })
  // The two of the infrastructure and one of three.
  await leave('command', 3)
  const before = [await count('run'), await count('command')]
  await assert.rejects(r.trigger(schedule), usedUp('command'))
  assert.deepEqual([await count('run'), await count('command')], before)
})

test('a schedule that has no id left is refused', async () => {
  await r.t.app.db.updateTable('environment').set({ is_default: true }).where('slug', '=', 'environment-1').execute()
  await leave('schedule', 0)
  const input = { name: 'One too many', schedule: 'OFF', environment: 'environment-1', commands: ['true'] }
  await assert.rejects(createSchedule(r.ctx, input), usedUp('schedule'))
})

async function makeDue(schedule: TestSchedule, at: Date): Promise<void> {
  await sql`update schedule set cron = '* * * * *', next_due_at = ${at.toISOString()} where id = ${schedule.id}`.execute(
    r.t.app.db,
  )
}

for (const table of ['run', 'command'] as const) {
  test(`a scheduler without ids of ${table}s says so, goes on, and loses no time when there are some again`, async () => {
    const clock = new Date('2031-05-01T12:00:10Z')
    const schedules = [await r.schedule(), await r.schedule()]
    for (const one of schedules) await makeDue(one, new Date('2031-05-01T12:00:00Z'))
    const task = scheduler(r.t.app, { now: async () => clock })
    await leave(table, 0)
    const said = r.t.lines.length
    await task.runOnce()
    const told = r.t.lines.slice(said).filter((line) => line.level === 'error')
    assert.deepEqual(new Set(told.map((line) => line.fields.id)), new Set(schedules.map((one) => one.id)))
    for (const { fields } of told) usedUp(table)(fields.err)
    await free()
    clock.setMinutes(clock.getMinutes() + 2)
    await task.runOnce()
    for (const one of schedules) {
      const { rows } = await sql<{ times: number }>`select count(*)::int as times from run
        where schedule_id = ${one.id}`.execute(r.t.app.db)
      assert.equal(rows[0]!.times, 3, 'the two that were missed and the present one')
      await sql`update schedule set cron = 'OFF', next_due_at = null where id = ${one.id}`.execute(r.t.app.db)
    }
  })
}

test('a worker that cannot keep files for want of ids ends the run as it went, and its log says so', async () => {
  const { app } = r.t
  const blobs = await openFilesystemBlobs(join(r.folder, 'blobs'))
  const executor = createScriptedExecutor({
    play: (spec) => {
      for (const name of ['one', 'two', 'three']) writeFileSync(join(spec.folder, name), spec.text)
      return { steps: [{ stdout: 'done\n' }] }
    },
  })
  const files = runFiles(app, blobs)
  await r.worker({
    ports: { executor, files, openLog: (id, { secrets, lost }) => openLog(app.db, id, { secrets, signal: lost }) },
  })
  await leave('artifact', 1)
  const id = await r.trigger(await r.schedule({ commands: ['first', 'second'] }))
  assert.equal((await r.until(id, 'succeeded', 'failed', 'errored')).state, 'succeeded')
  const users = (await r.commands(id)).filter((one) => one.kind === 'user')
  for (const { id: commandId, state, returnCode } of users) {
    assert.deepEqual([state, returnCode], ['succeeded', 0])
    const { stdout, stderr } = await commandOutput(r.ctx, commandId)
    assert.equal(stdout, 'done\n')
    assert.match(stderr, /^yardmaster: the files of this command could not be kept\.\n$/)
  }
  assert.ok((await listArtifacts(r.ctx, { runId: id })).every((one) => one.id === MAX_ID))
})

test('each of these tables is warned of when more than 80 % of its ids are used', async () => {
  const { app, lines } = r.t
  const tables = ['artifact', 'command', 'run', 'schedule'] as const
  const share = MAX_ID - Math.floor(MAX_ID * 0.8)
  for (const table of tables) await leave(table, share)
  assert.deepEqual(await listNearlyUsedUp(app.db, 0.8), [])
  for (const table of tables) await leave(table, share - 1)
  await housekeeping(app).runOnce()
  const warned = lines.filter((line) => line.level === 'warn' && line.fields.table !== undefined)
  assert.deepEqual(warned.map((line) => line.fields.table).sort(), tables)
})
