/** A server and several workers as processes of their own on one PostgreSQL, and a storm in small over their runs. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { openDatabase } from '../../service/src/store/database.ts'
import { openQueue } from '../../service/src/store/queue.ts'
import type { ExternalPostgres } from './external-postgres.ts'
import { Target } from './load.ts'
import { lookInto } from './postgres.ts'
import { seeded } from './random.ts'
import { checkRuns, faultsInRuns, type RunFigures, type RunFindings } from './run-checker.ts'
import { Ends, RunHistory } from './run-history.ts'
import { startRunLoad } from './run-load.ts'
import { countOpen, noteEnds, takePicture } from './run-rows.ts'
import { SCENE_ENVIRONMENT, setScene } from './run-scene.ts'
import { type Launched, launch, startProcess, temporaryFolder } from './service.ts'
import type { WitnessLine } from './witness.ts'

export interface CrowdOptions {
  readonly postgres: ExternalPostgres
  readonly workers: number
  /** Of each worker. */
  readonly slots: number
  readonly seconds: number
  /** Ends it sooner. */
  readonly until?: (lines: readonly WitnessLine[]) => boolean
  readonly perSecond: number
  readonly seed: number
  /** The `main.ts` of another build. */
  readonly entry?: string
  /** Whether one worker after the other is killed and replaced. */
  readonly kill: boolean
  /** How long runs may take to end when nothing more is asked for. */
  readonly drainMs: number
}

export interface CrowdReport {
  readonly history: RunHistory
  readonly found: RunFindings
  readonly figures: RunFigures
  readonly endsChanged: number
  readonly workersKilled: number
  /** Jobs that were sent once more than they should be. */
  readonly jobsAgain: number
  readonly faults: readonly string[]
}

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

/** Jobs of open runs are delivered again and again meanwhile: a job only says that somebody should look. */
export async function crowd(options: CrowdOptions): Promise<CrowdReport> {
  const { postgres, seed } = options
  const random = seeded(seed)
  const entry = options.entry === undefined ? {} : { entry: options.entry }
  const blobs = join(await temporaryFolder('blobs'), 'blobs')
  const shared = { DATABASE_URL: postgres.url, YARDMASTER_MASTER_KEY: MASTER_KEY, YARDMASTER_BLOBS_FOLDER: blobs }
  const env = { ...SCENE_ENVIRONMENT, ...shared, YARDMASTER_WORKER_SLOTS: String(options.slots) }
  const service = await startProcess({ ...entry, env: { ...env, YARDMASTER_ROLES: 'api,scheduler' } })
  const startWorker = async (): Promise<Launched> => {
    const worker = await launch({ ...entry, env, args: ['worker'] })
    await said(worker, 'is taking runs')
    return worker
  }
  const workers = await Promise.all(Array.from({ length: options.workers }, startWorker))
  const database = await lookInto(postgres.superuser)
  const { schedules, witness, firstDue } = await setScene(service, database, 5)
  const [history, ends] = [new RunHistory(), new Ends()]
  const target = new Target()
  const { key, workspaceUid } = service
  const load = startRunLoad({
    ...{ key, workspaceUid, schedules, target, history, random, clients: 8 },
    ...{ ends: new Ends(), perSecond: options.perSecond },
  })
  target.open(service)
  const gossip = startGossip(postgres)
  let workersKilled = 0
  const deadline = performance.now() + options.seconds * 1000
  while (performance.now() < deadline) {
    await pause(options.kill ? random.between(1000, 3000) : 200)
    await noteEnds(database, ends)
    if (options.until?.(witness.read().lines)) break
    if (!options.kill) continue
    const at = random.between(0, workers.length - 1)
    workers[at]!.signal('SIGKILL')
    await workers[at]!.exited
    workersKilled++
    workers[at] = await startWorker()
  }
  await load.stop()
  const patience = performance.now() + options.drainMs
  while ((await countOpen(database)) > 0 && performance.now() < patience) {
    await noteEnds(database, ends)
    await pause(200)
  }
  const jobsAgain = await gossip.stop()
  await noteEnds(database, ends)
  const { found, figures } = checkRuns(
    history,
    await takePicture(postgres.superuser, schedules),
    witness.read(),
    firstDue,
  )
  for (const worker of workers) worker.signal('SIGKILL')
  await Promise.all(workers.map((worker) => worker.exited))
  await database.end()
  await service.kill9()
  const changed = ends.changed.map((text) => `final state changed: ${text}`)
  const faults = [...faultsInRuns(found), ...changed, ...history.surprises, ...history.repeatedDifferently]
  return { history, found, figures, endsChanged: ends.changed.length, workersKilled, jobsAgain, faults }
}

function startGossip(postgres: ExternalPostgres): { stop(): Promise<number> } {
  const database = openDatabase(postgres.superuser, {
    ...{ poolSize: 2, queryTimeoutMs: 20_000, applicationName: 'yardmaster e2e gossips' },
  })
  const queue = openQueue(postgres.superuser, { mode: 'send', onError: () => {} })
  let ending = false
  let sent = 0
  const loop = (async () => {
    while (!ending) {
      const { rows } = await sql<{ id: number }>`select id from run where state in ('waiting', 'starting', 'running')
        and released_at is not null order by random() limit 3`.execute(database.kysely)
      for (const { id } of rows) await queue.send(database.kysely, 'run', { runId: id })
      sent += rows.length
      await pause(100)
    }
  })()
  return {
    stop: async () => {
      ending = true
      await loop
      await queue.stop()
      await database.close()
      return sent
    },
  }
}

async function said(worker: Launched, words: string): Promise<void> {
  let over = false
  void worker.exited.then(() => {
    over = true
  })
  while (!worker.stdout().includes(words)) {
    if (over) throw new Error(`The worker ended before it took runs:\n${worker.stdout()}${worker.stderr()}`)
    await pause(10)
  }
}
