import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { Context } from '../app/context.ts'
import { createEnvironment } from '../app/environments.ts'
import type { ScheduleInput } from '../app/schedules.ts'
import { createSchedule, deleteSchedule, getSchedule, suspendSchedule, updateSchedule } from '../app/schedules.ts'
import { setAccountFeature } from '../app/workspaces.ts'
import { scheduler, startScheduler } from './scheduler.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Row {
  readonly id: number
  readonly scheduleId: number
  readonly due: string
  readonly state: string
  readonly cause: string
  readonly actor: string
  readonly detail: string
  readonly count: number | null
}

/** A scheduler whose clock the test holds. It stands in the future, so that edits made now lie before it. */
class Bench {
  readonly t: TestApp
  readonly ctx: Context
  clock = new Date('2031-05-01T12:00:00Z')

  constructor(t: TestApp, ctx: Context) {
    this.t = t
    this.ctx = ctx
  }

  static async open(t: TestApp): Promise<Bench> {
    const ctx = t.inside(await t.workspace())
    await createEnvironment(ctx, { displayName: 'Production', defaultBranch: 'trunk' })
    return new Bench(t, ctx)
  }

  readonly now = async (): Promise<Date> => this.clock

  advance(milliseconds: number): void {
    this.clock = new Date(this.clock.getTime() + milliseconds)
  }

  /** Next due at the clock's present minute. */
  async schedule(input: Partial<ScheduleInput> = {}): Promise<string> {
    const wanted = { name: 'S', schedule: '* * * * *', environment: 'production', commands: ['true', 'date'], ...input }
    const { slug } = await createSchedule(this.ctx, wanted)
    await sql`update schedule set next_due_at = ${this.clock.toISOString()}
      where slug = ${slug} and next_due_at is not null`.execute(this.t.app.db)
    return slug
  }

  async look(): Promise<void> {
    await scheduler(this.t.app, { now: this.now }).runOnce()
  }

  async rows(slug?: string): Promise<Row[]> {
    const { rows } = await sql<Row>`select r.id, r.schedule_id as "scheduleId", r.state, r.cause, r.actor, r.detail,
        to_char(r.due_at at time zone 'UTC', 'MM-DD HH24:MI') as due, r.skipped_count as count
      from run r join schedule s on s.id = r.schedule_id
      where s.slug = coalesce(${slug ?? null}, s.slug) order by r.schedule_id, r.due_at`.execute(this.t.app.db)
    return rows
  }

  async dueAt(slug: string): Promise<string | null> {
    return (await getSchedule(this.ctx, { slug })).nextDueAt
  }
}

test('a due schedule leaves one run with its commands and job, and is moved to its next time', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slug = await bench.schedule()
  bench.advance(250)
  await bench.look()
  await bench.look()
  const [row, ...more] = await bench.rows()
  assert.deepEqual(more, [])
  assert.deepEqual(
    [row!.due, row!.state, row!.cause, row!.actor, row!.detail],
    ['05-01 12:00', 'waiting', 'cron', 'schedule', ''],
  )
  assert.deepEqual(t.jobs, [{ queue: 'run', data: { runId: row!.id } }])
  const { rows } = await sql<{ text: string }>`select text from command where kind = 'user' order by position`.execute(
    t.app.db,
  )
  assert.deepEqual(
    rows.map((one) => one.text),
    ['true', 'date'],
  )
  assert.equal(await bench.dueAt(slug), '2031-05-01 12:01:00.000000')
  const { rows: branches } = await sql<{ branch: string }>`select branch from run`.execute(t.app.db)
  assert.equal(branches[0]!.branch, 'trunk')
})

test('while one run goes a further time waits, one at most, and later ones are recorded as skipped', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slug = await bench.schedule()
  for (let minute = 0; minute < 4; minute++) {
    await bench.look()
    bench.advance(MINUTE)
  }
  const rows = await bench.rows(slug)
  assert.deepEqual(
    rows.map((row) => row.state),
    ['waiting', 'waiting', 'skipped', 'skipped'],
  )
  assert.equal(t.jobs.length, 1, 'only the first was sent to the workers')
  assert.match(rows[2]!.detail, /waiting/)
})

