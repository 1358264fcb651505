// What is to be run, decided before anything is written.
import type { Overlap } from './due.ts'
import type { RunCause } from './run.ts'
import type { ScheduleCommand } from './schedule.ts'

export interface PlannedCommand {
  readonly text: string
  /** What the user wrote, where a retry replaced it by `dbt retry`. */
  readonly originalText: string
  readonly continueOnError: boolean
  /** A retry: the command of the old run whose target folder is put back before this one starts. */
  readonly stateFrom?: number | null
}

/** What somebody wrote, as commands of a run that takes them verbatim. */
export const planCommands = (said: readonly ScheduleCommand[], continueOnError: boolean): PlannedCommand[] =>
  said.map((one) => ({
    text: one.command,
    originalText: one.command,
    continueOnError: one.continueOnError ?? continueOnError,
  }))

export interface RunPlan {
  readonly workspaceId: number
  readonly scheduleId: number
  readonly environmentId: number
  readonly cause: RunCause
  /** The due time of a tick, as a text that PostgreSQL parses; null for everything that was asked for. */
  readonly dueAt: string | null
  readonly actor: string
  readonly actorEmail: string
  readonly reason: string
  readonly branch: string
  /** Exactly this commit, whatever the branch has come to; the branch's head otherwise. */
  readonly commit?: string | null
  readonly prNumber: number | null
  readonly parentRunId: number | null
  readonly retryOf: number | null
  readonly commands: readonly PlannedCommand[]
  readonly continueOnError: boolean
  readonly timeLimitSeconds: number | null
  /** A tick among several that are caught up: it waits its turn, however many wait already. */
  readonly inLine?: boolean
}

export type { Overlap } from './due.ts'

/** A run of the same schedule and pull request (none is a group too) that has not ended. */
export interface OpenRun {
  readonly id: number
  readonly isTick: boolean
  /** Its turn came: a worker has it or may take it. */
  readonly released: boolean
}

export type Turn =
  | { readonly kind: 'go'; readonly cancel: readonly number[] }
  | { readonly kind: 'wait'; readonly cancel: readonly number[] }
  | { readonly kind: 'skip'; readonly detail: string }

/**
 * Whether a new run goes now, waits for its turn or is skipped, and which older ones it cancels. Only a tick is ever
 * skipped. `others` are the open runs of its own group alone, because pull requests run side by side.
 */
export function decideTurn(
  plan: Pick<RunPlan, 'cause' | 'dueAt' | 'prNumber' | 'inLine'>,
  overlap: Overlap,
  others: readonly OpenRun[],
): Turn {
  if (plan.prNumber !== null) {
    // A retry never cancels; whether it is allowed at all is decided before.
    const cancel = plan.cause === 'retry' ? [] : others.map((one) => one.id)
    return { kind: others.length === 0 ? 'go' : 'wait', cancel }
  }
  if (others.length === 0 || overlap === 'allow') return { kind: 'go', cancel: [] }
  if (plan.dueAt === null) return { kind: 'wait', cancel: [] }
  switch (overlap) {
    case 'skip':
      return { kind: 'skip', detail: 'An earlier run of the schedule was still going.' }
    case 'cancel_previous':
      // What people asked for always runs; only earlier ticks give way.
      return { kind: 'wait', cancel: others.filter((one) => one.isTick).map((one) => one.id) }
    case 'queue_one':
      return !plan.inLine && others.some((one) => one.isTick && !one.released)
        ? { kind: 'skip', detail: 'An earlier tick of the schedule was already waiting for its turn.' }
        : { kind: 'wait', cancel: [] }
  }
}
