// Which schedules refer to which: deferring to another one, or running after a parent.
import { sql } from 'kysely'
import type { Db } from './database.ts'

// Any number that nothing else in this database uses.
const REFERENCES_LOCK = 5_310_117

/**
 * Held to the end of the transaction by whoever adds a reference or deletes a schedule: without it two schedules could
 * become each other's parent at once, or one could be deleted while another begins to wait for it. Taken before any
 * row is locked.
 */
export async function lockReferences(tx: Db): Promise<void> {
  await sql`/* schedule_references_lock */ select pg_advisory_xact_lock(${REFERENCES_LOCK})`.execute(tx)
}

export interface ScheduleRef {
  readonly id: number
  readonly slug: string
  readonly name: string
}

/** Active ones with this slug, else with this name; more than one only where several share the name. */
export async function findByRef(db: Db, workspaceId: number, text: string): Promise<ScheduleRef[]> {
  const { rows } = await sql<ScheduleRef>`/* schedule_by_ref */ select id, slug, name from schedule
    where workspace_id = ${workspaceId} and deleted_at is null and (slug = ${text} or name = ${text})
    order by id`.execute(db)
  const exact = rows.filter((one) => one.slug === text)
  return exact.length > 0 ? exact : rows
}

/** Some active slugs, to say in a refusal what there is. */
export async function someSlugs(db: Db, workspaceId: number, limit: number): Promise<string[]> {
  const { rows } = await sql<{ slug: string }>`/* schedule_some_slugs */ select slug from schedule
    where workspace_id = ${workspaceId} and deleted_at is null order by name, id limit ${limit}`.execute(db)
  return rows.map((row) => row.slug)
}

/** The schedule itself and all that it waits for, parents of parents included. */
export async function listAncestors(db: Db, id: number): Promise<ScheduleRef[]> {
  const { rows } = await sql<ScheduleRef>`/* schedule_ancestors */ with recursive up (id) as (
      select ${id}::int
      union
      select (s.schedule_trigger ->> 'parentId')::int from up join schedule s on s.id = up.id
      where s.deleted_at is null and (s.schedule_trigger ->> 'enabled')::boolean
        and s.schedule_trigger ->> 'parentId' is not null)
    select s.id, s.slug, s.name from up join schedule s on s.id = up.id`.execute(db)
  return rows
}

export interface Referrer {
  readonly name: string
  readonly workspaceId: number
  readonly workspaceName: string
  readonly how: 'defers' | 'waits'
}

/** Active schedules other than itself that defer to a schedule (of its workspace) or wait for it (of any). */
export async function listReferrers(
  db: Db,
  schedule: { readonly id: number; readonly workspaceId: number; readonly slug: string },
): Promise<Referrer[]> {
  const defersTo = (column: string) => sql`coalesce((s.${sql.ref(column)} ->> 'enabled')::boolean
    and s.${sql.ref(column)} ->> 'slug' = ${schedule.slug}, false)`
  const { rows } = await sql<Referrer>`/* schedule_referrers */ select s.name, s.workspace_id as "workspaceId",
      w.name as "workspaceName", case when s.waits then 'waits' else 'defers' end as how
    from (
      select s.name, s.id, s.workspace_id, coalesce((s.schedule_trigger ->> 'enabled')::boolean
          and (s.schedule_trigger ->> 'parentId')::int = ${schedule.id}, false) as waits,
        s.workspace_id = ${schedule.workspaceId}
          and (${defersTo('deferred_schedule')} or ${defersTo('turbo_ci')}) as defers
      from schedule s where s.deleted_at is null and s.id <> ${schedule.id}) s
    join workspace w on w.id = s.workspace_id and w.archived_at is null
    where s.waits or s.defers order by s.name, s.id`.execute(db)
  return rows
}
