/**
 * Two servers and three workers on one PostgreSQL, while thousands of times come due: one worker is killed, one is
 * stopped for three leases, one is cut off from the database. Then everything is counted, and everything that runs left
 * is read through each server.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, type ClusterWorker, startCluster } from './cluster.ts'
import { type DueKind, foretold, makeDueTimes } from './due-times.ts'
import { type Hostages, hostageSchedules, processesOf, takeHostages } from './hostages.ts'
import { seeded } from './random.ts'
import { type ReadBack, readBack } from './read-back.ts'
import type { Line } from './report.ts'
import { checkRuns } from './run-checker.ts'
import { RunHistory } from './run-history.ts'
import { countOpen, takePicture } from './run-rows.ts'
import { type Ended, leasesOf, listEnded } from './write-journal.ts'

export interface ClusterStormOptions {
  readonly seed: number
  readonly leaseSeconds: number
  /** For how many leases a worker is stopped; three unless told otherwise. */
  readonly stopLeases?: number
  readonly kinds: readonly DueKind[]
  /** How long the due times are spread over. */
  readonly overMs: number
  readonly say?: (line: string) => void
  /** The `main.ts` of another build. */
  readonly entry?: string
}

const LONGEST_DRAIN_MS = 240_000
const zero = (n: number): boolean => n === 0

export async function clusterStorm(options: ClusterStormOptions): Promise<readonly Line[]> {
  const { leaseSeconds, entry } = options
  const build = entry === undefined ? {} : { entry }
  const cluster = await startCluster({ servers: 2, workers: 3, leaseSeconds, slots: 4, ...build })
  try {
    return await storm(cluster, options)
  } finally {
    await cluster.stop()
  }
}

async function storm(cluster: Cluster, options: ClusterStormOptions): Promise<readonly Line[]> {
  const say = options.say ?? (() => {})
  const random = seeded(options.seed)
  const { client, database } = cluster
  const leaseMs = options.leaseSeconds * 1000
  const due = await makeDueTimes(cluster, options.kinds)
  say(`${due.count} due times are ready`)
  const hostagesOf = async (worker: ClusterWorker) =>
    await takeHostages(cluster, await hostageSchedules(cluster, worker))
  const held = await Promise.all(cluster.workers.map(hostagesOf))
  const [killed, paused, cut] = cluster.workers.map((worker, at) => ({ worker, hostages: held[at]! })) as [
    Victim,
    Victim,
    Victim,
  ]
  say('every worker has its runs')
  const releasing = due.release(random, options.overMs)
  await pause(random.between(200, 1500))
  const faults = Promise.all([
    kill(killed),
    pauseFor(paused, leaseMs * (options.stopLeases ?? 3)),
    cutOff(cluster, cut, leaseMs * 2),
  ])
  const [goneAfterKill, goneAfterPause, goneAfterCut] = await faults
  say('the faults are over')
  await releasing
  await client.until(due.considered, 60_000)
  const drained = client.until(async () => (await countOpen(database)) === 0, LONGEST_DRAIN_MS)
  await drained.catch(() => say('runs are still open'))

  // Those that came back take runs again.
  const again = await Promise.all([paused, cut].map(({ worker }) => runsAgain(cluster, worker)))
  say('everything has ended; reading it back')
  const [times, ended, picture, stale, twice, firedBy] = [
    await due.check(),
    await listEnded(database),
    await takePicture(cluster.postgres.superuser, cluster.slugs),
    await cluster.journal.staleWrites(),
    await cluster.journal.endedTwice(),
    await cluster.journal.firedBy(),
  ]
  for (const one of stale.slice(0, 20)) say(`stale: ${one}`)
  const witness = cluster.witness.read()
  const { found } = checkRuns(new RunHistory(), picture, witness, new Map())
  for (const one of [...found.doubleStarts, ...found.unrecorded, ...found.untrue, ...found.torn]) say(one)

  const victims = new Map([killed, paused, cut].map((victim) => [victim.worker.id, victim]))
  const failed = ended.filter((run) => run.state !== 'succeeded')
  const innocent = failed.filter((run) => !isWithin(victims.get(run.workerId), run.endedAt))
  for (const run of innocent) say(`run ${run.id} is ${run.state} without a fault: ${run.detail}`)
  const failedIds = new Set(failed.map((run) => run.id))
  const heldOnes = held.flatMap((hostages) => hostages.runIds)
  const ofWorker = (victim: Victim): Ended[] => failed.filter((run) => run.workerId === victim.worker.id)
  const endedAfterLease = [...ofWorker(paused), ...ofWorker(cut)].map((run) => run.endedAt - run.leaseUntil)
  const endedAfterKill = ofWorker(killed).map((run) => run.endedAt - killed.at!)
  const leaseEnds = goneAfterCut.leaseEnds
  const firstLease = Math.min(...leaseEnds.values())
  const lateLines = witness.lines.filter((line) => line.at * 1000 > (leaseEnds.get(line.run) ?? Infinity))

  const succeeded = ended.filter((run) => run.state === 'succeeded').map((run) => run.id)
  const ofTicks = new Set(picture.runs.filter((run) => run.dueAt !== null && run.reason === '').map((run) => run.id))
  const read = await readBack({
    runIds: ended.map((run) => run.id),
    clients: cluster.servers.map((server) => server.client),
    searchFor: (runId) => `run ${runId}`,
    judge: (runId, last) => {
      if (!succeeded.includes(runId) || !ofTicks.has(runId) || !isTick(witness.lines, runId)) return ''
      const want = foretold(runId)
      if (last.stdout !== want.stdout || last.stderr !== want.stderr) return 'its output is another'
      return last.files.get('made.txt') === want.file ? '' : 'its file is another'
    },
  })
  for (const one of [...read.different, ...read.wrong].slice(0, 20)) say(one)

  const fired = (name: string): number => firedBy.get(name) ?? 0
  const most = (numbers: readonly number[]): number => Math.max(0, ...numbers)
  const lines: Line[] = [
    ['due times', due.count],
    ['  rows made of them', times.rows],
    ['    by the first server', fired('server-1'), (n) => n > 0],
    ['    by the second server', fired('server-2'), (n) => n > 0],
    ['  lost', times.lost, zero],
    ['  doubled', times.doubled, zero],
    ['  rows for times that were not due', times.strange, zero],
    ['runs that are no skips', ended.length],
    ['  left open', found.unfinished.length, zero],
    ['  that succeeded', succeeded.length],
    ['  failed with their worker', failed.length - innocent.length],
    ['    held by it, and not failed', heldOnes.filter((id) => !failedIds.has(id)).length, zero],
    ['    without a reason', failed.filter((run) => run.state !== 'failed' || run.detail === '').length, zero],
    ['  failed without a fault', innocent.length, zero],
    ['  ended twice', twice, zero],
    ['commands that began, by their own witness', new Set(witness.lines.map((line) => line.command)).size],
    ['  more than once', found.doubleStarts.length, zero],
    ['  without a record of it', found.unrecorded.length, zero],
    ['  recorded otherwise than it was', found.untrue.length, zero],
    ['ends without one audit record', found.torn.length, zero],
    ['stale writes accepted', stale.length, zero],
    ['killed: its processes gone after, ms', goneAfterKill - killed.at!, (ms) => ms <= 5000],
    ['  its runs ended after, ms, max', most(endedAfterKill), (ms) => ms <= leaseMs + 5000],
    ['stopped for leases: its processes gone after it went on, ms', goneAfterPause - paused.at!, (n) => n <= 2000],
    ['cut off: its processes gone before the end of its leases, ms', firstLease - goneAfterCut.at, (ms) => ms >= 0],
    ['  lines of its commands after that', lateLines.length, zero],
    ['stopped or cut off: runs ended after the end of their leases, ms, max', most(endedAfterLease), (n) => n <= 5000],
    ['came back and took runs', again.filter((state) => state === 'SUCCESS').length, (n) => n === 2],
    [
      'processes of runs left',
      processesOf(
        cluster,
        ended.map((run) => run.id),
      ).length,
      zero,
    ],
    ...readLines(read),
  ]
  return lines
}

