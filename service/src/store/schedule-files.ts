// Schedules that come from files, written many at a time, and what became of the files when they were last looked at.
import { sql } from 'kysely'
import type { Finding } from '../domain/schedule-file-yaml.ts'
import type { Db } from './database.ts'
import type { ScheduleValues } from './schedules.ts'

/** The columns and types of what a schedule holds: all of it, so that a new field cannot be forgotten here. */
const COLUMNS = {
  environmentId: ['environment_id', 'integer'],
  name: ['name', 'text'],
  cron: ['cron', 'text'],
  timezone: ['timezone', 'text'],
  description: ['description', 'text'],
  ownerEmail: ['owner_email', 'text'],
  suspended: ['suspended', 'boolean'],
  commands: ['commands', 'jsonb'],
  ownBranch: ['git_branch', 'text'],
  continueOnError: ['continue_on_error', 'boolean'],
  slaSeconds: ['sla_seconds', 'integer'],
  timeLimitSeconds: ['time_limit_seconds', 'integer'],
  triggerOnMerge: ['trigger_on_merge', 'boolean'],
  notifications: ['notifications', 'jsonb'],
  selfHealing: ['self_healing', 'jsonb'],
  integrations: ['integrations', 'jsonb'],
  turboCi: ['turbo_ci', 'jsonb'],
  deferredSchedule: ['deferred_schedule', 'jsonb'],
  scheduleTrigger: ['schedule_trigger', 'jsonb'],
  labels: ['labels', 'text[]'],
  overlap: ['overlap', 'text'],
  catchUp: ['catch_up', 'text'],
  catchUpWindowSeconds: ['catch_up_window_seconds', 'integer'],
} as const satisfies Readonly<Record<keyof ScheduleValues, readonly [string, string]>>

const names = Object.values(COLUMNS).map(([name]) => name)
const columnList = sql.raw(names.join(', '))
const recordType = sql.raw(
  ['slug text', 'source_file text', 'next_due_at timestamptz', 'id integer', 'reanchored boolean']
    .concat(Object.values(COLUMNS).map(([name, type]) => `${name} ${type}`))
    .join(', '),
)

export interface FileRow {
  readonly slug: string
  readonly sourceFile: string
  readonly values: ScheduleValues
  readonly nextDueAt: Date | null
}

const record = ({ slug, sourceFile, values, nextDueAt }: FileRow): Record<string, unknown> => ({
  slug,
  source_file: sourceFile,
  next_due_at: nextDueAt?.toISOString() ?? null,
  ...Object.fromEntries(
    Object.entries(COLUMNS).map(([field, [column]]) => [column, values[field as keyof ScheduleValues]]),
  ),
})

/** The ids by slug. Under the lock of references; a slug that somebody takes in this moment fails the whole. */
export async function insertMany(tx: Db, workspaceId: number, rows: readonly FileRow[]): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map()
  const made = await sql<{ id: number; slug: string }>`/* schedule_insert_many */ insert into schedule
      (workspace_id, source, slug, source_file, next_due_at, ${columnList})
    select ${workspaceId}, 'yaml', slug, source_file, next_due_at, ${columnList}
    from jsonb_to_recordset(${JSON.stringify(rows.map(record))}::jsonb) as r(${recordType})
    returning id, slug`.execute(tx)
  return new Map(made.rows.map((row) => [row.slug, row.id]))
}

/** Under their locks. What was gone comes back; what is not re-anchored keeps the time that the scheduler looks at. */
export async function updateMany(
  tx: Db,
  workspaceId: number,
  rows: readonly (FileRow & { readonly id: number; readonly reanchored: boolean })[],
): Promise<void> {
  if (rows.length === 0) return
  const all = rows.map((row) => ({ ...record(row), id: row.id, reanchored: row.reanchored }))
  const pairs = sql.raw(names.map((name) => `${name} = r.${name}`).join(', '))
  await sql`/* schedule_update_many */ update schedule s set source = 'yaml', source_file = r.source_file,
      deleted_at = null, next_due_at = case when r.reanchored then r.next_due_at else s.next_due_at end,
      updated_at = clock_timestamp(), ${pairs}
    from jsonb_to_recordset(${JSON.stringify(all)}::jsonb) as r(${recordType})
    where s.workspace_id = ${workspaceId} and s.id = r.id`.execute(tx)
}

/** The parents of schedules that were made in the same breath. */
export async function setParents(
  tx: Db,
  workspaceId: number,
  parents: readonly { readonly id: number; readonly parentId: number }[],
): Promise<void> {
  if (parents.length === 0) return
  await sql`/* schedule_set_parents */ update schedule s
      set schedule_trigger = jsonb_set(s.schedule_trigger, '{parentId}', to_jsonb(p.parent))
    from unnest(${parents.map((one) => one.id)}::int[], ${parents.map((one) => one.parentId)}::int[]) as p(id, parent)
    where s.workspace_id = ${workspaceId} and s.id = p.id`.execute(tx)
}