test('the other overlap policies: skip, allow and cancel previous', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slugs = {
    skip: await bench.schedule({ overlap: 'skip' }),
    allow: await bench.schedule({ overlap: 'allow' }),
    cancel: await bench.schedule({ overlap: 'cancel_previous' }),
  }
  for (let minute = 0; minute < 3; minute++) {
    await bench.look()
    bench.advance(MINUTE)
  }
  const states = async (slug: string) => (await bench.rows(slug)).map((row) => row.state)
  assert.deepEqual(await states(slugs.skip), ['waiting', 'skipped', 'skipped'])
  assert.deepEqual(await states(slugs.allow), ['waiting', 'waiting', 'waiting'])
  assert.deepEqual(await states(slugs.cancel), ['canceled', 'canceled', 'waiting'])
})

test('after a time without a scheduler each policy catches up its own, and every time is accounted for', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slugs = {
    latest: await bench.schedule(),
    none: await bench.schedule({ catchUp: 'none', schedule: '0,5 * * * *' }),
    all: await bench.schedule({ catchUp: 'all', catchUpWindowSeconds: 86_400, schedule: '*/10 * * * *' }),
    old: await bench.schedule({ schedule: '0 12 * * *' }),
  }
  bench.advance(2 * HOUR + 30_000)
  await bench.look()
  await bench.look()
  const latest = await bench.rows(slugs.latest)
  assert.deepEqual(
    latest.map((row) => [row.due, row.state, row.count]),
    [
      ['05-01 12:00', 'skipped', 120],
      ['05-01 14:00', 'waiting', null],
    ],
  )
  assert.match(latest[0]!.detail, /^120 times from 2031-05-01 12:00 to 2031-05-01 13:59 UTC\. Missed/)
  assert.deepEqual(
    (await bench.rows(slugs.none)).map((row) => [row.due, row.state]),
    [
      ['05-01 12:00', 'skipped'],
      ['05-01 12:05', 'skipped'],
      ['05-01 13:00', 'skipped'],
      ['05-01 13:05', 'skipped'],
      ['05-01 14:00', 'waiting'],
    ],
  )
  const all = await bench.rows(slugs.all)
  assert.equal(all.length, 13)
  assert.ok(all.every((row) => row.state === 'waiting'))
  const [old] = await bench.rows(slugs.old)
  assert.deepEqual([old!.due, old!.state], ['05-01 12:00', 'skipped'])
  assert.match(old!.detail, /longer ago than the catch-up window of 3600 s/)
  assert.equal(t.jobs.length, 3, 'one of each schedule that runs; the rest wait their turn')
})

test('OFF, suspended and deleted schedules are not due, and an edit begins with now', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const [off, suspended, deleted, edited] = [
    await bench.schedule({ schedule: 'OFF' }),
    await bench.schedule({ suspended: true }),
    await bench.schedule(),
    await bench.schedule(),
  ]
  await deleteSchedule(bench.ctx, { slug: deleted })
  await bench.look()
  for (const slug of [off, suspended, deleted]) assert.deepEqual(await bench.rows(slug), [])
  assert.equal((await bench.rows(edited)).length, 1)
  await updateSchedule(bench.ctx, { slug: edited, schedule: { schedule: '0 0 1 1 *' } })
  assert.match((await bench.dueAt(edited))!, /-01-01 00:00:00\.000000$/)
  await suspendSchedule(bench.ctx, { slug: suspended, suspend: false })
  const { rows } = await sql<{ soon: boolean }>`select next_due_at between now() and now() + interval '1 minute' as soon
    from schedule where slug = ${suspended}`.execute(t.app.db)
  assert.ok(rows[0]!.soon)
})

test('two schedulers at once fire five hundred schedules once each, three minutes long', async () => {
  await using t = await testApp({ poolSize: 10 })
  const bench = await Bench.open(t)
  const first = await bench.schedule()
  await sql`insert into schedule (workspace_id, environment_id, slug, name, cron, commands, next_due_at, overlap)
    select workspace_id, environment_id, 'many-' || n, 'many', cron, commands, next_due_at, 'allow'
    from schedule, generate_series(1, 499) n where slug = ${first}`.execute(t.app.db)
  const both = [scheduler(t.app, { now: bench.now }), scheduler(t.app, { now: bench.now, batch: 7 })]
  for (let minute = 0; minute < 3; minute++) {
    await Promise.all(both.map((one) => one.runOnce()))
    await Promise.all(both.map((one) => one.runOnce()))
    bench.advance(MINUTE)
  }
  const rows = await bench.rows()
  assert.equal(rows.length, 1500)
  assert.equal(new Set(rows.map((row) => `${row.scheduleId} ${row.due}`)).size, 1500)
  const skipped = rows.filter((row) => row.state === 'skipped')
  assert.equal(skipped.length, 1, 'the third of the one that may not overlap')
  assert.equal(t.jobs.length, 1498, 'and its second waits')
})

