import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestRuns, testRuns } from '../../test/support/runs.ts'
import { deadlines, runEvents } from '../engine/run-events.ts'
import * as events from '../store/run-events.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { announceRunEvent, handleNextEvent } from './run-events.ts'
import { cancelRun, finishRun } from './runs.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

interface Remembering extends RunEventHandler {
  readonly seen: readonly RunEvent[]
}

function remembering(name = 'one', fails: (event: RunEvent) => boolean = () => false): Remembering {
  const seen: RunEvent[] = []
  return {
    name,
    seen,
    handle: async (unit, event) => {
      seen.push(event)
      // Written before the failure, so that what is undone can be seen to be undone.
      await sql`update run set reason = reason || ${`${name} `} where id = ${event.runId}`.execute(unit.db)
      unit.record('run_canceled', { handler: name, run: event.runId })
      if (fails(event)) throw new Error(`${name} fails`)
    },
  }
}

const handle = (...handlers: RunEventHandler[]): Promise<void> => runEvents(r.t.app, handlers).runOnce()
const open = async (): Promise<number> =>
  Number(
    (await sql<{ n: number }>`select count(*)::int as n from run_event where handled_at is null`.execute(r.t.app.db))
      .rows[0]!.n,
  )

test('the end of a run leaves one event and one job that says to look', async () => {
  const runId = await r.trigger(await r.schedule())
  const jobs = r.t.jobs.filter((job) => job.queue === 'run-event').length
  await cancelRun(r.ctx, { runId })
  await r.unit((unit) => finishRun(unit, runId, 0, { kind: 'succeeded' }))
  assert.equal(r.t.jobs.filter((job) => job.queue === 'run-event').length, jobs + 1)
  const handler = remembering()
  await handle(handler)
  await handle(handler)
  assert.deepEqual(
    handler.seen.map((event) => [event.kind, event.runId, event.state, event.workspaceId]),
    [['ended', runId, 'canceled', r.workspace.id]],
  )
})

test('a skipped tick leaves no event', async () => {
  const schedule = await r.schedule({ overlap: 'skip' })
  const going = await r.tick(schedule, 1)
  assert.equal((await r.tick(schedule, 2)).state, 'skipped')
  await cancelRun(r.ctx, { runId: going.id })
  const handler = remembering()
  await handle(handler)
  assert.deepEqual(
    handler.seen.map((event) => event.runId),
    [going.id],
  )
})

test('one that fails is undone and tried again after growing pauses; the others are done once', async () => {
  const runId = await r.trigger(await r.schedule())
  await cancelRun(r.ctx, { runId })
  let isBroken = true
  const [good, bad, last] = [remembering('good'), remembering('bad', () => isBroken), remembering('last')]
  await handle(good, bad, last)
  assert.equal((await r.run(runId)).reason, 'good last ')
  assert.equal(await open(), 1)
  await handle(good, bad, last)
  assert.equal(bad.seen.length, 1)
  r.t.clock.advance(5001)
  await handle(good, bad, last)
  assert.equal(bad.seen.length, 2)
  r.t.clock.advance(5001)
  await handle(good, bad, last)
  assert.equal(bad.seen.length, 2)
  isBroken = false
  r.t.clock.advance(5001)
  await handle(good, bad, last)
  assert.deepEqual([good.seen.length, bad.seen.length, last.seen.length, await open()], [1, 3, 1, 0])
  assert.equal((await r.run(runId)).reason, 'good last bad ')
  const records = (await r.t.records('run_canceled')).filter((one) => one.data.run === runId)
  assert.deepEqual(
    records.map((one) => one.data.handler),
    [undefined, 'good', 'last', 'bad'],
  )
  assert.ok(r.t.lines.some((line) => line.fields.handler === 'bad'))
})

test('a statement that the database refuses spoils nothing but its own handler', async () => {
  const runId = await r.trigger(await r.schedule())
  await cancelRun(r.ctx, { runId })
  const broken: RunEventHandler = {
    name: 'broken',
    handle: async (unit) => {
      await sql`select 1 / 0`.execute(unit.db)
    },
  }
  const good = remembering()
  await handle(broken, good)
  assert.equal((await r.run(runId)).reason, 'one ')
  r.t.clock.advance(10_000)
  await handle(good)
  assert.equal(await open(), 0)
})

