// Rows of runs: making them, whose turn it is, and their end. Whatever decides between runs of one schedule (make,
// release, cancel, end) first takes the lock of the schedule's row (`lockSchedule`), so that two of them stand in line;
// then the run's row; the audit log's head comes last. What a worker does to the run that it holds is in run-hold.ts.
import { sql } from 'kysely'
import type { FinalState, RunCause, RunState } from '../domain/run.ts'
import type { OpenRun, Overlap, RunPlan } from '../domain/run-plan.ts'
import type { Db } from './database.ts'
import { missingLabels } from './nodes.ts'

export const OPEN = sql.raw(`('waiting', 'starting', 'running', 'ending')`)
export const HELD = sql.raw(`('starting', 'running', 'ending')`)

/** What making a run needs to know of its schedule. */
export interface RunSchedule {
  readonly id: number
  readonly workspaceId: number
  readonly environmentId: number
  readonly slug: string
  readonly name: string
  readonly overlap: Overlap
  readonly active: boolean
  /** The schedule's own branch, else its environment's. */
  readonly branch: string
  readonly commands: readonly { readonly command: string; readonly continueOnError: boolean | null }[]
  readonly continueOnError: boolean
  readonly timeLimitSeconds: number | null
}

const scheduleColumns = sql`s.id, s.workspace_id as "workspaceId", s.environment_id as "environmentId", s.slug, s.name,
  s.overlap, s.deleted_at is null as active, s.commands, s.continue_on_error as "continueOnError",
  coalesce(s.git_branch, e.deployment_branch, e.default_branch) as branch, s.time_limit_seconds as "timeLimitSeconds"`

/** Everything that decides between runs of the schedule waits for this lock. Rows that refer to it may be added. */
export async function lockSchedule(tx: Db, id: number): Promise<RunSchedule> {
  const { rows } = await sql<RunSchedule>`/* run_schedule_lock */ select ${scheduleColumns}
    from schedule s join environment e on e.id = s.environment_id where s.id = ${id}
    for no key update of s`.execute(tx)
  return rows[0]!
}

/** By slug within a workspace, deleted ones too: their history stays readable. */
export async function findScheduleId(db: Db, workspaceId: number, slug: string): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* run_schedule_find */ select id from schedule
    where workspace_id = ${workspaceId} and slug = ${slug}`.execute(db)
  return rows[0]?.id ?? null
}

/** What the infrastructure commands of a run will be called. */
export async function readInfrastructure(
  db: Db,
  environmentId: number,
): Promise<{ repositoryUrl: string; installStep: string | null }> {
  const { rows } = await sql<{ repositoryUrl: string; installStep: string | null }>`
    /* run_infrastructure */ select repository_url as "repositoryUrl", install_step as "installStep"
    from environment where id = ${environmentId}`.execute(db)
  return rows[0]!
}

/**
 * Null when the tick has its row already: of two schedulers with the same tick one gets the row. The turn of a run is
 * decided under `lockSchedule`.
 */
export async function insert(tx: Db, plan: RunPlan, turn: 'go' | 'wait'): Promise<number | null> {
  const { rows } = await sql<{
    id: number
  }>`/* run_insert */ insert into run (workspace_id, schedule_id, environment_id,
      cause, due_at, state, actor, actor_email, reason, branch, pr_number, parent_run_id, retry_of, continue_on_error,
      time_limit_seconds, released_at, late_at, wanted_commit)
    values (${plan.workspaceId}, ${plan.scheduleId}, ${plan.environmentId}, ${plan.cause}, ${plan.dueAt}, 'waiting',
      ${plan.actor}, ${plan.actorEmail}, ${plan.reason}, ${plan.branch}, ${plan.prNumber}, ${plan.parentRunId},
      ${plan.retryOf}, ${plan.continueOnError}, ${plan.timeLimitSeconds},
      ${turn === 'go' ? sql`clock_timestamp()` : null},
      (select clock_timestamp() + sla_seconds * interval '1 second' from schedule where id = ${plan.scheduleId}),
      ${plan.commit ?? null})
    on conflict (schedule_id, due_at) where due_at is not null do nothing
    returning id`.execute(tx)
  return rows[0]?.id ?? null
}

export interface Skip {
  readonly workspaceId: number
  readonly scheduleId: number
  readonly environmentId: number
  readonly dueAt: string
  readonly detail: string
  readonly branch: string
  /** A row that stands for many: how many ticks, and the last of them. */
  readonly count?: number
  readonly until?: string
}

/** A tick that does not fire: start and end are its due time. Null when the tick has its row already. */
export async function insertSkip(tx: Db, skip: Skip): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* run_insert_skip */ insert into run (workspace_id, schedule_id,
      environment_id, cause, due_at, state, detail, actor, branch, skipped_count, skipped_until, accepted_at, ended_at)
    values (${skip.workspaceId}, ${skip.scheduleId}, ${skip.environmentId}, 'cron', ${skip.dueAt}, 'skipped',
      ${skip.detail}, 'schedule', ${skip.branch}, ${skip.count ?? null}, ${skip.until ?? null}, ${skip.dueAt},
      ${skip.dueAt})
    on conflict (schedule_id, due_at) where due_at is not null do nothing
    returning id`.execute(tx)
  return rows[0]?.id ?? null
}

