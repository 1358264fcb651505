// Somebody who looks into a failed run and proposes a mend. What is started goes on by itself; whoever does the work
// says through app/healing.ts when it has proposed something and when it is over.

export interface HealingTask {
  /** Of the request: starting the same one again must find the session that it started before. */
  readonly id: number
  readonly workspaceId: number
  readonly scheduleId: number
  readonly runId: number
  /** By its name; empty for the usual one. */
  readonly agent: string
  /** Where the notice of the failure was written, when that is known; else the channel that the schedule names. */
  readonly slack: { readonly channel: string; readonly threadTs: string | null } | null
}

export type HealingAnswer =
  | { readonly kind: 'started'; readonly session: string }
  | { readonly kind: 'refused'; readonly reason: string }

export interface Healer {
  /** Rejects when it cannot say now: it is asked again. */
  start(task: HealingTask): Promise<HealingAnswer>
}