const isTick = (lines: readonly { readonly run: number; readonly word: string }[], runId: number): boolean =>
  lines.some((line) => line.run === runId && line.word === 'end')

const readLines = (read: ReadBack): Line[] => [
  ['logs read through each server', read.logs / 2],
  ['files', read.files / 2],
  ['searches', read.searches / 2],
  ['  bytes in all', read.bytes],
  ['  different between the servers', read.different.length, zero],
  ['  different from what was written', read.wrong.length, zero],
]

interface Victim {
  readonly worker: ClusterWorker
  readonly hostages: Hostages
  /** When it was killed, stopped or cut off, and when it went on. */
  from?: number
  at?: number
}

const AFTERMATH_MS = 10_000

/** Whether something that ended then may have ended by what was done to the worker. */
const isWithin = (victim: Victim | undefined, endedAt: number): boolean =>
  victim?.from !== undefined && endedAt >= victim.from && endedAt <= victim.at! + AFTERMATH_MS

const never = (): never => {
  throw new Error('processes of a lost worker are still alive after a minute')
}

async function kill(victim: Victim): Promise<number> {
  victim.at = victim.from = Date.now()
  victim.worker.process.signal('SIGKILL')
  return (await victim.hostages.gone(60_000)) ?? never()
}

async function pauseFor(victim: Victim, ms: number): Promise<number> {
  victim.from = Date.now()
  victim.worker.process.signal('SIGSTOP')
  await pause(ms)
  victim.at = Date.now()
  victim.worker.process.signal('SIGCONT')
  return (await victim.hostages.gone(60_000)) ?? never()
}

async function cutOff(cluster: Cluster, victim: Victim, ms: number) {
  victim.from = Date.now()
  victim.worker.relay.hold()
  const gone = victim.hostages.gone(60_000)
  await pause(ms)
  const leaseEnds = await leasesOf(cluster.database, victim.hostages.runIds)
  victim.at = Date.now()
  victim.worker.relay.goOn()
  return { at: (await gone) ?? never(), leaseEnds }
}

async function runsAgain({ client, schedule }: Cluster, worker: ClusterWorker): Promise<string> {
  const slug = await schedule(worker.environment, ['. ./witness.sh; witness start; witness end'])
  return (await client.ended(await client.trigger(slug), 60_000)).state
}
