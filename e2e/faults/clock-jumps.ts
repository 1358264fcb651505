/**
 * The wall clock jumps under a whole deployment (R12): PostgreSQL, a server and a worker run with libfaketime, whose
 * offset is changed by ±10 s, ±1 h and −1 day while the monotonic clock goes on. No due time is doubled or lost, a run
 * whose worker is alive goes on through all of it, and the lease of a worker that has stopped lasts as long as ever.
 *
 *   node e2e/faults/clock-jumps.ts [path of libfaketime]
 *
 * Without libfaketime (the package `faketime` of most systems) it says so and proves nothing; the same jumps with clocks
 * that are passed in are in service/src/engine/lease-watch.test.ts, service/src/domain/due.test.ts and e2e/faults/ticks.ts.
 */
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseTimetable } from '../../service/src/domain/occurrence.ts'
import { externalPostgres } from '../support/external-postgres.ts'
import { lookInto } from '../support/postgres.ts'
import { type Line, startClock, summary } from '../support/report.ts'
import { clientOf, makeRepository } from '../support/runs.ts'
import { launch, startProcess, temporaryFolder } from '../support/service.ts'

const LEASE_SECONDS = 10
const SCHEDULES = 3
const JUMPS: readonly (readonly [name: string, seconds: number])[] = [
  ['+10 s', 10],
  ['-10 s', -10],
  ['+1 h', 3600],
  ['-1 h', -3600],
  ['-1 day', -86_400],
]

const [library] =
  process.argv[2] === undefined
    ? globSync(['/usr/lib/*/faketime/libfaketimeMT.so.1', '/usr/{lib64,local/lib}/faketime/libfaketimeMT.so.1'])
    : [process.argv[2]]
if (library === undefined) {
  console.log('libfaketime is not on this machine, so the clock was not set: install the package faketime.')
  process.exit(0)
}

const clock = startClock()
const file = join(await temporaryFolder('clock'), 'offset')
let offset = 0
const jump = (seconds: number): void => {
  offset += seconds
  writeFileSync(file, `${offset < 0 ? '' : '+'}${offset}\n`, { mode: 0o644 })
}
jump(0)
const faked = {
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_CACHE_DURATION: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
}

const postgres = await externalPostgres(undefined, {}, faked)
const shared = {
  ...faked,
  DATABASE_URL: postgres.url,
  YARDMASTER_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  YARDMASTER_BLOBS_FOLDER: join(await temporaryFolder('blobs'), 'blobs'),
  YARDMASTER_WORKER_LEASE_SECONDS: String(LEASE_SECONDS),
}
const service = await startProcess({ env: { ...shared, YARDMASTER_WORKER_LABELS: 'home' } })
const client = clientOf(service)
const worker = await launch({ env: shared, args: ['worker', '--slots', '2', '--labels', 'apart'] })
await client.until(async () => /is taking runs/.test(worker.stdout()))
const database = await lookInto(postgres.superuser)

const repository = await makeRepository({ 'one.txt': '1\n' })
// Each worker has its own: the one that is stopped has nothing else under way.
const environment = await client.environment(repository, { workerLabels: ['home'] })
const apart = await client.schedule(await client.environment(repository, { workerLabels: ['apart'] }), ['sleep 600'])
const long = await client.trigger(await client.schedule(environment, ['sleep 600']))
const timed = await Promise.all(
  Array.from({ length: SCHEDULES }, () => client.schedule(environment, ['true'], { schedule: '* * * * *' })),
)
const { rows: first }: { rows: { due: Date }[] } = await database.query(
  `select min(next_due_at) as due from schedule where slug = any($1)`,
  [timed],
)

const stateOf = async (runId: number): Promise<{ state: string; phase: string; detail: string }> => {
  const { run } = await client.ask('query ($id: Int!) { boltRun(runId: $id) { run { state phase detail } } }', {
    id: runId,
  })
  return run
}
const lines: Line[] = []
for (const [name, seconds] of JUMPS) {
  const runId = await client.trigger(apart)
  await client.until(async () => (await stateOf(runId)).phase === 'RUNNING')
  // Nothing renews the lease from here on, and then the clock jumps.
  worker.signal('SIGSTOP')
  const stopped = performance.now()
  jump(seconds)
  await client.until(async () => (await stateOf(runId)).state !== 'RUNNING', 120_000)
  const lasted = (performance.now() - stopped) / 1000
  worker.signal('SIGCONT')
  const { state } = await stateOf(runId)
  const going = await stateOf(long)
  console.log(`${name}: the lease lasted ${lasted.toFixed(1)} s, ${state}; the other run is ${going.state}`)
  // The last renewal may be as old as a beat, the look of the reaper as late as two seconds.
  lines.push([
    `${name}: lease of ${LEASE_SECONDS} s after the worker stopped, s`,
    state === 'FAILED' ? lasted : Number.NaN,
    (s) => s >= LEASE_SECONDS - 2 && s <= LEASE_SECONDS + 5,
  ])
  lines.push([`${name}: runs ended although their worker is alive`, Number(going.state !== 'RUNNING'), (n) => n === 0])
}
// Forward again, past everything that was: what is due now is new.
jump(3600 + 180 - offset)
await pause(5000)

const { rows: nows }: { rows: { now: Date }[] } = await database.query('select clock_timestamp() as now')
const furthest = nows[0]!.now
await client.until(async () => {
  const { rows } = await database.query('select 1 from schedule where next_due_at <= $1', [furthest])
  return rows.length === 0
}, 30_000)
const expected = parseTimetable('* * * * *', 'UTC').count(new Date(first[0]!.due.getTime() - 1), furthest)
const { rows: found }: { rows: { times: number; doubled: number }[] } = await database.query(
  `select sum(coalesce(skipped_count, 1))::int as times, (count(*) - count(distinct due_at))::int as doubled
   from run r join schedule s on s.id = r.schedule_id where s.slug = any($1) and r.due_at <= $2 group by s.id`,
  [timed, furthest],
)
await database.end()
worker.signal('SIGKILL')
await worker.exited
await service.kill9()
await postgres.stop()
// What libfaketime leaves of processes that are gone.
for (const left of globSync('/dev/shm/{faketime_shm,sem.faketime_sem}_*')) {
  if (!existsSync(`/proc/${left.split('_').at(-1)}`)) rmSync(left, { force: true })
}

summary('a wall clock that jumps', clock, [
  ...lines,
  ['schedules', found.length, (count) => count === SCHEDULES],
  ['due times of each', expected, (count) => count >= 60],
  ['  doubled', found.reduce((sum, one) => sum + one.doubled, 0), (count) => count === 0],
  [
    'schedules with a time lost, or counted twice',
    found.filter((one) => one.times !== expected).length,
    (n) => n === 0,
  ],
])
process.exit()
