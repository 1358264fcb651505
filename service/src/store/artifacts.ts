// Files of commands: which, how large, and the hash by which their bytes are found.
import { sql } from 'kysely'
import type { Db } from './database.ts'

export interface Artifact {
  readonly id: number
  readonly commandId: number
  /** From the root of the checkout. */
  readonly path: string
  readonly size: number
}

export interface StoredArtifact extends Artifact {
  readonly sha256: Buffer
  readonly listed: boolean
}

const columns = sql`a.id, a.command_id as "commandId", a.path, a.size`

/** What people see, of a run or of one command, by command and path. */
export async function list(
  db: Db,
  workspaceId: number,
  of: { readonly runId: number } | { readonly commandId: number },
): Promise<Artifact[]> {
  const which = 'runId' in of ? sql`a.run_id = ${of.runId}` : sql`a.command_id = ${of.commandId}`
  const { rows } = await sql<Artifact>`/* artifact_list */ select ${columns} from artifact a
    where a.workspace_id = ${workspaceId} and ${which} and a.listed and a.removed_at is null
    order by a.command_id, a.path collate "C"`.execute(db)
  return rows
}

export async function find(db: Db, workspaceId: number, id: number): Promise<StoredArtifact | null> {
  const { rows } = await sql<StoredArtifact>`/* artifact_find */ select ${columns}, a.sha256, a.listed from artifact a
    where a.workspace_id = ${workspaceId} and a.id = ${id} and a.listed and a.removed_at is null`.execute(db)
  return rows[0] ?? null
}

/** All that is kept of a command with these names, at any depth, shown or not. */
export async function listNamed(
  db: Db,
  workspaceId: number,
  commandId: number,
  names: readonly string[],
): Promise<StoredArtifact[]> {
  const { rows } = await sql<StoredArtifact>`/* artifact_named */ select ${columns}, a.sha256, a.listed from artifact a
    where a.workspace_id = ${workspaceId} and a.command_id = ${commandId} and a.removed_at is null
      and regexp_replace(a.path, '^.*/', '') = any (${[...names]}::text[])
    order by a.path collate "C"`.execute(db)
  return rows
}

export interface DeferredState {
  readonly runId: number
  readonly commandId: number
  /** Of its manifest. */
  readonly path: string
}

/**
 * The manifest of the latest run of the schedule that left one: of its last command that did. Runs of pull requests
 * are nobody's base.
 */
export async function findDeferred(
  db: Db,
  of: {
    readonly workspaceId: number
    readonly slug: string
    readonly successfulRunOnly: boolean
    readonly before: number
  },
): Promise<DeferredState | null> {
  const { rows } = await sql<DeferredState>`/* artifact_deferred */ select r.id as "runId", a.command_id as "commandId",
      a.path
    from schedule s join run r on r.schedule_id = s.id join artifact a on a.run_id = r.id
    where s.workspace_id = ${of.workspaceId} and s.slug = ${of.slug} and r.id < ${of.before} and r.pr_number is null
      and r.ended_at is not null and r.state <> 'skipped' and (r.state = 'succeeded' or not ${of.successfulRunOnly})
      and a.removed_at is null and regexp_replace(a.path, '^.*/', '') = 'manifest.json'
    order by r.id desc, a.command_id desc, length(a.path), a.path limit 1`.execute(db)
  return rows[0] ?? null
}

/** What the run has used of its limits. */
export async function usage(db: Db, runId: number): Promise<{ files: number; bytes: number }> {
  const { rows } = await sql<{ files: number; bytes: number }>`/* artifact_usage */
    select count(*) as files, coalesce(sum(size), 0)::bigint as bytes from artifact where run_id = ${runId}`.execute(db)
  return rows[0]!
}

/** One hold of a worker on a run, and the command in it. */
export interface ArtifactOwner {
  readonly workspaceId: number
  readonly workspaceUid: string
  readonly runId: number
  readonly attempt: number
  readonly commandId: number
}

/** Null when the worker does not hold the run any longer. The same path again replaces what it stood for. */
export async function insert(
  db: Db,
  of: ArtifactOwner,
  file: { readonly path: string; readonly size: number; readonly sha256: Buffer; readonly listed: boolean },
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* artifact_insert */
    insert into artifact (workspace_id, run_id, command_id, path, size, sha256, listed)
    select r.workspace_id, r.id, c.id, ${file.path}, ${file.size}::bigint, ${file.sha256}, ${file.listed}::boolean
    from run r join command c on c.run_id = r.id
    where r.id = ${of.runId} and r.workspace_id = ${of.workspaceId} and r.attempt = ${of.attempt}
      and r.state in ('starting', 'running', 'ending') and c.id = ${of.commandId} for share of r
    on conflict (command_id, path) do update
      set size = excluded.size, sha256 = excluded.sha256, listed = excluded.listed, removed_at = null
    returning id`.execute(db)
  return rows[0]?.id ?? null
}