/**
 * Locks what a sync may change: all that files made, and what else has one of these slugs, in one order. The scheduler
 * passes over them and finds their times when it comes back.
 */
export async function lockMany(tx: Db, workspaceId: number, slugs: readonly string[]): Promise<void> {
  await sql`/* schedule_lock_many */ select 1 from schedule
    where workspace_id = ${workspaceId} and (source = 'yaml' or slug = any(${[...slugs]}::text[]))
    order by id for no key update`.execute(tx)
}

export interface OutsideRow {
  readonly id: number
  readonly slug: string
  readonly name: string
  readonly workspaceName: string
  readonly workspaceUid: string
  readonly parentId: number | null
}

/** Active schedules of other workspaces that wait for something, and all of the named workspaces. */
export async function listOutside(db: Db, workspaceId: number, workspaces: readonly string[]): Promise<OutsideRow[]> {
  const lower = workspaces.map((one) => one.toLowerCase())
  const { rows } = await sql<OutsideRow>`/* schedule_outside */ select s.id, s.slug, s.name, w.name as "workspaceName",
      w.uid as "workspaceUid", case when (s.schedule_trigger ->> 'enabled')::boolean
        then (s.schedule_trigger ->> 'parentId')::int end as "parentId"
    from schedule s join workspace w on w.id = s.workspace_id and w.archived_at is null
    where s.workspace_id <> ${workspaceId} and s.deleted_at is null
      and (s.schedule_trigger is not null or lower(w.name) = any(${lower}::text[])
        or w.uid = any(${[...workspaces]}::text[]))`.execute(db)
  return rows
}

export interface FileState {
  readonly path: string
  readonly schedules: number
  readonly ok: boolean
}

export interface SyncState {
  readonly repositoryUrl: string
  readonly branch: string
  readonly commitHash: string
  readonly fetchedAt: Date | null
  readonly syncedAt: string | null
  readonly checkedAt: string
  readonly warning: string
  readonly settings: string
  readonly files: readonly FileState[]
  readonly findings: readonly Finding[]
}

export async function findSync(db: Db, workspaceId: number): Promise<SyncState | null> {
  const { rows } = await sql<SyncState>`/* schedule_sync_find */ select repository_url as "repositoryUrl", branch,
      commit_hash as "commitHash", fetched_at as "fetchedAt", wire_time(synced_at) as "syncedAt",
      wire_time(checked_at) as "checkedAt", warning, settings, files, findings
    from schedule_sync where workspace_id = ${workspaceId}`.execute(db)
  return rows[0] ?? null
}

interface Checked {
  readonly repositoryUrl: string
  readonly branch: string
  readonly checkedAt: Date
  readonly warning: string
}

/** Somebody looked, and nothing was to be done or could be. */
export async function saveChecked(db: Db, workspaceId: number, checked: Checked): Promise<void> {
  const { repositoryUrl, branch, checkedAt, warning } = checked
  await sql`/* schedule_sync_checked */ insert into schedule_sync (workspace_id, repository_url, branch, checked_at, warning)
    values (${workspaceId}, ${repositoryUrl}, ${branch}, ${checkedAt.toISOString()}, ${warning})
    on conflict (workspace_id) do update set checked_at = greatest(schedule_sync.checked_at, excluded.checked_at),
      warning = excluded.warning`.execute(db)
}

/** In the transaction of the sync. */
export async function saveSync(
  tx: Db,
  workspaceId: number,
  state: Checked & {
    readonly commitHash: string
    readonly fetchedAt: Date
    readonly settings: string
    readonly files: readonly FileState[]
    readonly findings: readonly Finding[]
  },
): Promise<void> {
  await sql`/* schedule_sync_save */ insert into schedule_sync (workspace_id, repository_url, branch, commit_hash,
      fetched_at, synced_at, checked_at, warning, settings, files, findings)
    values (${workspaceId}, ${state.repositoryUrl}, ${state.branch}, ${state.commitHash},
      ${state.fetchedAt.toISOString()}, clock_timestamp(), ${state.checkedAt.toISOString()}, ${state.warning},
      ${state.settings}, ${JSON.stringify(state.files)}::jsonb, ${JSON.stringify(state.findings)}::jsonb)
    on conflict (workspace_id) do update set repository_url = excluded.repository_url, branch = excluded.branch,
      commit_hash = excluded.commit_hash, fetched_at = excluded.fetched_at, synced_at = excluded.synced_at,
      checked_at = greatest(schedule_sync.checked_at, excluded.checked_at), warning = excluded.warning,
      settings = excluded.settings, files = excluded.files, findings = excluded.findings`.execute(tx)
}
