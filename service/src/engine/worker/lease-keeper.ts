// Keeps the leases of a worker's runs, and says when a run is not the worker's any more:
//
//   lost    the database said so: somebody ended the run, or holds it in a later attempt;
//   fenced  no renewal went well for so long that the lease is about to run out: whoever sees that ends the run, so its
//           commands must be gone by then. Counted from the beginning of the last good renewal, because what the
//           database wrote is at least that new.
//
// Renewals happen in a thread (lease-thread.ts). The time of the last good one is in memory that both share: after a
// pause of this loop it is there at once, while messages still wait behind timers.
import { Worker } from 'node:worker_threads'
import type { Connection } from '../../store/connection.ts'
import type { FromThread, LeaseThreadData, ToThread } from './lease-thread.ts'
import type { StopReason } from './stop-run.ts'

export interface LeaseTimes {
  readonly leaseMs: number
  readonly beatMs: number
  readonly fenceMs: number
}

/**
 * A database may be away for as long as lies between the fence and two beats, the last good one before and the first good
 * one after: more than forty seconds of a lease of sixty. Short leases are not renewed more than four times a second.
 */
export const leaseTimes = (leaseMs: number): LeaseTimes => ({
  leaseMs,
  beatMs: Math.max(leaseMs / 40, Math.min(250, leaseMs / 12)),
  fenceMs: leaseMs * 0.75,
})

export const LEASE_TIMES: LeaseTimes = leaseTimes(60_000)

export interface LeaseKeeper {
  /** `since` is `monotonicMs()` before its lease was last written. */
  hold(run: { readonly runId: number; readonly attempt: number; readonly since: number }): void
  release(runId: number): void
  stop(): Promise<void>
}

export interface LeaseKeeperOptions extends LeaseTimes {
  readonly connection: Connection
  readonly workerId: string
  onLost(runId: number, attempt: number, why: Extract<StopReason, { kind: 'lost' | 'fenced' }>): void
  onError(message: string): void
}

const RESTART_MS = 500

export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

export function startLeaseKeeper(options: LeaseKeeperOptions): LeaseKeeper {
  const { connection, workerId, leaseMs, beatMs, fenceMs } = options
  const holds = new Map<number, { readonly attempt: number; readonly since: number }>()
  const shared = new SharedArrayBuffer(8)
  const lastGood = new BigInt64Array(shared)
  const data: LeaseThreadData = { connection, workerId, leaseMs, beatMs, lastGood: shared }
  let stopped: Promise<void> | undefined
  let thread = startThread()

  function startThread(): Worker {
    const started = new Worker(new URL(`./lease-thread${import.meta.url.slice(-3)}`, import.meta.url), {
      workerData: data,
      // It does next to nothing, and would take what it is given.
      resourceLimits: { maxYoungGenerationSizeMb: 2 },
    })
    started.on('message', (message: FromThread) => {
      if (message.kind === 'failed') options.onError(message.message)
      else if (holds.get(message.runId)?.attempt === message.attempt) {
        holds.delete(message.runId)
        options.onLost(message.runId, message.attempt, { kind: 'lost' })
      }
    })
    started.on('error', (error) => options.onError(`the thread failed: ${error.message}`))
    started.on('exit', () => {
      if (stopped !== undefined) return
      setTimeout(() => {
        if (stopped !== undefined) return
        thread = startThread()
        for (const [runId, { attempt }] of holds) tell({ kind: 'hold', runId, attempt })
      }, RESTART_MS).unref()
    })
    // The worker's other services decide how long the process lives.
    started.unref()
    return started
  }
  const tell = (message: ToThread): void => thread.postMessage(message)

  const fence = setInterval(
    () => {
      const [now, good] = [monotonicMs(), Number(Atomics.load(lastGood, 0))]
      for (const [runId, { attempt, since }] of holds) {
        const silentMs = now - Math.max(since, good)
        if (silentMs < fenceMs) continue
        holds.delete(runId)
        tell({ kind: 'release', runId })
        options.onLost(runId, attempt, { kind: 'fenced', leftMs: leaseMs - silentMs })
      }
    },
    Math.min(500, fenceMs / 20),
  )
  fence.unref()

  return {
    hold: ({ runId, attempt, since }) => {
      holds.set(runId, { attempt, since })
      tell({ kind: 'hold', runId, attempt })
    },
    release: (runId) => {
      if (holds.delete(runId)) tell({ kind: 'release', runId })
    },
    stop: () => {
      stopped ??= new Promise((resolve) => {
        clearInterval(fence)
        thread.once('exit', () => resolve())
        thread.ref()
        if (thread.threadId === -1) resolve()
        else tell({ kind: 'stop' })
      })
      return stopped
    },
  }
}
