// Rows of schedules. What the scheduler does to them is in due-schedules.ts; the values of their variables in
// schedule-variables.ts.
import { sql } from 'kysely'
import type { CatchUp, Overlap } from '../domain/due.ts'
import type { Visibility } from '../domain/policy.ts'
import type { RunState } from '../domain/run.ts'
import type {
  Deferral,
  Integrations,
  Notifications,
  ScheduleCommand,
  ScheduleSource,
  ScheduleTrigger,
  SelfHealing,
} from '../domain/schedule.ts'
import type { Db } from './database.ts'

/** What a schedule holds, as far as somebody says it. */
export interface ScheduleValues {
  readonly environmentId: number
  readonly name: string
  readonly cron: string
  readonly timezone: string
  readonly description: string
  readonly ownerEmail: string
  readonly suspended: boolean
  readonly commands: readonly ScheduleCommand[]
  /** Null is the environment's. */
  readonly ownBranch: string | null
  readonly continueOnError: boolean
  readonly slaSeconds: number | null
  readonly timeLimitSeconds: number | null
  readonly triggerOnMerge: boolean
  readonly notifications: Notifications
  readonly selfHealing: SelfHealing | null
  readonly integrations: Integrations | null
  readonly turboCi: Deferral | null
  readonly deferredSchedule: Deferral | null
  readonly scheduleTrigger: ScheduleTrigger | null
  readonly labels: readonly string[]
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly catchUpWindowSeconds: number
}

export interface Schedule extends ScheduleValues {
  readonly id: number
  readonly uuid: string
  readonly workspaceId: number
  readonly slug: string
  /** The slug of its environment. */
  readonly environment: string
  /** The branch that a run would take. */
  readonly gitBranch: string
  /** False when the owner's address is no active user of the workspace; true without an owner. */
  readonly ownerIsKnown: boolean
  readonly source: ScheduleSource
  readonly sourceFile: string | null
  readonly active: boolean
  readonly envVarNames: readonly string[]
  /** Times as on the wire: `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly nextDueAt: string | null
  readonly createdAt: string
  readonly updatedAt: string
  /** The latest run, never a skipped tick. */
  readonly latestRunId: number | null
  readonly lastRunState: RunState | null
  readonly lastRunAt: string | null
}

const columns = sql`s.id, s.uuid, s.workspace_id as "workspaceId", s.slug, s.environment_id as "environmentId",
  e.slug as environment, s.name, s.cron, s.timezone, s.description, s.owner_email as "ownerEmail", s.suspended,
  s.commands, s.git_branch as "ownBranch", coalesce(s.git_branch, e.deployment_branch, e.default_branch) as "gitBranch",
  s.continue_on_error as "continueOnError", s.sla_seconds as "slaSeconds", s.time_limit_seconds as "timeLimitSeconds",
  s.trigger_on_merge as "triggerOnMerge", s.notifications, s.self_healing as "selfHealing", s.integrations,
  s.turbo_ci as "turboCi", s.deferred_schedule as "deferredSchedule", s.schedule_trigger as "scheduleTrigger", s.labels,
  s.overlap, s.catch_up as "catchUp", s.catch_up_window_seconds as "catchUpWindowSeconds", s.source,
  s.source_file as "sourceFile", s.deleted_at is null as active, wire_time(s.next_due_at) as "nextDueAt",
  wire_time(s.created_at) as "createdAt", wire_time(s.updated_at) as "updatedAt",
  s.owner_email = '' or exists (select 1 from membership m join person p on p.id = m.person_id
    where m.workspace_id = s.workspace_id and m.disabled_at is null and lower(p.email) = lower(s.owner_email)
  ) as "ownerIsKnown",
  array(select v.name from schedule_variable v where v.schedule_id = s.id order by v.name) as "envVarNames",
  latest.id as "latestRunId", latest.state as "lastRunState", wire_time(latest.accepted_at) as "lastRunAt"`

const joined = sql`join environment e on e.id = s.environment_id
  left join lateral (select r.id, r.state, r.accepted_at from run r
    where r.schedule_id = s.id and r.state <> 'skipped' order by r.id desc limit 1) latest on true`

export interface ScheduleFilter {
  /** Whether schedules that are deleted, or gone from their file, are left out, listed too, or listed alone. */
  readonly inactive: 'exclude' | 'include' | 'only'
  readonly suspended: boolean | null
}

const matches = (workspaceId: number, filter: ScheduleFilter) => sql`s.workspace_id = ${workspaceId}
  ${filter.inactive === 'include' ? sql`` : sql`and (s.deleted_at is null) = ${filter.inactive === 'exclude'}`}
  ${filter.suspended === null ? sql`` : sql`and s.suspended = ${filter.suspended}`}`