test('a schedule that cannot be fired is set apart and told of; the others fire, and nothing of it is lost', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const good = [await bench.schedule({ overlap: 'allow' }), await bench.schedule({ overlap: 'allow' })]
  const bad = await bench.schedule({ overlap: 'allow' })
  await sql`update schedule set cron = 'nonsense' where slug = ${bad}`.execute(t.app.db)
  const one = scheduler(t.app, { now: bench.now })
  await one.runOnce()
  for (const slug of good) assert.equal((await bench.rows(slug)).length, 1)
  assert.equal(t.lines.filter((line) => line.level === 'error' && line.fields.schedule === bad).length, 1)
  bench.advance(MINUTE - 1)
  await one.runOnce()
  assert.equal(t.lines.filter((line) => line.level === 'error').length, 1, 'left alone for a minute')
  await sql`update schedule set cron = '* * * * *' where slug = ${bad}`.execute(t.app.db)
  bench.advance(1)
  await one.runOnce()
  assert.deepEqual(
    (await bench.rows(bad)).map((row) => [row.due, row.state]),
    [
      ['05-01 12:00', 'skipped'],
      ['05-01 12:01', 'waiting'],
    ],
  )
})

test('a schedule that somebody is editing is passed over and fires when they are done', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const [held, free] = [await bench.schedule(), await bench.schedule()]
  await t.app.db.transaction().execute(async (tx) => {
    await sql`select 1 from schedule where slug = ${held} for no key update`.execute(tx)
    await bench.look()
    assert.equal((await bench.rows(free)).length, 1)
    assert.equal((await bench.rows(held)).length, 0)
  })
  await bench.look()
  assert.equal((await bench.rows(held)).length, 1)
})

test('while scheduling is off due times are recorded as skipped; an archived workspace has none', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slug = await bench.schedule()
  await setAccountFeature(t.system, { feature: 'scheduling', enabled: false })
  await bench.look()
  await setAccountFeature(t.system, { feature: 'scheduling', enabled: true })
  bench.advance(MINUTE)
  await bench.look()
  const rows = await bench.rows(slug)
  assert.deepEqual(
    rows.map((row) => row.state),
    ['skipped', 'waiting'],
  )
  assert.match(rows[0]!.detail, /Scheduling was switched off/)
  await sql`update workspace set archived_at = now()`.execute(t.app.db)
  bench.advance(MINUTE)
  await bench.look()
  assert.equal((await bench.rows(slug)).length, 2)
  assert.equal(await bench.dueAt(slug), null)
})

test('a clock that is set back fires nothing twice, also when the schedule is begun anew', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  const slug = await bench.schedule({ overlap: 'allow' })
  for (let minute = 0; minute < 3; minute++) {
    await bench.look()
    bench.advance(MINUTE)
  }
  bench.advance(-3 * MINUTE)
  await bench.look()
  assert.equal((await bench.rows(slug)).length, 3)
  await sql`update schedule set next_due_at = ${bench.clock.toISOString()} where slug = ${slug}`.execute(t.app.db)
  for (let minute = 0; minute < 5; minute++) {
    await bench.look()
    bench.advance(MINUTE)
  }
  const rows = await bench.rows(slug)
  assert.deepEqual(
    rows.map((row) => row.due),
    ['05-01 12:00', '05-01 12:01', '05-01 12:02', '05-01 12:03', '05-01 12:04'],
  )
  assert.ok(rows.every((row) => row.state === 'waiting'))
})

test('the loop wakes at the due time itself, not at the next full second', async () => {
  await using t = await testApp()
  const bench = await Bench.open(t)
  await bench.schedule()
  const began = performance.now()
  const start = bench.clock.getTime() - 400
  const now = async (): Promise<Date> => new Date(start + performance.now() - began)
  const running = startScheduler(t.app, { now })
  try {
    while ((await bench.rows()).length === 0 && performance.now() - began < 8000) await pause(5)
    assert.equal((await bench.rows())[0]!.due, '05-01 12:00')
    assert.ok(performance.now() - began >= 400, 'not before its time')
  } finally {
    await running.stop()
  }
})