/** Open runs of one schedule and pull request (null is a group too), oldest first. Decide under `lockSchedule`. */
export async function listOpen(tx: Db, scheduleId: number, prNumber: number | null): Promise<OpenRun[]> {
  const { rows } = await sql<OpenRun>`/* run_list_open */ select id, due_at is not null as "isTick",
      state <> 'waiting' or released_at is not null as released
    from run where schedule_id = ${scheduleId} and state in ${OPEN} and pr_number is not distinct from ${prNumber}
    order by id`.execute(tx)
  return rows
}

export async function listWaiting(tx: Db, scheduleId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`/* run_list_waiting */ select id from run
    where schedule_id = ${scheduleId} and state = 'waiting' order by id`.execute(tx)
  return rows.map((row) => row.id)
}

/**
 * Gives the oldest run of the group that waits for its turn that turn, when no other of the group has it. Null when
 * there is none, or not yet. Under `lockSchedule`; without it two could be released at once.
 */
export async function releaseNext(tx: Db, scheduleId: number, prNumber: number | null): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* run_release */ update run set released_at = clock_timestamp()
    where id = (
        select id from run where schedule_id = ${scheduleId} and state = 'waiting' and released_at is null
          and pr_number is not distinct from ${prNumber} order by id limit 1)
      and not exists (
        select 1 from run going where going.schedule_id = ${scheduleId} and going.state in ${OPEN}
          and going.pr_number is not distinct from ${prNumber}
          and (going.state <> 'waiting' or going.released_at is not null))
    returning id`.execute(tx)
  return rows[0]?.id ?? null
}

/** Groups in which runs wait and none has its turn: there should be none, and whoever looks releases them. */
export async function listStuckGroups(db: Db): Promise<{ scheduleId: number; prNumber: number | null }[]> {
  const { rows } = await sql<{ scheduleId: number; prNumber: number | null }>`
    /* run_stuck_groups */ select distinct waiting.schedule_id as "scheduleId", waiting.pr_number as "prNumber"
    from run waiting where waiting.state = 'waiting' and waiting.released_at is null
      and not exists (
        select 1 from run going where going.schedule_id = waiting.schedule_id and going.state in ${OPEN}
          and going.pr_number is not distinct from waiting.pr_number
          and (going.state <> 'waiting' or going.released_at is not null))
    limit 100`.execute(db)
  return rows
}

export interface LockedRun {
  readonly id: number
  readonly workspaceId: number
  readonly workspaceName: string
  readonly scheduleId: number
  readonly scheduleSlug: string
  readonly prNumber: number | null
  readonly state: RunState
  readonly attempt: number
  readonly cancelRequested: boolean
  readonly cancelBy: string
  /** As the database writes it; null before somebody took it. */
  readonly leaseUntil: string | null
}

/** The schedule that a run belongs to never changes, so this needs no lock: it is how the schedule's lock is found. */
export async function findScheduleOf(db: Db, runId: number, workspaceId?: number): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* run_schedule_of */ select schedule_id as id from run where id = ${runId}
    and workspace_id = coalesce(${workspaceId ?? null}::int, workspace_id)`.execute(db)
  return rows[0]?.id ?? null
}

/** After `lockSchedule`: holds back a worker that is about to take the run or to write its end. */
export async function lock(tx: Db, id: number): Promise<LockedRun> {
  const { rows } = await sql<LockedRun>`/* run_lock */ select r.id, r.workspace_id as "workspaceId",
      w.name as "workspaceName", r.schedule_id as "scheduleId", s.slug as "scheduleSlug", r.pr_number as "prNumber",
      r.state, r.attempt, r.cancel_requested_at is not null as "cancelRequested", r.cancel_by as "cancelBy",
      r.lease_until::text as "leaseUntil"
    from run r join schedule s on s.id = r.schedule_id join workspace w on w.id = r.workspace_id
    where r.id = ${id} for no key update of r`.execute(tx)
  return rows[0]!
}

/** A worker holds the run: it is told, and stops its commands. The first who asked is remembered. */
export async function requestCancel(tx: Db, id: number, by: string): Promise<void> {
  await sql`/* run_request_cancel */ update run set state = 'ending', cancel_requested_at = clock_timestamp(),
      cancel_by = ${by}
    where id = ${id} and state in ${HELD} and cancel_requested_at is null`.execute(tx)
  // Delivered at commit to whoever listens; lost when nobody does, so workers also look (run-hold.ts).
  await sql`/* run_notify_cancel */ select pg_notify('yardmaster_cancel', ${String(id)})`.execute(tx)
}

/**
 * The end of a run, for good: only the attempt that the caller knows, and only while the run is open. False when it
 * ended already or somebody else holds it. Commands that were running were stopped, those that had not begun never will.
 */
