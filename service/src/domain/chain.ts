// What an event of a run means to those who wait for it, in the three words of notifications and triggers.
import type { RunState } from './run.ts'
import type { NotificationEvent } from './schedule.ts'

/** Null when nobody follows: a start, a cancel, a skipped tick. */
export function followedBy(kind: 'started' | 'ended' | 'late', state: RunState): NotificationEvent | null {
  if (kind === 'late') return 'sla'
  if (kind !== 'ended') return null
  if (state === 'succeeded') return 'passed'
  return state === 'errored' || state === 'failed' ? 'failed' : null
}
