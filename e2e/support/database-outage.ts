/** What becomes of runs whose database is away: for less than their lease, and for longer. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Cluster, startCluster } from './cluster.ts'
import { type Hostages, hostageSchedules, takeHostages } from './hostages.ts'
import { type Line, median } from './report.ts'
import { type RetryingClient, retryingClient } from './retrying-client.ts'
import { checkRuns } from './run-checker.ts'
import { RunHistory } from './run-history.ts'
import { countOpen, takePicture } from './run-rows.ts'
import { leasesOf, listEnded } from './write-journal.ts'

export interface OutageOptions {
  /** What to wait for before each kill. */
  readonly kills: readonly (() => Promise<void>)[]
  readonly stopSeconds: number
  readonly say: (line: string) => void
}

const zero = (n: number): boolean => n === 0
const TRIGGER = 'mutation ($slug: String) { triggerBoltRun(slug: $slug) { runId } }'
const CANCEL = 'mutation ($id: Int!) { cancelBoltRun(scheduleRunId: $id) { ok } }'
const BRIEF = 'seq 20; echo made > made.txt; sleep 0.2'

const carefulClient = (cluster: Cluster): RetryingClient => {
  const { url, key, workspaceUid } = cluster.servers[0]!.process
  return retryingClient(() => [{ url, key, workspaceUid }], 90_000)
}

export async function runsThroughOutages({ kills, stopSeconds, say }: OutageOptions): Promise<readonly Line[]> {
  const cluster = await startCluster({ servers: 1, workers: 1, leaseSeconds: 60, slots: 8 })
  try {
    const { postgres } = cluster
    const [worker] = cluster.workers
    const client = carefulClient(cluster)
    const hostages = await takeHostages(cluster, await hostageSchedules(cluster, worker!))
    const [brief = ''] = await hostageSchedules(cluster, worker!, [BRIEF])
    const load = keepTriggering(client, brief)
    const recovery: number[] = []
    const recovered = async (): Promise<void> => {
      const back = performance.now()
      const answers = load.acknowledged()
      await cluster.client.until(async () => load.acknowledged() > answers, 60_000)
      recovery.push(performance.now() - back)
      await cluster.reconnect()
    }
    for (const [at, wait] of kills.entries()) {
      await wait()
      await postgres.kill9()
      await postgres.start()
      await recovered()
      say(`${at + 1}/${kills.length} killed; a call was answered ${recovery.at(-1)!.toFixed(0)} ms after it was back`)
    }
    const killed = kills.length === 0 ? 0 : Math.max(...recovery)
    await postgres.halt()
    const inTime = hostages.gone(stopSeconds * 1000)
    await pause(stopSeconds * 1000)
    const diedMeanwhile = await inTime
    await postgres.start()
    await recovered()
    say(`stopped for ${stopSeconds} s; a call was answered ${recovery.at(-1)!.toFixed(0)} ms after it was back`)
    await load.stop()
    const alive = hostages.alive()
    for (const id of hostages.runIds) await client.ask(CANCEL, { id })
    await cluster.client.until(async () => (await countOpen(cluster.database)) === 0, 60_000)

    const holes = await holesIn(cluster, hostages)
    const picture = await takePicture(postgres.superuser, cluster.slugs)
    const { found } = checkRuns(new RunHistory(), picture, cluster.witness.read(), new Map())
    const briefs = picture.runs.filter((run) => run.slug === brief)
    const failed = briefs.filter((run) => run.state !== 'succeeded')
    for (const run of failed.slice(0, 10)) say(`run ${run.id} ended as ${run.state}: ${run.detail}`)
    for (const one of [...client.failed, ...found.untrue, ...found.doubleStarts, ...holes].slice(0, 20)) say(one)
    const odd = [...client.statuses].filter(([status]) => ![0, 200, 503].includes(status))
    return [
      ['kills of PostgreSQL under load', kills.length],
      ['  back to the next answered call, ms, p50', median(recovery.slice(0, -1))],
      ['    max', killed, (ms) => ms <= 5000],
      [`stop of ${stopSeconds} s: back to the next answered call, ms`, recovery.at(-1)!, (ms) => ms <= 5000],
      ['live commands that went on through all of it', alive],
      ['  processes of them killed', hostages.processes - alive + Number(diedMeanwhile !== null), zero],
      ['  lines of their output lost or doubled', holes.length, zero],
      ['runs beside them', briefs.length],
      ['  that did not succeed', failed.length, zero],
      ['  left open', found.unfinished.length, zero],
      ['  acknowledged and not there', load.acknowledged() - briefs.length, zero],
      ['runs ended twice', await cluster.journal.endedTwice(), zero],
      ['commands that began twice', found.doubleStarts.length, zero],
      ['  recorded otherwise than they were', found.untrue.length, zero],
      ['calls', client.calls],
      ['  tries answered 503', client.statuses.get(503) ?? 0],
      ['  tries answered neither 200 nor 503', odd.length + (client.statuses.get(0) ?? 0), zero],
      ['  failed', client.failed.length, zero],
    ]
  } finally {
    await cluster.stop()
  }
}

