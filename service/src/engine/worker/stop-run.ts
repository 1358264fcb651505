import type { RunOutcome } from '../../domain/run.ts'
import type { Grace } from '../../ports/executor.ts'

/** Why a run is stopped before its end; the reason of its abort signal. */
export type StopReason =
  | { readonly kind: 'canceled' }
  | { readonly kind: 'time-limit'; readonly seconds: number }
  | { readonly kind: 'worker-stopped' }
  /** The lease could not be renewed in time: when what is left of it has passed, somebody else may end the run. */
  | { readonly kind: 'fenced'; readonly leftMs: number }
  /** Somebody else ended it, or holds it. */
  | { readonly kind: 'lost' }

export class StopRun extends Error {
  override readonly name = 'StopRun'
  readonly reason: StopReason
  constructor(reason: StopReason) {
    super(`the run was stopped: ${reason.kind}`)
    this.reason = reason
  }
}

export function outcomeOf({ reason }: StopRun): RunOutcome {
  switch (reason.kind) {
    case 'canceled':
      return { kind: 'canceled' }
    case 'time-limit':
      return { kind: 'failed', detail: `its time limit of ${reason.seconds} seconds passed` }
    case 'worker-stopped':
      return { kind: 'failed', detail: WORKER_STOPPED }
    case 'fenced':
      return { kind: 'failed', detail: 'control plane lost' }
    case 'lost':
      return { kind: 'failed', detail: WORKER_LOST }
  }
}

export const WORKER_STOPPED = 'worker stopped'
export const WORKER_LOST = 'its worker was lost'

/** Of the seconds that a command has to end by itself: what is left of them is for the kill. dbt cancels on SIGINT. */
export const graceOf = (stopSeconds: number): Grace => ({
  interruptMs: stopSeconds * 500,
  terminateMs: stopSeconds * 300,
})
