import { sql } from 'kysely'
import type { WorkspaceRef } from '../domain/actor.ts'
import type { Visibility } from '../domain/policy.ts'
import type { Db } from './database.ts'

const columns = ['id', 'uid', 'name', 'agents'] as const

/**
 * How many active workspaces have people, as a part of a statement: whoever is ADMIN of all of them runs the account. One
 * that a key made and nobody joined yet must not take that from them.
 */
export const peopledWorkspaces = sql`(select count(*)::int from workspace peopled where archived_at is null
  and exists (select 1 from membership where workspace_id = peopled.id and disabled_at is null))`

/** Active ones by name, then id. */
export async function list(db: Db, visible: Visibility): Promise<WorkspaceRef[]> {
  const { rows } = await sql<WorkspaceRef>`
    /* workspace_list */ select id, uid, name, agents from workspace
    where archived_at is null and ${visible === 'all' ? sql`true` : sql`id = any(${[...visible]}::int[])`}
    order by name, id`.execute(db)
  return rows
}

export async function findByUid(db: Db, uid: string): Promise<WorkspaceRef | null> {
  const row = await db
    .selectFrom('workspace')
    .select(columns)
    .where('uid', '=', uid)
    .where('archived_at', 'is', null)
    .executeTakeFirst()
  return row ?? null
}

/** Whether an active workspace other than `exceptId` has the name; the unique index decides a race. */
export async function nameIsTaken(db: Db, name: string, exceptId: number | null): Promise<boolean> {
  const { rows } = await sql`/* workspace_name_taken */ select 1 from workspace
    where lower(name) = lower(${name}) and archived_at is null and id is distinct from ${exceptId}`.execute(db)
  return rows.length > 0
}

export async function insert(tx: Db, workspace: { uid: string; name: string }): Promise<WorkspaceRef> {
  return await tx.insertInto('workspace').values(workspace).returning(columns).executeTakeFirstOrThrow()
}

export async function rename(tx: Db, id: number, name: string): Promise<void> {
  await tx.updateTable('workspace').set({ name }).where('id', '=', id).execute()
}

export async function setAgents(tx: Db, id: number, enabled: boolean): Promise<void> {
  await tx.updateTable('workspace').set({ agents: enabled }).where('id', '=', id).execute()
}

/** Locks all active workspaces, in id order, and gives their ids: "never archive the last" is decided under it. */
export async function lockActive(tx: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`/* workspace_lock_active */ select id from workspace
    where archived_at is null order by id for update`.execute(tx)
  return rows.map((row) => row.id)
}

export async function archive(tx: Db, id: number): Promise<void> {
  await sql`/* workspace_archive */ update workspace set archived_at = clock_timestamp() where id = ${id}`.execute(tx)
}
