// Runs that cannot be ended, a hundred thousand of them and all older, stand in nobody's way (R24): a run whose worker is
// lost is ended at the reaper's first look, and the reaper itself stays quick.
//
//   node e2e/faults/poison.ts [--rows 100000]
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { reaper } from '../../service/src/engine/reaper.ts'
import { otherHost, testRuns } from '../../service/test/support/runs.ts'
import { startClock, summary } from '../support/report.ts'

const { values } = parseArgs({ options: { rows: { type: 'string', default: '100000' } } })
const rows = Number(values.rows)
const clock = startClock()
const r = await testRuns()
const owner = r.t.database.owner.kysely
const poison = await r.trigger(await r.schedule({ overlap: 'allow' }))
await sql`create function refuse_end() returns trigger language plpgsql as
  'begin raise exception ''this run cannot be ended''; end'`.execute(owner)
const BATCH = 5000
for (let made = 0; made < rows; made += BATCH) {
  await sql`insert into run (workspace_id, schedule_id, environment_id, cause, state, detail, actor, branch, attempt,
      worker_id, lease_until)
    select workspace_id, schedule_id, environment_id, cause, 'running', 'poison', actor, branch, 1, 'gone',
      clock_timestamp() - interval '1 hour'
    from run, generate_series(1, ${Math.min(BATCH, rows - made)}::integer) where id = ${poison}`.execute(owner)
}
await sql`create trigger refuse_end before update on run for each row when (old.detail = 'poison')
  execute function refuse_end()`.execute(owner)
await sql`analyze run`.execute(owner)

const LEASE_MS = 60_000
const monotonic = { ms: 0 }
const monotonicMs = (): number => monotonic.ms
const { runOnce } = reaper(r.t.app, { host: otherHost(), leaseMs: LEASE_MS, quietMs: 0, place: null, monotonicMs })
const lose = async (): Promise<number> => {
  const id = await r.trigger(await r.schedule())
  await sql`update run set state = 'running', attempt = 1, worker_id = 'gone',
    lease_until = clock_timestamp() - interval '1 minute' where id = ${id}`.execute(owner)
  return id
}
/** Milliseconds of a look, and whether it ended a run that was lost before. */
async function look(isFirst: boolean): Promise<{ ms: number; ended: boolean }> {
  const id = await lose()
  // The first look believes the database's clock; later on a lease is watched for as long as it lasts.
  if (!isFirst) {
    await runOnce()
    monotonic.ms += LEASE_MS
  }
  const began = performance.now()
  await runOnce()
  return { ms: performance.now() - began, ended: (await r.run(id)).state === 'failed' }
}

const looks = [await look(true), await look(false), await look(false)]
const fired = await r.trigger(await r.schedule())
const lines = [
  ['rows that cannot be ended', rows],
  ['looks that did not end the run that was lost', looks.filter((one) => !one.ended).length, (n: number) => n === 0],
  ['ms of the first look', looks[0]!.ms, (n: number) => n < 30_000],
  ['ms of a later one, longest', Math.max(...looks.slice(1).map((one) => one.ms)), (n: number) => n < 30_000],
  ['runs of other schedules that are accepted', Number(fired > 0), (n: number) => n === 1],
] as const
await r[Symbol.asyncDispose]()
summary('poisoned runs', clock, lines)