/** One call after the other; each asks for a run. */
function keepTriggering(client: RetryingClient, slug: string) {
  let isOver = false
  let acknowledged = 0
  const loop = (async () => {
    while (!isOver) {
      if ((await client.ask(TRIGGER, { slug })) !== null) acknowledged++
      await pause(400)
    }
  })()
  return {
    acknowledged: () => acknowledged,
    stop: async () => {
      isOver = true
      await loop
    },
  }
}

/** The one that writes all the time numbers its lines: what was kept of them must be the numbers from the first on. */
async function holesIn({ client }: Cluster, { runIds }: Hostages): Promise<string[]> {
  const found: string[] = []
  for (const id of runIds) {
    const { commands } = await client.ask('query ($id: Int!) { boltRunStatus(runId: $id) { commands { stdout } } }', {
      id,
    })
    const lines = (commands.at(-1).stdout as string).split('\n').slice(0, -1)
    for (const [at, line] of lines.entries()) {
      if (line !== `line ${at + 1} of ${id}`) found.push(`run ${id}: ${JSON.stringify(line)} is its line ${at + 1}`)
    }
  }
  return found
}

export interface FencedOptions {
  readonly leaseSeconds: number
  /** Longer than the lease. */
  readonly stopSeconds: number
  readonly say: (line: string) => void
}

export async function fencedByOutage({ leaseSeconds, stopSeconds, say }: FencedOptions): Promise<readonly Line[]> {
  const cluster = await startCluster({ servers: 1, workers: 1, leaseSeconds, slots: 8 })
  try {
    const [worker] = cluster.workers
    const hostages = await takeHostages(cluster, await hostageSchedules(cluster, worker!))
    await cluster.postgres.halt()
    const gone = await hostages.gone(stopSeconds * 1000)
    await pause(stopSeconds * 1000)
    await cluster.postgres.start()
    const back = Date.now()
    await cluster.reconnect()
    // Nobody has renewed them: those that read them first are the worker that ends them.
    const leases = await leasesOf(cluster.database, hostages.runIds)
    await cluster.client.until(async () => (await countOpen(cluster.database)) === 0, 60_000)
    const ended = (await listEnded(cluster.database)).filter((run) => hostages.runIds.includes(run.id))
    for (const run of ended) say(`run ${run.id} ended as ${run.state}: ${run.detail}`)
    const margin = Math.min(...leases.values()) - (gone ?? Number.POSITIVE_INFINITY)
    const right = ended.filter(({ state, detail }) => state === 'failed' && detail === 'control plane lost')
    const stale = await cluster.journal.staleWrites()
    for (const one of stale) say(`stale: ${one}`)
    return [
      [`stop of ${stopSeconds} s with a lease of ${leaseSeconds} s: live commands`, hostages.processes],
      ['  gone before the end of their leases, ms', margin, (ms) => ms >= 0],
      [
        '  runs of them ended after the database was back, ms, max',
        Math.max(...ended.map((run) => run.endedAt - back)),
      ],
      ['  not ended as failed, control plane lost', hostages.runIds.length - right.length, zero],
      ['  ended twice', await cluster.journal.endedTwice(), zero],
      ['  stale writes accepted', stale.length, zero],
    ]
  } finally {
    await cluster.stop()
  }
}
