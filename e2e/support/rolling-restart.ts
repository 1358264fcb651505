/** Servers and workers are restarted one after the other, as for a new version, while runs are going. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, startCluster } from './cluster.ts'
import { type Line, median } from './report.ts'
import { type RetryingClient, retryingClient } from './retrying-client.ts'
import { checkRuns } from './run-checker.ts'
import { RunHistory } from './run-history.ts'
import { countOpen, takePicture } from './run-rows.ts'
import type { Exit } from './service.ts'
import { listEnded } from './write-journal.ts'

export interface RollingRestartOptions {
  readonly restarts: { readonly servers: number; readonly workers: number }
  /** Runs that are going at any time, and how long each takes. */
  readonly inFlight: number
  readonly runSeconds: number
  readonly say: (line: string) => void
}

interface Restart {
  readonly node: string
  readonly signalledAt: number
  readonly tookMs: number
  readonly exit: Exit
  /** Of a server: answers of its readiness after 100 ms that were a yes. */
  readonly readyAnswers: number
}

const SERVERS = 2
const WORKERS = 3
const zero = (n: number): boolean => n === 0

export async function rollingRestart(options: RollingRestartOptions): Promise<readonly Line[]> {
  // Two workers hold all of it while the third one waits for its runs to end.
  const slots = Math.ceil(options.inFlight / (WORKERS - 1))
  const cluster = await startCluster({ servers: SERVERS, workers: WORKERS, leaseSeconds: 30, slots })
  try {
    return await restartAll(cluster, options)
  } finally {
    await cluster.stop()
  }
}

async function restartAll(cluster: Cluster, options: RollingRestartOptions): Promise<readonly Line[]> {
  const { say } = options
  const { key, workspaceUid } = cluster.servers[0]!.process
  const client = retryingClient(
    () => cluster.servers.map(({ process }) => ({ url: process.url, key, workspaceUid })),
    20_000,
  )
  const text = `. ./witness.sh; witness start; sleep ${options.runSeconds}; echo slept; witness end`
  const slug = await cluster.schedule(cluster.environment, [text], { overlap: 'ALLOW' })
  const load = keepGoing(cluster, client, slug, options.inFlight)
  await cluster.client.until(async () => load.going() >= options.inFlight, 300_000)
  say(`${load.going()} runs are going`)

  const done: Restart[] = []
  const note = (restart: Restart): void => {
    done.push(restart)
    say(`${done.length} ${restart.node} ended after ${restart.tookMs.toFixed(0)} ms; ${load.going()} runs are going`)
  }
  await Promise.all([
    (async () => {
      for (let at = 0; at < options.restarts.servers; at++) note(await restartServer(cluster, at % SERVERS))
    })(),
    (async () => {
      for (let at = 0; at < options.restarts.workers; at++) note(await restartWorker(cluster, at % WORKERS))
    })(),
  ])
  const least = load.least()
  await load.stop()
  const ofLastServer = clientOfAny(cluster)
  await ofLastServer.until(async () => (await countOpen(cluster.database)) === 0, 120_000)
  return await linesOf(cluster, { done, client, least, options })
}

const clientOfAny = (cluster: Cluster) => cluster.servers[0]!.client

/** As many runs as wanted are always open: asked for by one careful client. */
function keepGoing(cluster: Cluster, client: RetryingClient, slug: string, wanted: number) {
  let isOver = false
  let [open, least] = [0, Number.POSITIVE_INFINITY]
  const loop = (async () => {
    let filled = false
    while (!isOver) {
      const { rows } = await cluster.database.query<{ open: number; going: number }>(
        `select count(*)::int as open, count(*) filter (where state = 'running')::int as going from run
         where ended_at is null`,
      )
      open = rows[0]!.going
      filled ||= open >= wanted
      if (filled) least = Math.min(least, open)
      const missing = wanted - rows[0]!.open
      const trigger = () => client.ask('mutation ($slug: String) { triggerBoltRun(slug: $slug) { runId } }', { slug })
      // Those that replace what ends are there before it does.
      const many = Math.max(0, missing + Math.ceil(wanted / 10))
      await Promise.all(Array.from({ length: Math.min(8, many) }, trigger))
      await client.ask('{ listBoltRuns(offset: 0, limit: 10) { ok } }')
      await pause(100)
    }
  })()
  return {
    going: () => open,
    least: () => least,
    stop: async () => {
      isOver = true
      await loop
    },
  }
}

