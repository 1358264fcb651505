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
        and (a.removed_at is null or a.removed_at > clock_timestamp() - ${SETTLED}))
        or exists (select 1 from agent_session x where x.workspace_id = old.workspace_id
          and x.tree_key = encode(old.sha256, 'hex')) as "inUse"
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

/** Whether all sessions of the tree of root `r` ended so long ago: they go together. */
const isOldTree = (days: number) => sql`r.parent_id is null and r.ended_at < ${age(days)} and not exists (
    select 1 from agent_session s where s.root_id = r.id and (s.ended_at is null or s.ended_at >= ${age(days)}))`

export interface OldFiles {
  readonly id: string
  readonly workspaceId: number
  readonly workspaceUid: string
  readonly sha256: Buffer
  /** Some file or another session still has this content: the bytes stay. */
  readonly inUse: boolean
}

/** What the checkouts of old sessions held. */
export async function listFilesOfOldSessions(db: Db, days: number, limit: number): Promise<OldFiles[]> {
  const { rows } = await sql<OldFiles>`/* retention_session_files */ select s.id, s.workspace_id as "workspaceId",
      w.uid as "workspaceUid", decode(s.tree_key, 'hex') as sha256,
      exists (select 1 from artifact a where a.workspace_id = s.workspace_id and a.sha256 = decode(s.tree_key, 'hex'))
        or exists (select 1 from agent_session x where x.workspace_id = s.workspace_id and x.tree_key = s.tree_key
          and x.id <> s.id) as "inUse"
    from agent_session r join agent_session s on s.root_id = r.id join workspace w on w.id = s.workspace_id
    where ${isOldTree(days)} and s.tree_key ~ '^[0-9a-f]{64}$' order by s.id limit ${limit}`.execute(db)
  return rows
}

export async function forgetSessionFiles(db: Db, of: Pick<OldFiles, 'id' | 'workspaceId'>): Promise<void> {
  await sql`/* retention_forget_session_files */ update agent_session set tree_key = ''
    where workspace_id = ${of.workspaceId} and id = ${of.id}`.execute(db)
}

/**
 * Sessions that ended so long ago, with their journals and results, by whole trees. Gives how many trees. Somebody may be
 * writing to one at this moment: all of a tree is locked before it is looked at once more.
 */
export async function deleteOldSessions(tx: Db, days: number, limit: number): Promise<number> {
  const { rows } = await sql<{ id: string }>`/* retention_old_sessions */ select r.id from agent_session r
    where ${isOldTree(days)} order by r.ended_at limit ${limit} for update of r skip locked`.execute(tx)
  const picked = rows.map((row) => row.id)
  if (picked.length === 0) return 0
  await sql`/* retention_lock_sessions */ select id from agent_session where root_id = any (${picked}::text[])
    order by depth, id for update`.execute(tx)
  const { rows: old } = await sql<{ id: string }>`/* retention_still_old */ select r.id from agent_session r
    where r.id = any (${picked}::text[]) and ${isOldTree(days)}`.execute(tx)
  const roots = old.map((row) => row.id)
  const ofTrees = sql`session_id in (select id from agent_session where root_id = any (${roots}::text[]))`
  await sql`/* retention_delete_outputs */ delete from agent_output where ${ofTrees}`.execute(tx)
  await sql`/* retention_delete_journals */ delete from agent_event where ${ofTrees}`.execute(tx)
  await sql`/* retention_delete_sessions */ delete from agent_session where root_id = any (${roots}::text[])`.execute(
    tx,
  )
  return picked.length
}

/** The day so many days ago, by the clock that days of output are written with. */
export async function dayBefore(db: Db, days: number): Promise<string> {
  const { rows } = await sql<{ day: string }>`
    /* retention_day */ select (current_date - ${days}::integer)::text as day`.execute(db)
  return rows[0]!.day
}
