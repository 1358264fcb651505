// A worker: takes runs as far as it has slots, holds them by their rows, and executes them.
//
// A job of the queue says which run may be taken; it is taken in the transaction that completes the job. When no slot
// is free, or the run is not for this worker, the job is done all the same and a notice tells the other workers to look.
// Every worker looks by itself as well: after each run that ends, at each notice, and once a second. So a lost job, a
// lost notice or a crash in between costs a second and never a run.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { App } from '../../app/context.ts'
import type { HostProcesses } from '../../ports/host-processes.ts'
import type { Log } from '../../ports/runtime.ts'
import type { Connection } from '../../store/connection.ts'
import type { JobTransaction, QueueService } from '../../store/queue.ts'
import * as holds from '../../store/run-hold.ts'
import { listenForRuns } from '../../store/run-signals.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { startPeriodic } from '../periodic.ts'
import { HeldRun } from './held-run.ts'
import { LEASE_TIMES, type LeaseTimes, startLeaseKeeper } from './lease-keeper.ts'
import type { RunPorts, RunSettings } from './ports.ts'
import { WORKER_STOPPED } from './stop-run.ts'
import type { WorkPlace } from './work-folder.ts'

export interface WorkerDeps {
  readonly queue: QueueService
  /** For the lease thread and the listener, outside the pool. */
  readonly connection: Connection
  readonly host: HostProcesses
  readonly slots: number
  readonly labels: readonly string[]
  readonly ports: RunPorts
  readonly settings: RunSettings
  readonly place: WorkPlace
  readonly lease?: LeaseTimes
  readonly pollMs?: number
  /** How long a stop waits for the runs that are going; null is without limit. */
  readonly drainMs: number | null
  readonly log: Log
}

export interface Worker {
  readonly id: string
  /** Runs that are going here. */
  readonly going: number
  /** Takes nothing new and waits for its runs, then ends them as FAILED. Safe to call twice. */
  stop(): Promise<void>
  /** The same without waiting; also during a stop that waits. */
  stopNow(): Promise<void>
}

/** After the commands were told to stop: they are killed after five seconds, the rows take a little. */
const LAST_MS = 20_000

