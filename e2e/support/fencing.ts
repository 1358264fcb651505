/** Rounds in which a worker is stopped for three leases or cut off from the database, and what became of its runs. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, type ClusterWorker, startCluster } from './cluster.ts'
import { hostageSchedules, STUBBORN, takeHostages } from './hostages.ts'
import { type Random, seeded } from './random.ts'
import { type Line, median } from './report.ts'
import { checkRuns } from './run-checker.ts'
import { RunHistory } from './run-history.ts'
import { countOpen, takePicture } from './run-rows.ts'
import { type Ended, leasesOf, listEnded } from './write-journal.ts'

export interface FencingOptions {
  readonly seed: number
  readonly rounds: number
  readonly leaseSeconds: number
  readonly say: (line: string) => void
}

type Fault = 'stopped' | 'cut off'

interface Round {
  readonly fault: Fault
  /** Those that had not ended when it began. */
  readonly runIds: readonly number[]
  /** Milliseconds since 1970; null when processes were left. */
  readonly goneAt: number | null
  /** When the worker went on, or was let through again. */
  readonly backAt: number
  /** While it was cut off. */
  readonly leaseEnds: ReadonlyMap<number, number>
  readonly worksAgain: boolean
}

/** Workers of which each has its own rounds, beside each other. */
const WORKERS = 2
const SLOTS = 8
const zero = (n: number): boolean => n === 0

// Beside the stubborn ones: short commands one after the other, so that a fault meets runs that are being taken, begun
// and ended, and one that would end while nobody holds it any more.
const BRIEF = 'seq 50; echo made > made.txt; sleep 0.1'
const LATE = 'sleep 4; echo late'

export async function fencingRounds(options: FencingOptions): Promise<readonly Line[]> {
  const { leaseSeconds } = options
  const cluster = await startCluster({ servers: 1, workers: WORKERS, leaseSeconds, slots: SLOTS })
  try {
    const rounds = await Promise.all(cluster.workers.map((worker, at) => roundsOf(cluster, worker, at, options)))
    await cluster.client.until(async () => (await countOpen(cluster.database)) === 0, 60_000)
    return await linesOf(cluster, rounds.flat())
  } finally {
    await cluster.stop()
  }
}

async function roundsOf(
  cluster: Cluster,
  worker: ClusterWorker,
  at: number,
  { seed, rounds, leaseSeconds, say }: FencingOptions,
): Promise<Round[]> {
  const random = seeded(seed + at)
  const held = await hostageSchedules(cluster, worker, [...STUBBORN, LATE])
  const [brief = ''] = await hostageSchedules(cluster, worker, [BRIEF])
  const done: Round[] = []
  for (let round = at; round < rounds; round += WORKERS) {
    // Each worker has the one and the other in turn.
    const fault: Fault = done.length % 2 === 0 ? 'stopped' : 'cut off'
    done.push(await oneRound(cluster, worker, { fault, held, brief, random, leaseMs: leaseSeconds * 1000 }))
    const { goneAt, backAt, worksAgain } = done.at(-1)!
    const when = goneAt === null ? 'NOT GONE' : `gone ${(goneAt - backAt).toFixed(0)} ms after it went on`
    say(`${round + 1}/${rounds} ${worker.name} ${fault}: ${when}${worksAgain ? '' : ', TAKES NOTHING'}`)
  }
  return done
}

interface OneRound {
  readonly fault: Fault
  /** Slugs of what is held, and of what comes and goes. */
  readonly held: readonly string[]
  readonly brief: string
  readonly random: Random
  readonly leaseMs: number
}