/** By name, then id. */
export async function list(
  db: Db,
  workspaceId: number,
  filter: ScheduleFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<Schedule[]> {
  // The page is cut before the rest is looked up, or every schedule in front of it would cost a look at its runs.
  const { rows } = await sql<Schedule>`/* schedule_list */ select ${columns}
    from (select * from schedule s where ${matches(workspaceId, filter)} order by s.name, s.id
      offset ${page.offset} limit ${page.limit}) s ${joined}
    order by s.name, s.id`.execute(db)
  return rows
}

export async function count(db: Db, workspaceId: number, filter: ScheduleFilter): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* schedule_count */ select count(*)::int as count from schedule s
    where ${matches(workspaceId, filter)}`.execute(db)
  return rows[0]!.count
}

export interface ScheduleName {
  readonly name: string
  readonly slug: string
  readonly workspaceName: string
  readonly workspaceUid: string
}

/** The active ones of all workspaces that somebody sees, suspended ones among them. */
export async function listNames(db: Db, visible: Visibility): Promise<ScheduleName[]> {
  const { rows } = await sql<ScheduleName>`/* schedule_names */ select s.name, s.slug, w.name as "workspaceName",
      w.uid as "workspaceUid"
    from schedule s join workspace w on w.id = s.workspace_id
    where s.deleted_at is null and w.archived_at is null
      and ${visible === 'all' ? sql`true` : sql`w.id = any(${[...visible]}::int[])`}
    order by w.name, w.id, s.name, s.id`.execute(db)
  return rows
}

export async function find(
  db: Db,
  workspaceId: number,
  slug: string,
  which: 'active' | 'any' = 'active',
): Promise<Schedule | null> {
  const { rows } = await sql<Schedule>`/* schedule_find */ select ${columns} from schedule s ${joined}
    where s.workspace_id = ${workspaceId} and s.slug = ${slug}
      ${which === 'active' ? sql`and s.deleted_at is null` : sql``}`.execute(db)
  return rows[0] ?? null
}

/** An active one, locked: the same lock under which its runs are made and its times are fired. */
export async function lock(tx: Db, workspaceId: number, slug: string): Promise<Schedule | null> {
  const { rows } = await sql`/* schedule_lock */ select 1 from schedule
    where workspace_id = ${workspaceId} and slug = ${slug} and deleted_at is null for no key update`.execute(tx)
  return rows.length === 0 ? null : await find(tx, workspaceId, slug)
}

const json = (value: unknown) => sql`${value === null ? null : JSON.stringify(value)}::jsonb`

const assigned = (values: ScheduleValues) => ({
  environment_id: sql`${values.environmentId}`,
  name: sql`${values.name}`,
  cron: sql`${values.cron}`,
  timezone: sql`${values.timezone}`,
  description: sql`${values.description}`,
  owner_email: sql`${values.ownerEmail}`,
  suspended: sql`${values.suspended}`,
  commands: json(values.commands),
  git_branch: sql`${values.ownBranch}`,
  continue_on_error: sql`${values.continueOnError}`,
  sla_seconds: sql`${values.slaSeconds}`,
  time_limit_seconds: sql`${values.timeLimitSeconds}`,
  trigger_on_merge: sql`${values.triggerOnMerge}`,
  notifications: json(values.notifications),
  self_healing: json(values.selfHealing),
  integrations: json(values.integrations),
  turbo_ci: json(values.turboCi),
  deferred_schedule: json(values.deferredSchedule),
  schedule_trigger: json(values.scheduleTrigger),
  labels: sql`${[...values.labels]}::text[]`,
  overlap: sql`${values.overlap}`,
  catch_up: sql`${values.catchUp}`,
  catch_up_window_seconds: sql`${values.catchUpWindowSeconds}`,
})

/** Null when the slug is taken, also by a deleted schedule or by somebody who came in a moment ago: mint another. */
export async function insert(
  tx: Db,
  schedule: { readonly workspaceId: number; readonly slug: string; readonly nextDueAt: Date | null },
  values: ScheduleValues,
): Promise<number | null> {
  const all = {
    workspace_id: sql`${schedule.workspaceId}`,
    slug: sql`${schedule.slug}`,
    next_due_at: sql`${schedule.nextDueAt?.toISOString() ?? null}`,
    ...assigned(values),
  }
  const { rows } = await sql<{ id: number }>`/* schedule_insert */ insert into schedule
    (${sql.join(Object.keys(all).map((name) => sql.ref(name)))}) values (${sql.join(Object.values(all))})
    on conflict (workspace_id, slug) do nothing returning id`.execute(tx)
  return rows[0]?.id ?? null
}

/** Under `lock`. `nextDueAt` undefined leaves it to the scheduler. */
export async function update(
  tx: Db,
  id: number,
  values: ScheduleValues,
  nextDueAt: Date | null | undefined,
): Promise<void> {
  const all = {
    ...assigned(values),
    ...(nextDueAt === undefined ? {} : { next_due_at: sql`${nextDueAt?.toISOString() ?? null}` }),
  }
  const pairs = Object.entries(all).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
  await sql`/* schedule_update */ update schedule set ${sql.join(pairs)}, updated_at = clock_timestamp()
    where id = ${id}`.execute(tx)
}

/** Under `lock`. */
export async function suspend(tx: Db, id: number, suspended: boolean, nextDueAt: Date | null): Promise<void> {
  await sql`/* schedule_suspend */ update schedule set suspended = ${suspended},
      next_due_at = ${nextDueAt?.toISOString() ?? null}, updated_at = clock_timestamp()
    where id = ${id}`.execute(tx)
}

/** Under `lock`. The row stays for its history, its variables for a run that is still going. */
export async function remove(tx: Db, id: number): Promise<void> {
  await sql`/* schedule_delete */ update schedule set deleted_at = clock_timestamp(), next_due_at = null,
      updated_at = clock_timestamp()
    where id = ${id}`.execute(tx)
}
