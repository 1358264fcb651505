// What the scheduler reads and writes. Its cost grows with what is due: the index on next_due_at holds only schedules
// that fire at all, and is read from its front.
import { sql } from 'kysely'
import type { DuePolicy, Skip } from '../domain/due.ts'
import type { ScheduleCommand } from '../domain/schedule.ts'
import type { Db } from './database.ts'

/** The time by which everything is scheduled: the database's, because hosts differ. */
export async function now(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`/* schedule_now */ select clock_timestamp() as now`.execute(db)
  return rows[0]!.now
}

export interface DueSchedule extends DuePolicy {
  readonly id: number
  readonly workspaceId: number
  readonly environmentId: number
  readonly slug: string
  readonly cron: string
  readonly timezone: string
  readonly branch: string
  readonly commands: readonly ScheduleCommand[]
  readonly continueOnError: boolean
  readonly timeLimitSeconds: number | null
  /** The first time that nobody has considered. */
  readonly dueAt: Date
  readonly isArchived: boolean
}

/**
 * Takes up to `limit` schedules that are due, locked to the end of the transaction. Another scheduler passes over them,
 * and finds their next time when it comes back; somebody who edits one waits.
 */
export async function claimDue(
  tx: Db,
  options: { readonly now: Date; readonly limit: number; readonly except: readonly number[] },
): Promise<DueSchedule[]> {
  const { rows } = await sql<DueSchedule>`/* schedule_claim */ select s.id, s.workspace_id as "workspaceId",
      s.environment_id as "environmentId", s.slug, s.cron, s.timezone, s.overlap, s.catch_up as "catchUp",
      s.catch_up_window_seconds as "catchUpWindowSeconds", s.commands, s.continue_on_error as "continueOnError",
      s.time_limit_seconds as "timeLimitSeconds", s.next_due_at as "dueAt",
      coalesce(s.git_branch, e.deployment_branch, e.default_branch) as branch, w.archived_at is not null as "isArchived"
    from schedule s join environment e on e.id = s.environment_id join workspace w on w.id = s.workspace_id
    where s.next_due_at <= ${options.now.toISOString()}::timestamptz and s.id <> all(${[...options.except]}::int[])
    order by s.next_due_at limit ${options.limit} for no key update of s skip locked`.execute(tx)
  return rows
}

/** Whether the account lets anything fire at all. */
export async function isSchedulingOn(db: Db): Promise<boolean> {
  const { rows } = await sql<{ scheduling: boolean }>`/* schedule_switch */ select scheduling from account`.execute(db)
  return rows[0]?.scheduling ?? false
}

/** When the next schedule is due, in milliseconds from `now`; null when none is. */
export async function nextDueIn(db: Db, now: Date): Promise<number | null> {
  const { rows } = await sql<{
    next: Date | null
  }>`/* schedule_next_due */ select min(next_due_at) as next from schedule
    where next_due_at is not null`.execute(db)
  const next = rows[0]?.next ?? null
  return next === null ? null : next.getTime() - now.getTime()
}

/** Under the lock of their rows. */
export async function moveDue(
  tx: Db,
  moves: readonly { readonly id: number; readonly next: Date | null }[],
): Promise<void> {
  if (moves.length === 0) return
  await sql`/* schedule_move_due */ update schedule s set next_due_at = v.next
    from unnest(${moves.map((one) => one.id)}::int[],
      ${moves.map((one) => one.next?.toISOString() ?? null)}::timestamptz[]) v (id, next)
    where s.id = v.id`.execute(tx)
}

export interface SkippedTimes {
  readonly schedule: {
    readonly id: number
    readonly workspaceId: number
    readonly environmentId: number
    readonly branch: string
  }
  readonly skips: readonly Skip[]
}

/** A time that has its row already keeps it: the clock was set back, and the schedule begun anew after that. */
export async function insertSkips(tx: Db, all: readonly SkippedTimes[]): Promise<void> {
  const rows = all.flatMap(({ schedule, skips }) => skips.map((skip) => ({ schedule, skip })))
  if (rows.length === 0) return
  await sql`/* schedule_insert_skips */ insert into run (workspace_id, schedule_id, environment_id, cause, due_at, state,
      detail, actor, branch, skipped_count, skipped_until, accepted_at, ended_at)
    select v.workspace_id, v.schedule_id, v.environment_id, 'cron', v.due_at, 'skipped', v.detail, 'schedule', v.branch,
      nullif(v.count, 1), case when v.count > 1 then v.until end, v.due_at, v.due_at
    from unnest(${rows.map((one) => one.schedule.workspaceId)}::int[],
      ${rows.map((one) => one.schedule.id)}::int[],
      ${rows.map((one) => one.schedule.environmentId)}::int[],
      ${rows.map((one) => one.skip.dueAt.toISOString())}::timestamptz[],
      ${rows.map((one) => one.skip.detail)}::text[],
      ${rows.map((one) => one.schedule.branch)}::text[],
      ${rows.map((one) => one.skip.count)}::int[],
      ${rows.map((one) => one.skip.until.toISOString())}::timestamptz[]
    ) v (workspace_id, schedule_id, environment_id, due_at, detail, branch, count, until)
    order by v.schedule_id, v.due_at
    on conflict (schedule_id, due_at) where due_at is not null do nothing`.execute(tx)
}