test('many who look at once do each event once', async () => {
  const ids: number[] = []
  for (let count = 0; count < 12; count++) {
    const runId = await r.trigger(await r.schedule())
    await cancelRun(r.ctx, { runId })
    ids.push(runId)
  }
  const handlers = [1, 2, 3, 4].map(() => remembering())
  await Promise.all(handlers.map((one) => handle(one)))
  const seen = handlers.flatMap((one) => one.seen.map((event) => event.runId))
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    ids,
  )
})

test('the end of a run waits for its start, unless that failed', async () => {
  const runId = await r.trigger(await r.schedule())
  await r.unit((unit) => announceRunEvent(unit, { workspaceId: r.workspace.id, runId, kind: 'started' }))
  await cancelRun(r.ctx, { runId })
  const kinds: string[] = []
  const started = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<void>()
  const slow: RunEventHandler = {
    name: 'slow',
    handle: async (_, event) => {
      kinds.push(event.kind)
      if (event.kind !== 'started') return
      started.resolve()
      await mayGoOn.promise
      throw new Error('the start fails')
    },
  }
  const first = handleNextEvent(r.t.app, [slow])
  await started.promise
  assert.equal(await handleNextEvent(r.t.app, [slow]), false, 'the end while the start is under way')
  mayGoOn.resolve()
  await first
  assert.equal(await handleNextEvent(r.t.app, [slow]), true)
  assert.deepEqual(kinds, ['started', 'ended'])
  await handle()
  await sql`update run_event set next_try_at = clock_timestamp() where run_id = ${runId}`.execute(r.t.app.db)
  await handle()
})

test('without anything to do nothing is done', async () => {
  assert.equal(await handleNextEvent(r.t.app, [remembering()]), false)
})

const late = async (slaSeconds: number | null): Promise<number> => {
  const schedule = await r.schedule()
  await sql`update schedule set sla_seconds = ${slaSeconds} where id = ${schedule.id}`.execute(r.t.app.db)
  return await r.trigger(schedule)
}

const inSeconds = (seconds: number) => () => new Date(Date.now() + seconds * 1000)

test('a run that is still going after its deadline is told of once, also while it waits', async () => {
  const [soon, other, never] = [await late(60), await late(3600), await late(null)]
  const handler = remembering()
  const watch = async (seconds: number): Promise<void> => {
    await deadlines(r.t.app, inSeconds(seconds)).runOnce()
    await handle(handler)
  }
  await watch(59)
  assert.equal(handler.seen.length, 0)
  await watch(61)
  await watch(62)
  assert.deepEqual(
    handler.seen.map((event) => [event.kind, event.runId, event.state]),
    [['late', soon, 'waiting']],
  )
  await cancelRun(r.ctx, { runId: other })
  await handle(handler)
  await watch(7200)
  assert.deepEqual(
    handler.seen.map((event) => [event.kind, event.runId]),
    [
      ['late', soon],
      ['ended', other],
    ],
  )
  for (const runId of [soon, never]) await cancelRun(r.ctx, { runId })
  await handle(handler)
})

test('two who watch at once tell of a late run once', async () => {
  const runId = await late(1)
  const now = inSeconds(10)
  await Promise.all([1, 2, 3].map(() => deadlines(r.t.app, now).runOnce()))
  const { rows } = await sql<{ n: number }>`select count(*)::int as n from run_event
    where run_id = ${runId} and kind = 'late'`.execute(r.t.app.db)
  assert.equal(rows[0]!.n, 1)
  await cancelRun(r.ctx, { runId })
})

test('looking for late runs reads the index of late ones alone, however many are going', async () => {
  await sql`insert into run (workspace_id, schedule_id, environment_id, cause, state, actor, branch, late_at)
    select workspace_id, schedule_id, environment_id, 'key', 'waiting', 'x', 'main', clock_timestamp() + interval '1 day'
    from run cross join generate_series(1, 2000) limit 2000`.execute(r.t.app.db)
  const { rows } = await sql<{
    'QUERY PLAN': string
  }>`explain (analyze, buffers off, timing off, costs off, summary off)
    select 1 from run where late_at <= clock_timestamp() - interval '1 hour'
      and state in ('waiting', 'starting', 'running', 'ending') limit 1`.execute(r.t.app.db)
  assert.match(rows.map((row) => row['QUERY PLAN']).join('\n'), /run_late/)
  assert.equal(await events.isAnyLate(r.t.app.db, new Date(0)), false)
})
