// Fires what is due. Any number of schedulers work on one database: a claim locks its schedules, passes over those of
// others, and moves each to its next time in the same transaction; below that the unique index on (schedule, due time)
// holds. All times are the database's own.
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import type { Unit } from '../app/mutate.ts'
import { mutate } from '../app/mutate.ts'
import type { Tick } from '../app/run-ticks.ts'
import { createTicks } from '../app/run-ticks.ts'
import type { DueDecision } from '../domain/due.ts'
import { decideDue, skipDue } from '../domain/due.ts'
import { CAUSE_ACTORS } from '../domain/run.ts'
import { planCommands, type RunPlan } from '../domain/run-plan.ts'
import { timetableOf } from '../domain/schedule.ts'
import type { Db } from '../store/database.ts'
import { isUnavailable } from '../store/database.ts'
import type { DueSchedule } from '../store/due-schedules.ts'
import * as due from '../store/due-schedules.ts'
import type { Periodic, Service } from './periodic.ts'
import { pause } from './periodic.ts'

export interface SchedulerOptions {
  /** Schedules in one transaction; nobody can edit or trigger one of them meanwhile. */
  readonly batch?: number
  /** For tests; otherwise the database's clock. */
  readonly now?: (db: Db) => Promise<Date>
}

export interface Scheduler extends Periodic {
  /** When to look again, in milliseconds: at the next due time, and once a second for what is new. */
  pauseMs(): Promise<number>
}

// 500 schedules in the same minute: 270 ms, against 560 by 25 and no less by 100 or 200 (two cores, busy).
const BATCH = 50
const EVERY_MS = 1000
/** A schedule that cannot be fired is left alone for so long; its times wait and are caught up by its policy. */
const APART_MS = 60_000

export function scheduler(app: App, options: SchedulerOptions = {}): Scheduler {
  const { batch = BATCH, now = due.now } = options
  // Schedules that made their batch fail, and until when they are left out of it.
  const apart = new Map<number, number>()
  const ctx = systemContext(app, 'scheduler')

  const fire = async (limit: number, at: Date): Promise<number> => {
    for (const [id, until] of apart) if (until <= at.getTime()) apart.delete(id)
    return await mutate(ctx, async (unit) => {
      const claimed = await due.claimDue(unit.db, { now: at, limit, except: [...apart.keys()] })
      if (claimed.length === 0) return 0
      try {
        await settleAll(unit, claimed, at)
      } catch (error) {
        throw new Unfireable(claimed, error)
      }
      return claimed.length
    })
  }

  const runOnce = async (): Promise<void> => {
    let suspect: number | undefined
    for (let limit = batch; ; ) {
      const at = await now(app.db)
      try {
        if ((await fire(limit, at)) < limit) return
      } catch (error) {
        if (!(error instanceof Unfireable) || isUnavailable(error.cause)) throw error
        // The whole batch was undone. One after the other the rest is fired, and one that fails twice is set apart.
        const alone = error.schedules.length === 1 ? error.schedules[0] : undefined
        if (alone !== undefined && suspect === alone.id) {
          const { id, slug } = alone
          apart.set(id, at.getTime() + APART_MS)
          app.log.error(
            { err: error.cause, schedule: slug, id },
            'a schedule could not be fired; trying again in a minute',
          )
        }
        suspect = alone?.id
        limit = 1
      }
    }
  }

  return {
    name: 'scheduler',
    everyMs: EVERY_MS,
    runOnce,
    pauseMs: async () => {
      const wait = await due.nextDueIn(app.db, await now(app.db))
      // What is due already and still there is somebody else's, or set apart.
      return wait === null || wait <= 0 ? EVERY_MS : Math.min(wait, EVERY_MS)
    },
  }
}

class Unfireable extends Error {
  readonly schedules: readonly DueSchedule[]
  constructor(schedules: readonly DueSchedule[], cause: unknown) {
    super('schedules could not be fired', { cause })
    this.schedules = schedules
  }
}

/** Under the locks of the schedules: what is going and waiting of them does not change meanwhile. */
async function settleAll(unit: Unit, claimed: readonly DueSchedule[], now: Date): Promise<void> {
  const isOn = await due.isSchedulingOn(unit.db)
  const ticks: Tick[] = []
  const skipped: due.SkippedTimes[] = []
  const moves: { id: number; next: Date | null }[] = []
  for (const schedule of claimed) {
    const { run, allInLine, skips, next } = settle(schedule, now, isOn)
    for (const time of run) ticks.push({ plan: planOf(schedule, time, allInLine), overlap: schedule.overlap })
    skipped.push({ schedule, skips })
    moves.push({ id: schedule.id, next })
  }
  await createTicks(unit, ticks)
  await due.insertSkips(unit.db, skipped)
  await due.moveDue(unit.db, moves)
}

function settle(schedule: DueSchedule, now: Date, isOn: boolean): DueDecision {
  const timetable = schedule.isArchived ? null : timetableOf(schedule)
  if (timetable === null) return { run: [], allInLine: false, skips: [], next: null }
  if (isOn) return decideDue(timetable, schedule.dueAt, now, schedule)
  const skips = skipDue(timetable, schedule.dueAt, now, 'Scheduling was switched off for the account.')
  return { run: [], allInLine: false, skips, next: timetable.next(now) }
}

const planOf = (schedule: DueSchedule, time: Date, inLine: boolean): RunPlan => ({
  workspaceId: schedule.workspaceId,
  scheduleId: schedule.id,
  environmentId: schedule.environmentId,
  cause: 'cron',
  dueAt: time.toISOString(),
  actor: CAUSE_ACTORS.cron,
  actorEmail: '',
  reason: '',
  branch: schedule.branch,
  prNumber: null,
  parentRunId: null,
  retryOf: null,
  commands: planCommands(schedule.commands, schedule.continueOnError),
  continueOnError: schedule.continueOnError,
  timeLimitSeconds: schedule.timeLimitSeconds,
  inLine,
})

/** Looks at each due time and at least once a second. */
export function startScheduler(app: App, options: SchedulerOptions = {}): Service {
  const task = scheduler(app, options)
  const stopping = new AbortController()
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      let wait = task.everyMs
      try {
        await task.runOnce()
        wait = await task.pauseMs()
      } catch (error) {
        app.log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again')
      }
      await pause(wait, stopping.signal)
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await loop
    },
  }
}