async function restartServer(cluster: Cluster, index: number): Promise<Restart> {
  const { name, process } = cluster.servers[index]!
  const signalledAt = Date.now()
  process.signal('SIGTERM')
  let isGone = false
  void process.exited.then(() => {
    isGone = true
  })
  let readyAnswers = 0
  while (!isGone) {
    await pause(20)
    const asked = Date.now()
    const status = await fetch(`${process.url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200 && asked - signalledAt > 100) readyAnswers++
  }
  const tookMs = Date.now() - signalledAt
  const exit = await process.exited
  await cluster.restartServer(index)
  return { node: name, signalledAt, tookMs, exit, readyAnswers }
}

async function restartWorker(cluster: Cluster, index: number): Promise<Restart> {
  const { name, process } = cluster.workers[index]!
  const signalledAt = Date.now()
  process.signal('SIGTERM')
  const exit = await process.exited
  const tookMs = Date.now() - signalledAt
  await cluster.restartWorker(index)
  return { node: name, signalledAt, tookMs, exit, readyAnswers: 0 }
}

interface Outcome {
  readonly done: readonly Restart[]
  readonly client: RetryingClient
  readonly least: number
  readonly options: RollingRestartOptions
}

async function linesOf(cluster: Cluster, { done, client, least, options }: Outcome): Promise<readonly Line[]> {
  const { journal, witness } = cluster
  const ended = await listEnded(cluster.database)
  const picture = await takePicture(cluster.postgres.superuser, cluster.slugs)
  const { found } = checkRuns(new RunHistory(), picture, witness.read(), new Map())
  const signalled = new Map(done.map(({ node, signalledAt }) => [node, signalledAt]))
  const claims = (await journal.claims()).flatMap(({ node, at }) => {
    const since = signalled.get(node)
    return since === undefined || at <= since ? [] : [at - since]
  })
  const orphaned = ended.filter((run) => run.state !== 'succeeded')
  const stale = await journal.staleWrites()
  for (const run of orphaned.slice(0, 10)) options.say(`run ${run.id} ended as ${run.state}: ${run.detail}`)
  for (const one of [...client.failed, ...stale, ...found.untrue, ...found.doubleStarts].slice(0, 20)) options.say(one)
  const of = (kind: string): number[] => done.filter(({ node }) => node.startsWith(kind)).map(({ tookMs }) => tookMs)
  return [
    ['restarts', done.length, (n) => n === options.restarts.servers + options.restarts.workers],
    ['  of servers, to their end, ms, p50', median(of('server'))],
    ['    max', Math.max(...of('server'))],
    ['  of workers, to their end, ms, p50', median(of('worker'))],
    ['    max', Math.max(...of('worker'))],
    ['  that did not end with exit code 0', done.filter(({ exit }) => exit.code !== 0).length, zero],
    [
      'readiness said yes later than 100 ms after the signal',
      done.reduce((sum, one) => sum + one.readyAnswers, 0),
      zero,
    ],
    ['runs taken after the signal', claims.length],
    ['  the last after, ms', Math.max(0, ...claims), (ms) => ms <= 100],
    ['runs', ended.length],
    ['  going at the least while nodes were restarted', least],
    ['  orphaned', orphaned.length, zero],
    ['  left open', found.unfinished.length, zero],
    ['  ended twice', await journal.endedTwice(), zero],
    ['commands that began twice', found.doubleStarts.length, zero],
    ['  recorded otherwise than they were', found.untrue.length + found.unrecorded.length + found.late.length, zero],
    ['stale writes accepted', stale.length, zero],
    ['calls of a retrying client', client.calls],
    ['  tries that had to be repeated', client.retried],
    ['  failed', client.failed.length, zero],
  ]
}
