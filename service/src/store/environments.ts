import { sql } from 'kysely'
import type { EnvironmentFields, EnvironmentType } from '../domain/environment.ts'
import type { Db } from './database.ts'

export interface Environment {
  readonly id: number
  readonly slug: string
  readonly displayName: string
  readonly type: EnvironmentType
  readonly isDefault: boolean
  readonly repositoryUrl: string
  readonly defaultBranch: string
  readonly deploymentBranch: string | null
  readonly installStep: string | null
  readonly pythonPackages: readonly string[]
  readonly excludedFiles: readonly string[] | null
  readonly workerLabels: readonly string[]
  readonly stopSeconds: number
}

const columns = sql`id, slug, display_name as "displayName", type, is_default as "isDefault",
  repository_url as "repositoryUrl", default_branch as "defaultBranch", deployment_branch as "deploymentBranch",
  install_step as "installStep", python_packages as "pythonPackages", excluded_files as "excludedFiles",
  worker_labels as "workerLabels", stop_seconds as "stopSeconds"`

/** Active ones by name, then id. */
export async function list(db: Db, workspaceId: number): Promise<Environment[]> {
  const { rows } = await sql<Environment>`/* environment_list */ select ${columns} from environment
    where workspace_id = ${workspaceId} and archived_at is null order by display_name, id`.execute(db)
  return rows
}

/** The same, locked: slugs and the one default per type are decided under this lock. */
export async function lock(tx: Db, workspaceId: number): Promise<Environment[]> {
  await sql`/* environment_lock_workspace */ select 1 from workspace where id = ${workspaceId} for update`.execute(tx)
  return await list(tx, workspaceId)
}

export async function insert(
  tx: Db,
  workspaceId: number,
  environment: { slug: string; displayName: string; type: EnvironmentType },
): Promise<number> {
  const { id } = await tx
    .insertInto('environment')
    .values({
      workspace_id: workspaceId,
      slug: environment.slug,
      display_name: environment.displayName,
      type: environment.type,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function update(tx: Db, workspaceId: number, id: number, fields: EnvironmentFields): Promise<void> {
  const values = {
    ...(fields.displayName === undefined ? {} : { display_name: fields.displayName }),
    ...(fields.repositoryUrl === undefined ? {} : { repository_url: fields.repositoryUrl }),
    ...(fields.defaultBranch === undefined ? {} : { default_branch: fields.defaultBranch }),
    ...(fields.deploymentBranch === undefined ? {} : { deployment_branch: fields.deploymentBranch }),
    ...(fields.installStep === undefined ? {} : { install_step: fields.installStep }),
    ...(fields.pythonPackages === undefined ? {} : { python_packages: [...fields.pythonPackages] }),
    ...(fields.excludedFiles === undefined
      ? {}
      : { excluded_files: fields.excludedFiles === null ? null : [...fields.excludedFiles] }),
    ...(fields.stopSeconds === undefined ? {} : { stop_seconds: fields.stopSeconds }),
    ...(fields.workerLabels === undefined ? {} : { worker_labels: [...new Set(fields.workerLabels)] }),
  }
  if (Object.keys(values).length === 0) return
  await tx.updateTable('environment').set(values).where('workspace_id', '=', workspaceId).where('id', '=', id).execute()
}

/** Under the lock of `lock`: the old default of the type first, so that the unique index never sees two. */
export async function makeDefault(tx: Db, workspaceId: number, id: number, type: EnvironmentType): Promise<void> {
  await sql`/* environment_no_default */ update environment set is_default = false
    where workspace_id = ${workspaceId} and type = ${type} and is_default and archived_at is null`.execute(tx)
  await sql`/* environment_default */ update environment set is_default = true
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

export async function archive(tx: Db, workspaceId: number, id: number): Promise<void> {
  await sql`/* environment_archive */ update environment set archived_at = clock_timestamp(), is_default = false
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

// --- variables: environmentId null is the workspace's own

export interface ScopedVariable {
  readonly environmentId: number | null
  readonly name: string
  readonly value: string
}

export async function listVariables(db: Db, workspaceId: number): Promise<ScopedVariable[]> {
  const { rows } = await sql<ScopedVariable>`
    /* variable_list */ select environment_id as "environmentId", name, value from variable
    where workspace_id = ${workspaceId} order by name`.execute(db)
  return rows
}

/** The later of two writers wins. */
export async function setVariable(tx: Db, workspaceId: number, variable: ScopedVariable): Promise<void> {
  await sql`/* variable_set */ insert into variable (workspace_id, environment_id, name, value)
    values (${workspaceId}, ${variable.environmentId}, ${variable.name}, ${variable.value})
    on conflict (workspace_id, environment_id, name)
    do update set value = excluded.value, updated_at = clock_timestamp()`.execute(tx)
}

export async function deleteVariable(
  tx: Db,
  workspaceId: number,
  environmentId: number | null,
  name: string,
): Promise<boolean> {
  const done = await sql`/* variable_delete */ delete from variable where workspace_id = ${workspaceId}
    and environment_id is not distinct from ${environmentId} and name = ${name}`.execute(tx)
  return done.numAffectedRows === 1n
}
