// kill -9 of the embedded postmaster under a load of mutations, ten times, and a stop of all its processes for five
// seconds: the service says 503, never 500, and at once; it brings the database back by itself; nothing that was
// acknowledged is lost.
//
//   node e2e/faults/database-killed.ts [--kills 10] [--seed N]
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { check, faultsIn } from '../support/checker.ts'
import { History } from '../support/history.ts'
import { startLoad, Target } from '../support/load.ts'
import { clusterOf, Holdings, ownerOf, postgresProcesses } from '../support/postgres.ts'
import { seeded } from '../support/random.ts'
import { median, startClock, summary } from '../support/report.ts'
import { graphql, startProcess } from '../support/service.ts'
import { countServers, ENVIRONMENT, leftBehind, prepare, until } from '../support/storm.ts'

const { values } = parseArgs({ options: { kills: { type: 'string', default: '10' }, seed: { type: 'string' } } })
const kills = Number(values.kills)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed)
const random = seeded(seed)
const clock = startClock()
console.log(`the database is killed, seed ${seed}`)

const service = await startProcess({ env: ENVIRONMENT })
const { dataFolder } = service
const cluster = clusterOf(dataFolder)
const { workers, auditStart } = await prepare(service, ownerOf(dataFolder), 16)
const history = new History()
const target = new Target()
const holdings = new Holdings()
const faults: string[] = []
let acknowledged = 0
let lastAcknowledged = 0
const load = startLoad({
  workers,
  target,
  history,
  random,
  onAcknowledged: () => {
    acknowledged++
    lastAcknowledged = performance.now()
  },
})
target.open(service)

interface Seen {
  readonly at: number
  readonly status: number
  readonly ms: number
}

/** Beside the load, one reader after the other in four lines: what it is told, and after how long. */
const seen: Seen[] = []
let probing = true
const probes = Array.from({ length: 4 }, async () => {
  while (probing) {
    const at = performance.now()
    const status = await graphql(service.url, service.key, '{ listWorkspaces { ok } }').then(
      (answer) => answer.status,
      () => 0,
    )
    seen.push({ at, status, ms: performance.now() - at })
    await pause(20)
  }
})

const recovery: number[] = []
const down: Seen[] = []
for (let round = 1; round <= kills && faults.length === 0; round++) {
  const goal = acknowledged + random.between(30, 150)
  await until(() => acknowledged >= goal, 'acknowledged mutations')
  holdings.note(cluster)
  const { pid } = postgresProcesses(cluster).find(({ postmaster }) => postmaster)!
  const from = performance.now()
  process.kill(pid, 'SIGKILL')
  await until(() => postgresProcesses(cluster).some((one) => one.postmaster && one.pid !== pid), 'another server')
  const back = performance.now()
  await until(() => lastAcknowledged > back, 'an acknowledged mutation')
  recovery.push(lastAcknowledged - from)
  down.push(...seen.filter(({ at }) => at >= from && at <= lastAcknowledged))
  target.close()
  await load.idle()
  const found = await check({ connection: ownerOf(dataFolder), dataFolder, auditStart }, history)
  faults.push(
    ...faultsIn(found),
    ...history.surprises,
    ...history.repeatedDifferently,
    ...countServers(dataFolder, false),
  )
  const ms = (recovery.at(-1) ?? 0).toFixed(0)
  console.log(`  ${round}/${kills} killed, serving again after ${ms} ms, acknowledged ${acknowledged}`)
  target.open(service)
}

// All of it stands still: connections stay open and nobody answers on them.
const STILL_MS = 5_000
const goal = acknowledged + 100
await until(() => acknowledged >= goal, 'acknowledged mutations')
holdings.note(cluster)
const still = postgresProcesses(cluster).map(({ pid }) => pid)
const stopped = performance.now()
for (const pid of still) process.kill(pid, 'SIGSTOP')
await pause(STILL_MS)
for (const pid of still) process.kill(pid, 'SIGCONT')
const woken = performance.now()
await until(() => lastAcknowledged > woken, 'an acknowledged mutation')
const recoveryAfterStop = lastAcknowledged - woken
const afterStop = acknowledged + 100
await until(() => acknowledged >= afterStop, 'acknowledged mutations')
probing = false
await Promise.all(probes)
await load.stop()
target.close()

const last = await check({ connection: ownerOf(dataFolder), dataFolder, auditStart }, history)
faults.push(...faultsIn(last), ...history.surprises, ...history.repeatedDifferently, ...countServers(dataFolder, false))
holdings.note(cluster)
const { code } = await service.stop()
if (code !== 0) faults.push(`the last stop ended with exit code ${code}`)
faults.push(...leftBehind(dataFolder, holdings))

const refusals = down.filter(({ status }) => status === 503).map(({ ms }) => ms)
const during = seen.filter(({ at }) => at >= stopped && at <= woken)
const of = (list: readonly Seen[], status: number): number => list.filter((one) => one.status === status).length
summary('the database is killed, and stands still', clock, [
  ['kills of the postmaster', recovery.length, (n) => n === kills],
  ['acknowledged mutations', history.count('ok')],
  ['  of unknown outcome at the end', history.count('unknown')],
  ['    of which have happened', last.unknownDone],
  ['lost', last.lost.length, (n) => n === 0],
  ['doubled', last.doubled.length, (n) => n === 0],
  ['faults in the audit chain', last.chain.length, (n) => n === 0],
  ['reads while it was gone, answered 200', of(down, 200)],
  ['  answered 503', refusals.length, (n) => n > 0],
  ['    after ms, p50', median(refusals)],
  ['    after ms, max', Math.max(...refusals), (n) => n <= 2_000],
  ['  not answered', of(down, 0), (n) => n === 0],
  [
    'all reads answered neither 200 nor 503',
    seen.filter(({ status }) => ![200, 503].includes(status)).length,
    (n) => n === 0,
  ],
  ['kill to next acknowledged mutation, ms, p50', median(recovery)],
  ['kill to next acknowledged mutation, ms, max', Math.max(...recovery), (n) => n <= 5_000],
  [`reads begun in ${STILL_MS / 1000} s of standstill, answered 200`, of(during, 200)],
  ['  answered 503', of(during, 503)],
  ['  longest wait, ms', Math.max(0, ...during.map(({ ms }) => ms))],
  ['end of it to next acknowledged mutation, ms', recoveryAfterStop, (n) => n <= 5_000],
  ['all faults', faults.length, (n) => n === 0],
])
for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`)
