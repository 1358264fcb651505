// Rows of many runs in one statement each, for app/run-ticks.ts. All of it under the locks of the schedules.
import { sql } from 'kysely'
import type { OpenRun, RunPlan } from '../domain/run-plan.ts'
import type { Db } from './database.ts'
import { OPEN } from './runs.ts'

/** The open runs of several schedules, pull requests' aside, oldest first: `listOpen` of runs.ts for many. */
export async function listOpen(tx: Db, scheduleIds: readonly number[]): Promise<ReadonlyMap<number, OpenRun[]>> {
  const { rows } = await sql<OpenRun & { scheduleId: number }>`/* run_list_open_many */ select id,
      schedule_id as "scheduleId", due_at is not null as "isTick",
      state <> 'waiting' or released_at is not null as released
    from run where schedule_id = any(${[...scheduleIds]}::int[]) and state in ${OPEN} and pr_number is null
    order by id`.execute(tx)
  return Map.groupBy(rows, (row) => row.scheduleId)
}

export interface TurnedTick {
  readonly plan: RunPlan
  /** Its turn has come. */
  readonly isReleased: boolean
}

/** One for each schedule. The ids by schedule, without those whose due time has its row already. */
export async function insert(tx: Db, ticks: readonly TurnedTick[]): Promise<ReadonlyMap<number, number>> {
  const plans = ticks.map((one) => one.plan)
  const { rows } = await sql<{ id: number; scheduleId: number }>`/* run_insert_ticks */ insert into run (workspace_id,
      schedule_id, environment_id, cause, due_at, state, actor, branch, continue_on_error, time_limit_seconds,
      released_at, late_at)
    select v.workspace_id, v.schedule_id, v.environment_id, 'cron', v.due_at, 'waiting', v.actor, v.branch,
      v.continue_on_error, v.time_limit_seconds, case when v.released then clock_timestamp() end,
      (select clock_timestamp() + s.sla_seconds * interval '1 second' from schedule s where s.id = v.schedule_id)
    from unnest(${plans.map((one) => one.workspaceId)}::int[], ${plans.map((one) => one.scheduleId)}::int[],
        ${plans.map((one) => one.environmentId)}::int[], ${plans.map((one) => one.dueAt)}::timestamptz[],
        ${plans.map((one) => one.actor)}::text[], ${plans.map((one) => one.branch)}::text[],
        ${plans.map((one) => one.continueOnError)}::boolean[], ${plans.map((one) => one.timeLimitSeconds)}::int[],
        ${ticks.map((one) => one.isReleased)}::boolean[])
      with ordinality as v (workspace_id, schedule_id, environment_id, due_at, actor, branch, continue_on_error,
        time_limit_seconds, released, position)
    order by v.position
    on conflict (schedule_id, due_at) where due_at is not null do nothing
    returning id, schedule_id as "scheduleId"`.execute(tx)
  return new Map(rows.map((row) => [row.scheduleId, row.id]))
}

export interface Infrastructure {
  readonly repositoryUrl: string
  readonly installStep: string | null
}

export async function readInfrastructure(
  tx: Db,
  environmentIds: readonly number[],
): Promise<ReadonlyMap<number, Infrastructure>> {
  const { rows } = await sql<Infrastructure & { id: number }>`/* run_tick_infrastructure */ select id,
      repository_url as "repositoryUrl", install_step as "installStep"
    from environment where id = any(${[...new Set(environmentIds)]}::int[])`.execute(tx)
  return new Map(rows.map((row) => [row.id, row]))
}

export interface TickCommand {
  readonly workspaceId: number
  readonly runId: number
  readonly position: number
  readonly kind: 'infrastructure' | 'user'
  readonly text: string
  readonly continueOnError: boolean
}

/** Ids rise with the position, because clients sort by them. */
export async function insertCommands(tx: Db, commands: readonly TickCommand[]): Promise<void> {
  if (commands.length === 0) return
  await sql`/* command_insert_ticks */ insert into command
      (workspace_id, run_id, position, kind, text, original_text, continue_on_error)
    select v.workspace_id, v.run_id, v.position, v.kind, v.text, v.text, v.continue_on_error
    from unnest(${commands.map((one) => one.workspaceId)}::int[], ${commands.map((one) => one.runId)}::int[],
        ${commands.map((one) => one.position)}::int[], ${commands.map((one) => one.kind)}::text[],
        ${commands.map((one) => one.text)}::text[], ${commands.map((one) => one.continueOnError)}::boolean[])
      as v (workspace_id, run_id, position, kind, text, continue_on_error)
    order by v.run_id, v.position`.execute(tx)
}
