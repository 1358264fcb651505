/**
 * Two schedulers over one database (R9, R11, R12): 500 schedules due in the same minute, twenty minutes long, with the
 * clock set forward and back in between. Every due time has one row, or lies within one row that stands for many. The
 * clock is a test clock; the database, the queue and everything that is written are real.
 */
import { sql } from 'kysely'
import { createEnvironment } from '../../service/src/app/environments.ts'
import { createSchedule } from '../../service/src/app/schedules.ts'
import { parseTimetable } from '../../service/src/domain/occurrence.ts'
import { scheduler } from '../../service/src/engine/scheduler.ts'
import { testApp } from '../../service/test/support/app.ts'
import { startClock, summary } from '../support/report.ts'

const SCHEDULES = 500
const MINUTES = 20
const MINUTE = 60_000
const JUMPS: Readonly<Record<number, number>> = {
  5: 10_000,
  8: -10_000,
  11: 60 * MINUTE,
  14: -60 * MINUTE,
  17: -1440 * MINUTE,
}

const clock = startClock()
const t = await testApp({ queue: 'real', poolSize: 10 })
const ctx = t.inside(await t.workspace())
await createEnvironment(ctx, { displayName: 'Production' })
const wanted = { name: 'First', schedule: '* * * * *', environment: 'production', commands: ['true', 'date'] }
const { slug } = await createSchedule(ctx, wanted)
const start = new Date('2031-05-01T12:00:00Z')
await sql`update schedule set next_due_at = ${start.toISOString()}`.execute(t.app.db)
await sql`insert into schedule (workspace_id, environment_id, slug, name, cron, commands, next_due_at)
  select workspace_id, environment_id, 'many-' || n, 'many', cron, commands, next_due_at
  from schedule, generate_series(2, ${SCHEDULES}) n where slug = ${slug}`.execute(t.app.db)

// The tests' own server gathers no statistics by itself.
const analyze = () => sql`analyze`.execute(t.database.owner.kysely)
await analyze()

let now = new Date(start)
let furthest = now
const both = [1, 2].map(() => scheduler(t.app, { now: async () => now }))
const lateness: number[] = []
for (let minute = 0; minute < MINUTES; minute++) {
  now = new Date(now.getTime() + (JUMPS[minute] ?? 0))
  if (now > furthest) furthest = now
  const { rows } = await sql<{ began: string; last: number }>`select clock_timestamp()::text as began,
      coalesce(max(id), 0) as last from run`.execute(t.app.db)
  const { began, last } = rows[0]!
  await Promise.all(both.map((one) => one.runOnce()))
  await Promise.all(both.map((one) => one.runOnce()))
  const made = await sql<{ late: number }>`select extract(epoch from accepted_at - ${began}::timestamptz)::float8 * 1000
    as late from run where id > ${last} and state <> 'skipped'`.execute(t.app.db)
  // The first minute also warms everything up, and after a jump whole hours are recorded.
  if (minute > 0 && JUMPS[minute] === undefined) lateness.push(...made.rows.map((row) => row.late))
  await analyze()
  // Every other minute the runs of the minute are still going: the next time waits, the one after is skipped.
  if (minute % 2 === 1)
    await sql`update run set state = 'succeeded', ended_at = now() where state = 'waiting'`.execute(t.app.db)
  now = new Date(now.getTime() + MINUTE)
}

const expected = parseTimetable('* * * * *', 'UTC').count(new Date(start.getTime() - 1), furthest)
const { rows: found } = await sql<{ doubled: number; rows: number; wrong: number; jobs: number; released: number }>`
  with each as (
    select s.id, count(r.id)::int as rows, count(r.id) - count(distinct r.due_at) as doubled,
      coalesce(sum(coalesce(r.skipped_count, 1)), 0)::int as times
    from schedule s left join run r on r.schedule_id = s.id group by s.id)
  select sum(doubled)::int as doubled, sum(rows)::int as rows,
    count(*) filter (where times <> ${expected})::int as wrong,
    (select count(*)::int from pgboss.job where name = 'run') as jobs,
    (select count(*)::int from run where released_at is not null) as released
  from each`.execute(t.database.owner.kysely)
await t.close()

const part = (share: number): number =>
  lateness.toSorted((a, b) => a - b)[Math.min(lateness.length - 1, Math.floor(lateness.length * share))] ?? Number.NaN
const { doubled, rows, wrong, jobs, released } = found[0]!
summary('due times with two schedulers', clock, [
  ['schedules', SCHEDULES],
  ['due times of each', expected],
  ['rows of all', rows, (n) => n >= 10_000],
  ['  doubled', doubled, (n) => n === 0],
  ['schedules with a time lost, or counted twice', wrong, (n) => n === 0],
  ['runs with their turn and without a job, or with two', Math.abs(released - jobs), (n) => n === 0],
  ['from the minute to the row, half of all, ms', part(0.5), (ms) => ms <= 200],
  ['  99 %, ms', part(0.99), (ms) => ms <= 1000],
  ['  the last, ms', part(1), (ms) => ms <= 2000],
])
