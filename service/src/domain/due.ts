// What the scheduler does with the times of a schedule that have come: which become runs, which are recorded as skipped
// and why, and when to look again. Every time between the two looks ends in one of them; none is passed over in silence.
import type { Timetable } from './occurrence.ts'

export const OVERLAPS = ['queue_one', 'skip', 'allow', 'cancel_previous'] as const
export type Overlap = (typeof OVERLAPS)[number]

export const CATCH_UPS = ['latest', 'all', 'none'] as const
export type CatchUp = (typeof CATCH_UPS)[number]

export interface DuePolicy {
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly catchUpWindowSeconds: number
}

/** One recorded skip; with `count` above 1 it stands for all times from `dueAt` to `until`. */
export interface Skip {
  readonly dueAt: Date
  readonly until: Date
  readonly count: number
  readonly detail: string
}

export interface DueDecision {
  /** In their order. Whether each may go, waits or is skipped after all is decided when its run is made (run-plan.ts). */
  readonly run: readonly Date[]
  /** These wait their turn one after the other, however many: somebody asked for every one of them. */
  readonly allInLine: boolean
  readonly skips: readonly Skip[]
  /** When to look again; null for a timetable that has come to its end. */
  readonly next: Date | null
}

const MINUTE = 60_000

/** More skipped times than this in a row become one row. */
export const MOST_SKIP_ROWS = 100
/** With `all`, so many of the missed times are caught up, the newest. */
export const MOST_CAUGHT_UP = 500

/** `due` is the first time that nobody has considered; nothing before it is looked at. */
export function decideDue(timetable: Timetable, due: Date, now: Date, policy: DuePolicy): DueDecision {
  const after = new Date(due.getTime() - 1)
  const latest = timetable.latest(after, now)
  if (latest === null) return { run: [], allInLine: false, skips: [], next: timetable.next(after) }
  const candidates = candidatesOf(timetable, after, latest, now, policy)
  const first = candidates[0]
  const missed = skipsBetween(timetable, after, first === undefined ? latest : before(first), (count) =>
    missedDetail(policy, candidates.length, count),
  )
  // Where runs may neither overlap nor wait, only the newest of several can run.
  const single = policy.overlap === 'skip' || policy.overlap === 'cancel_previous'
  const run = single ? candidates.slice(-1) : candidates
  const older = skipsOf(
    candidates.slice(0, candidates.length - run.length),
    'A later time of the schedule took its place.',
  )
  return { run, allInLine: run.length > 1, skips: [...missed, ...older], next: timetable.next(latest) }
}

/** All times up to now as skipped, for one reason: the schedule was changed, suspended or deleted before they ran. */
export function skipDue(timetable: Timetable, due: Date, now: Date, detail: string): readonly Skip[] {
  return skipsBetween(timetable, before(due), now, () => detail)
}

const before = (time: Date): Date => new Date(time.getTime() - 1)

/**
 * The times that may run. A time is on time for as long as its own minute lasts, whatever the policy: only after that
 * it is missed, and a matter of catching up.
 */
function candidatesOf(timetable: Timetable, after: Date, latest: Date, now: Date, policy: DuePolicy): Date[] {
  const window = policy.catchUp === 'none' ? 0 : policy.catchUpWindowSeconds * 1000
  // On time is less than a minute old; caught up is what is at most as old as the window.
  const reach = Math.max(window, MINUTE - 1)
  if (now.getTime() - latest.getTime() > reach) return []
  if (policy.catchUp !== 'all') return [latest]
  const from = new Date(Math.max(after.getTime(), now.getTime() - reach - 1))
  if (timetable.count(from, now) <= MOST_CAUGHT_UP) return timetable.between(from, now, MOST_CAUGHT_UP)
  const newest = [latest]
  while (newest.length < MOST_CAUGHT_UP) newest.push(timetable.latest(from, before(newest.at(-1)!))!)
  return newest.reverse()
}

function missedDetail(policy: DuePolicy, caughtUp: number, count: number): string {
  const missed = `Missed: no scheduler was at work ${count === 1 ? 'then' : 'at these times'}`
  if (policy.catchUp === 'none') return `${missed}, and the schedule catches nothing up.`
  if (policy.catchUp === 'latest' && caughtUp > 0) return `${missed}; only the latest missed time is caught up.`
  if (caughtUp === MOST_CAUGHT_UP) return `${missed}; only the newest ${MOST_CAUGHT_UP} are caught up.`
  return `${missed}, and that is longer ago than the catch-up window of ${policy.catchUpWindowSeconds} s.`
}

function skipsBetween(timetable: Timetable, after: Date, until: Date, detail: (count: number) => string): Skip[] {
  const few = timetable.between(after, until, MOST_SKIP_ROWS + 1)
  if (few.length <= MOST_SKIP_ROWS) return skipsOf(few, detail(1))
  const last = timetable.latest(after, until)!
  return [summary(few[0]!, last, timetable.count(after, until), detail(few.length))]
}

function skipsOf(times: readonly Date[], detail: string): Skip[] {
  if (times.length > MOST_SKIP_ROWS) return [summary(times[0]!, times.at(-1)!, times.length, detail)]
  return times.map((time) => ({ dueAt: time, until: time, count: 1, detail }))
}

const summary = (from: Date, until: Date, count: number, detail: string): Skip => ({
  dueAt: from,
  until,
  count,
  detail: `${count} times from ${minuteOf(from)} to ${minuteOf(until)} UTC. ${detail}`,
})

const minuteOf = (time: Date): string => time.toISOString().slice(0, 16).replace('T', ' ')