async function oneRound(cluster: Cluster, worker: ClusterWorker, round: OneRound): Promise<Round> {
  const { client } = cluster
  const { fault, random, leaseMs } = round
  const hostages = await takeHostages(cluster, round.held)
  const brief = await Promise.all(Array.from({ length: 6 }, () => client.trigger(round.brief)))
  await pause(random.between(0, 800))
  const from = Date.now()
  let backAt: number
  let leaseEnds: ReadonlyMap<number, number> = new Map()
  const gone = hostages.gone(leaseMs * 3 + 30_000)
  if (fault === 'stopped') {
    worker.process.signal('SIGSTOP')
    await pause(leaseMs * 3)
    backAt = Date.now()
    worker.process.signal('SIGCONT')
  } else {
    worker.relay.hold()
    await pause(leaseMs * (1.5 + random.next()))
    leaseEnds = await leasesOf(cluster.database, hostages.runIds)
    backAt = Date.now()
    worker.relay.goOn()
  }
  const goneAt = await gone
  const next = await client.trigger(round.brief)
  const { state } = await client.ended(next, 60_000)
  await Promise.all(brief.map((id) => client.ended(id, 60_000)))
  const ended = new Map((await listEnded(cluster.database)).map((run) => [run.id, run.endedAt]))
  const runIds = hostages.runIds.filter((id) => ended.get(id)! >= from)
  return { fault, runIds, goneAt, backAt, leaseEnds, worksAgain: state === 'SUCCESS' }
}

async function linesOf(cluster: Cluster, rounds: readonly Round[]): Promise<readonly Line[]> {
  const { database, journal, witness } = cluster
  const stale = await journal.staleWrites()
  for (const one of stale.slice(0, 20)) console.log(`  stale: ${one}`)
  const ended = new Map((await listEnded(database)).map((run) => [run.id, run]))
  const picture = await takePicture(cluster.postgres.superuser, cluster.slugs)
  const lines = witness.read()
  const { found } = checkRuns(new RunHistory(), picture, lines, new Map())
  for (const one of [...found.doubleStarts, ...found.unrecorded, ...found.untrue]) console.log(`  ${one}`)
  const of = (fault: Fault): readonly Round[] => rounds.filter((round) => round.fault === fault)
  const runsOf = (some: readonly Round[]): Ended[] => some.flatMap((one) => one.runIds.map((id) => ended.get(id)!))
  const held = runsOf(rounds)
  const cut = of('cut off')
  const afterContinue = of('stopped').map(({ goneAt, backAt }) => Math.max(0, (goneAt ?? Infinity) - backAt))
  const beforeLeaseEnd = cut.map((round) => Math.min(...round.leaseEnds.values()) - (round.goneAt ?? Infinity))
  const leases = new Map(cut.flatMap((round) => [...round.leaseEnds]))
  const late = lines.lines.filter((line) => line.at * 1000 > (leases.get(line.run) ?? Infinity))
  return [
    ['rounds in which a worker was stopped', of('stopped').length],
    ['  its processes gone after it went on, ms, p50', median(afterContinue)],
    ['    max', Math.max(0, ...afterContinue), (ms) => ms <= 2000],
    ['rounds in which it was cut off', cut.length],
    ['  its processes gone before its leases ended, ms, p50', median(beforeLeaseEnd)],
    ['    min', Math.min(...beforeLeaseEnd), (ms) => ms >= 0],
    ['  lines of their commands after that', late.length, zero],
    ['rounds with processes left', rounds.filter((round) => round.goneAt === null).length, zero],
    ['rounds after which it took no run', rounds.filter((round) => !round.worksAgain).length, zero],
    ['runs that it held', held.length],
    // One that came to its end before anybody took it away may say so later; its witness is asked below.
    ['  that succeeded all the same', held.filter((run) => run.state === 'succeeded').length],
    ['  that ended otherwise than as failed with a reason', held.filter((run) => !isTold(run)).length, zero],
    [
      '  ended after the end of their leases, ms, max',
      Math.max(...held.map((run) => run.endedAt - run.leaseUntil)),
      soon,
    ],
    ['all runs', picture.runs.length],
    ['  left open', found.unfinished.length, zero],
    ['  ended twice', await journal.endedTwice(), zero],
    ['commands that began twice', found.doubleStarts.length, zero],
    ['  recorded otherwise than they were', found.untrue.length + found.unrecorded.length, zero],
    ['stale writes accepted', stale.length, zero],
  ]
}

const soon = (ms: number): boolean => ms <= 5000
const isTold = ({ state, detail }: Ended): boolean =>
  state === 'succeeded' || (state === 'failed' && ['its worker was lost', 'control plane lost'].includes(detail))
