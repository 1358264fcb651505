// The states of a run and how they follow each other. The database repeats the table as CHECKs and compare-and-sets;
// the wire knows fewer words (api/graphql/present/run.ts).

export const RUN_STATES = [
  'waiting',
  'starting',
  'running',
  'ending',
  'succeeded',
  'errored',
  'failed',
  'canceled',
  'skipped',
] as const

export type RunState = (typeof RUN_STATES)[number]

export const NEXT: Readonly<Record<RunState, readonly RunState[]>> = {
  // A waiting run that is canceled, or that nobody takes within the limit, never starts.
  waiting: ['starting', 'failed', 'canceled'],
  starting: ['running', 'ending', 'errored', 'failed', 'canceled'],
  running: ['ending', 'succeeded', 'errored', 'failed', 'canceled'],
  // A cancel was asked for, or a limit passed: the commands are being stopped.
  ending: ['succeeded', 'errored', 'failed', 'canceled'],
  succeeded: [],
  errored: [],
  failed: [],
  canceled: [],
  skipped: [],
}

/** The words of the interface: clients know six, and take any other than RUNNING for the end. */
export const WIRE_STATES = {
  waiting: 'RUNNING',
  starting: 'RUNNING',
  running: 'RUNNING',
  ending: 'RUNNING',
  succeeded: 'SUCCESS',
  errored: 'ERROR',
  failed: 'FAILED',
  canceled: 'CANCELED',
  skipped: 'SKIPPED',
} as const satisfies Readonly<Record<RunState, string>>

export type FinalState = 'succeeded' | 'errored' | 'failed' | 'canceled' | 'skipped'

export const FINAL_STATES: readonly FinalState[] = ['succeeded', 'errored', 'failed', 'canceled', 'skipped']
export const OPEN_STATES = RUN_STATES.filter((state) => NEXT[state].length > 0)
/** A worker holds the run. */
export const HELD_STATES: readonly RunState[] = ['starting', 'running', 'ending']

export const isFinal = (state: RunState): state is FinalState => NEXT[state].length === 0

export type CommandState = 'waiting' | 'running' | 'succeeded' | 'failed' | 'stopped' | 'not_run'

export type RunCause = 'cron' | 'person' | 'key' | 'parent' | 'merge' | 'pull_request' | 'retry' | 'self_healing'

/** Who or what started a run, in the words of the interface; people and keys go by their names. */
export const CAUSE_ACTORS: Readonly<Record<Exclude<RunCause, 'person' | 'key' | 'retry'>, string>> = {
  cron: 'schedule',
  parent: 'parent schedule',
  merge: 'merge',
  pull_request: 'pull request',
  self_healing: 'self-healing',
}

/** How a run came to its end, as the worker or whoever finalises it knows. */
export type RunOutcome =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'errored' }
  | { readonly kind: 'canceled' }
  | { readonly kind: 'failed'; readonly detail: string }

/** Once recorded, a cancel decides, whatever else came to pass. */
export function finalState(outcome: RunOutcome, cancelRequested: boolean): { state: FinalState; detail: string } {
  if (cancelRequested || outcome.kind === 'canceled') return { state: 'canceled', detail: '' }
  if (outcome.kind === 'failed') return { state: 'failed', detail: outcome.detail }
  return { state: outcome.kind, detail: '' }
}

/** Why nobody has taken a run whose turn has come; `missing`: labels that no worker that is alive has, null where one has. */
export function whyUntaken(missing: readonly string[] | null): string {
  if (missing === null) return 'every worker that may take it is busy'
  if (missing.length === 0) return 'no worker is running'
  return `no worker with ${missing.length === 1 ? 'the label' : 'the labels'} ${missing.join(', ')} is running`
}