export async function startWorker(app: App, deps: WorkerDeps): Promise<Worker> {
  const { log, host, slots } = deps
  const lease = deps.lease ?? LEASE_TIMES
  const claimer: holds.Claimer = { workerId: host.self, labels: deps.labels, leaseMs: lease.leaseMs }
  const going = new Map<number, { readonly run: HeldRun; readonly done: Promise<void> }>()
  const giveUp = new AbortController()
  let stopping = false
  /** Slots promised to statements under way. */
  let promised = 0
  let ended = 0

  await sayHowManyWereStopped(deps)
  const keeper = startLeaseKeeper({
    ...lease,
    connection: deps.connection,
    workerId: host.self,
    onLost: (runId, attempt, why) => {
      log.warn({ run: runId, attempt, why: why.kind }, 'a run is not held any more; its commands are stopped')
      going.get(runId)?.run.stop(why)
    },
    onError: (message) => log.warn({ reason: message }, 'leases were not renewed; it will be tried again'),
  })

  const free = (): number => (stopping ? 0 : slots - going.size - promised)

  const take = ({ runId, attempt }: holds.Claim): void => {
    if (going.has(runId)) return
    const onBegun = (since: number): void => keeper.hold({ runId, attempt, since })
    const own = { ...deps, leaseMs: lease.leaseMs, onBegun, giveUp: giveUp.signal }
    const run = new HeldRun(app, own, { runId, attempt, workerId: host.self })
    const done = run.run().then((state) => {
      keeper.release(runId)
      going.delete(runId)
      if (state !== null) log.info({ run: runId, attempt, state }, 'a run ended')
      if (stopping && state === 'failed') ended++
      else looker.now()
    })
    going.set(runId, { run, done })
  }

  const onJob = async (data: unknown, tx: JobTransaction): Promise<void> => {
    const { runId } = data as { runId: number }
    if (free() < 1) return await holds.passOn(tx, runId)
    promised++
    try {
      const claim = await holds.claimByJob(tx, runId, claimer)
      // The run begins by locking its row, so it waits for this transaction and finds out whether it came to be.
      if (claim !== null) take(claim)
      else await holds.passOn(tx, runId)
    } finally {
      promised--
    }
  }

  const look = async (): Promise<void> => {
    const count = free()
    if (count < 1) return
    promised += count
    try {
      for (const claim of await holds.claimWaiting(app.db, count, claimer)) take(claim)
    } finally {
      promised -= count
    }
  }

  /** Cancels whose notice was lost, and runs whose taking succeeded although its answer was lost. */
  const check = async (): Promise<void> => {
    for (const held of await holds.listHeldBy(app.db, host.self)) {
      const known = going.get(held.runId)
      if (known === undefined) take(held)
      else if (held.canceled) known.run.stop({ kind: 'canceled' })
    }
  }

  const looker = oneAtATime(look, (error) =>
    log.warn({ err: error }, 'looking for runs failed; it will be tried again'),
  )
  const signals = listenForRuns(
    deps.connection,
    (signal) => {
      if (signal.kind === 'canceled') going.get(signal.runId)?.run.stop({ kind: 'canceled' })
      else looker.now()
    },
    (error) => log.warn({ err: error }, 'notices of runs were cut off; listening again'),
  )
  const poll = startPeriodic(log, {
    name: 'worker',
    everyMs: deps.pollMs ?? 1000,
    runOnce: async () => {
      await check()
      looker.now()
    },
  })
  const stopWatching = async (): Promise<void> => {
    await Promise.all([poll.stop(), signals.stop(), keeper.stop()])
  }
  const jobs = await deps.queue.workTransactional('run', onJob).catch(async (error: unknown) => {
    stopping = true
    await stopWatching()
    throw error
  })

  const urgent = new AbortController()
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopping = true
    await jobs.stop().catch((error: unknown) => log.warn({ err: error }, 'the queue did not stop in time'))
    await looker.idle()
    if (going.size > 0) log.info({ runs: going.size }, 'the worker takes nothing new and waits for its runs')
    await settled(going, deps.drainMs, urgent.signal)
    for (const { run } of going.values()) run.stop({ kind: 'worker-stopped' })
    if (!(await settled(going, LAST_MS, null))) giveUp.abort()
    await stopWatching()
    if (ended > 0) await writeFile(stoppedFile(deps), String(ended)).catch(() => {})
  }
  return {
    id: host.self,
    get going() {
      return going.size
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
    stopNow: () => {
      urgent.abort()
      stopped ??= stop()
      return stopped
    },
  }
}

/** Waits until nothing is going; false when the time passed, or `hurry` came, first. */
async function settled(
  going: ReadonlyMap<number, { readonly done: Promise<void> }>,
  ms: number | null,
  hurry: AbortSignal | null,
): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>()
  const timer = ms === null ? undefined : setTimeout(() => resolve(false), ms)
  if (hurry?.aborted) resolve(false)
  hurry?.addEventListener('abort', () => resolve(false), { once: true })
  const all = (async () => {
    while (going.size > 0) await Promise.all([...going.values()].map((one) => one.done))
    return true as const
  })()
  const result = await Promise.race([all, late])
  clearTimeout(timer)
  return result
}

const stoppedFile = ({ place }: WorkerDeps): string => join(place.work, 'stopped')

/** A worker that had to end runs when it stopped leaves their number; the next one tells. */
async function sayHowManyWereStopped(deps: WorkerDeps): Promise<void> {
  await mkdir(deps.place.work, { recursive: true, mode: 0o700 })
  const file = stoppedFile(deps)
  const runs = Number(await readFile(file, 'utf8').catch(() => '0'))
  await rm(file, { force: true })
  if (runs > 0) deps.log.warn({ runs, reason: WORKER_STOPPED }, 'runs were ended when the worker last stopped')
}
