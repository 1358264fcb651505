// What is old goes, a few hundred rows at a time. Never the latest run of a schedule nor its latest successful one: they
// are what people look at, retry from and defer to. Any number of nodes may do this at once: a row that another one has
// in hand is stepped over.
//
// A file goes in two steps, a day apart: its row is marked first, and its bytes go when no other file of the workspace has
// had the same content since. The day is what a run that stores the same bytes again needs to say so.
import { sql } from 'kysely'
import type { Db } from './database.ts'

/** Whether run `r` is one of the two that are kept. */
const isKept = sql`r.id in (
    (select x.id from run x where x.schedule_id = r.schedule_id and x.state <> 'skipped' order by x.id desc limit 1),
    (select x.id from run x where x.schedule_id = r.schedule_id and x.state = 'succeeded' order by x.id desc limit 1))`

const age = (days: number) => sql`clock_timestamp() - ${days}::integer * interval '1 day'`

/** Files of runs that ended so long ago. Gives how many. */
export async function markOldFiles(db: Db, days: number, limit: number): Promise<number> {
  const done = await sql`/* retention_mark_files */ update artifact set removed_at = clock_timestamp()
    where id in (
      select a.id from artifact a join run r on r.id = a.run_id
      where a.removed_at is null and a.created_at < ${age(days)} and r.ended_at < ${age(days)} and not ${isKept}
      order by a.created_at limit ${limit} for update of a skip locked)`.execute(db)
  return Number(done.numAffectedRows ?? 0n)
}

/** The files of runs that are about to go, however young. */
export async function markFilesOfOldRuns(db: Db, days: number, limit: number): Promise<number> {
  const done = await sql`/* retention_mark_files_of_runs */ update artifact set removed_at = clock_timestamp()
    where id in (
      select a.id from run r join artifact a on a.run_id = r.id
      where r.ended_at < ${age(days)} and a.removed_at is null and not ${isKept}
      limit ${limit} for update of a skip locked)`.execute(db)
  return Number(done.numAffectedRows ?? 0n)
}

export interface Unused {
  readonly workspaceUid: string
  readonly sha256: Buffer
  /** The marked rows that go with the bytes. */
  readonly ids: readonly number[]
  /** Some other file still has this content: the bytes stay. */
  readonly inUse: boolean
}

const SETTLED = sql`interval '1 day'`

/** Contents whose files were marked a day ago or longer. */
export async function listUnused(db: Db, limit: number): Promise<Unused[]> {
  const { rows } = await sql<Unused>`/* retention_unused */ select w.uid as "workspaceUid", old.sha256, old.ids,
      exists (select 1 from artifact a where a.workspace_id = old.workspace_id and a.sha256 = old.sha256
        and (a.removed_at is null or a.removed_at > clock_timestamp() - ${SETTLED})) as "inUse"
    from (
      select a.workspace_id, a.sha256, array_agg(a.id) as ids from artifact a
      where a.removed_at < clock_timestamp() - ${SETTLED} group by a.workspace_id, a.sha256 limit ${limit}
    ) old join workspace w on w.id = old.workspace_id`.execute(db)
  return rows
}

export async function forgetFiles(db: Db, ids: readonly number[]): Promise<void> {
  await sql`/* retention_forget_files */ delete from artifact where id = any(${[...ids]}::int[])
    and removed_at is not null`.execute(db)
}

/** Runs that ended so long ago and have no file left, with their commands, output and dbt results. Gives how many. */
export async function deleteOldRuns(db: Db, days: number, limit: number): Promise<number> {
  const { rows } = await sql<{ id: number }>`/* retention_old_runs */ select r.id from run r
    where r.ended_at < ${age(days)} and not ${isKept} and not exists (select 1 from artifact a where a.run_id = r.id)
    order by r.ended_at limit ${limit} for update of r skip locked`.execute(db)
  const ids = rows.map((row) => row.id)
  if (ids.length === 0) return 0
  await sql`/* retention_delete_dbt_results */ delete from dbt_result where run_id = any(${ids}::int[])`.execute(db)
  await sql`/* retention_delete_logs */ delete from log_chunk l using command c
    where c.run_id = any(${ids}::int[]) and l.day = c.log_day and l.command_id = c.id`.execute(db)
  await sql`/* retention_delete_commands */ delete from command where run_id = any(${ids}::int[])`.execute(db)
  await sql`/* retention_delete_run_events */ delete from run_event where run_id = any(${ids}::int[])`.execute(db)
  await sql`/* retention_delete_runs */ delete from run where id = any(${ids}::int[])`.execute(db)
  return ids.length
}

/** The day so many days ago, by the clock that days of output are written with. */
export async function dayBefore(db: Db, days: number): Promise<string> {
  const { rows } = await sql<{ day: string }>`
    /* retention_day */ select (current_date - ${days}::integer)::text as day`.execute(db)
  return rows[0]!.day
}