export async function end(
  tx: Db,
  run: { readonly id: number; readonly attempt: number },
  final: { readonly state: FinalState; readonly detail: string; readonly canceledBy?: string },
): Promise<boolean> {
  const ended = await sql`/* run_end */ update run set state = ${final.state}, detail = ${final.detail},
      ended_at = clock_timestamp(), cancel_by = coalesce(${final.canceledBy ?? null}, cancel_by),
      cancel_requested_at = case when ${final.state === 'canceled'}
        then coalesce(cancel_requested_at, clock_timestamp()) else cancel_requested_at end
    where id = ${run.id} and attempt = ${run.attempt} and state in ${OPEN}`.execute(tx)
  if (ended.numAffectedRows !== 1n) return false
  // 137: whatever stood for the command was killed with its worker, or by it.
  await sql`/* run_end_commands */ update command set
      state = case state when 'running' then 'stopped' when 'waiting' then 'not_run' else state end,
      ended_at = case state when 'running' then clock_timestamp() else ended_at end,
      return_code = case state when 'running' then 137 else return_code end,
      log_finished = true
    where run_id = ${run.id}`.execute(tx)
  return true
}

export interface RunRow {
  readonly id: number
  readonly workspaceId: number
  readonly scheduleId: number
  readonly scheduleSlug: string
  readonly scheduleName: string
  readonly scheduleActive: boolean
  readonly environmentId: number
  readonly cause: RunCause
  readonly state: RunState
  readonly detail: string
  readonly skippedCount: number | null
  readonly skippedUntil: string | null
  readonly actor: string
  readonly actorEmail: string
  readonly reason: string
  readonly branch: string
  readonly commitHash: string
  readonly isolation: string
  readonly prNumber: number | null
  readonly parentRunId: number | null
  readonly retryOf: number | null
  readonly continueOnError: boolean
  readonly timeLimitSeconds: number | null
  readonly attempt: number
  readonly workerId: string | null
  readonly cancelBy: string
  /** Times as on the wire: `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly dueAt: string | null
  readonly acceptedAt: string
  readonly releasedAt: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly cancelRequestedAt: string | null
  /** Its turn came, and no worker that is alive has these labels (none are needed: no worker is alive). Else null. */
  readonly missingLabels: readonly string[] | null
}

export const runColumns = sql`r.id, r.workspace_id as "workspaceId", r.schedule_id as "scheduleId", s.slug as "scheduleSlug",
  s.name as "scheduleName", s.deleted_at is null as "scheduleActive", r.environment_id as "environmentId", r.cause,
  r.state, r.detail, r.skipped_count as "skippedCount", wire_time(r.skipped_until) as "skippedUntil", r.actor,
  r.actor_email as "actorEmail", r.reason, r.branch, r.commit_hash as "commitHash", r.isolation, r.pr_number as "prNumber",
  r.parent_run_id as "parentRunId", r.retry_of as "retryOf", r.continue_on_error as "continueOnError",
  r.time_limit_seconds as "timeLimitSeconds", r.attempt, r.worker_id as "workerId", r.cancel_by as "cancelBy",
  wire_time(r.due_at) as "dueAt", wire_time(r.accepted_at) as "acceptedAt", wire_time(r.released_at) as "releasedAt",
  wire_time(r.started_at) as "startedAt", wire_time(r.ended_at) as "endedAt",
  wire_time(r.cancel_requested_at) as "cancelRequestedAt",
  case when r.state = 'waiting' and r.released_at is not null then ${missingLabels} end as "missingLabels"`

/** Newest first; of one schedule, or of the whole workspace. */
export async function list(
  db: Db,
  of: { readonly workspaceId: number; readonly scheduleId: number | null },
  page: { readonly offset: number; readonly limit: number },
): Promise<RunRow[]> {
  const { rows } =
    await sql<RunRow>`/* run_list */ select ${runColumns} from run r join schedule s on s.id = r.schedule_id
    where r.workspace_id = ${of.workspaceId} ${of.scheduleId === null ? sql`` : sql`and r.schedule_id = ${of.scheduleId}`}
    order by r.id desc offset ${page.offset} limit ${page.limit}`.execute(db)
  return rows
}

export async function find(db: Db, workspaceId: number, id: number): Promise<RunRow | null> {
  const { rows } =
    await sql<RunRow>`/* run_find */ select ${runColumns} from run r join schedule s on s.id = r.schedule_id
    where r.workspace_id = ${workspaceId} and r.id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** A skipped tick is never the latest run. */
export async function findLatest(db: Db, scheduleId: number): Promise<RunRow | null> {
  const { rows } =
    await sql<RunRow>`/* run_latest */ select ${runColumns} from run r join schedule s on s.id = r.schedule_id
    where r.schedule_id = ${scheduleId} and r.state <> 'skipped' order by r.id desc limit 1`.execute(db)
  return rows[0] ?? null
}
