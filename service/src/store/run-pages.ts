// Runs by filter, read by key: a page costs what it holds, however long the history is.
import { sql } from 'kysely'
import type { RunState } from '../domain/run.ts'
import type { Db } from './database.ts'
import { type RunRow, runColumns } from './runs.ts'

export interface RunFilter {
  readonly scheduleId: number | null
  readonly states: readonly RunState[] | null
  readonly branch: string | null
  readonly prNumber: number | null
  readonly actorEmail: string | null
}

/** Newest first, those with an id below `after`. */
export async function listPage(
  db: Db,
  workspaceId: number,
  filter: RunFilter,
  page: { readonly after: number | null; readonly limit: number },
): Promise<RunRow[]> {
  const conditions = [
    sql`r.workspace_id = ${workspaceId}`,
    ...(page.after === null ? [] : [sql`r.id < ${page.after}`]),
    ...(filter.scheduleId === null ? [] : [sql`r.schedule_id = ${filter.scheduleId}`]),
    ...(filter.states === null ? [] : [sql`r.state = any(${[...filter.states]}::text[])`]),
    ...(filter.branch === null ? [] : [sql`r.branch = ${filter.branch}`]),
    ...(filter.prNumber === null ? [] : [sql`r.pr_number = ${filter.prNumber}`]),
    ...(filter.actorEmail === null ? [] : [sql`lower(r.actor_email) = lower(${filter.actorEmail})`]),
  ]
  const { rows } =
    await sql<RunRow>`/* run_page */ select ${runColumns} from run r join schedule s on s.id = r.schedule_id
    where ${sql.join(conditions, sql` and `)} order by r.id desc limit ${page.limit}`.execute(db)
  return rows
}

/** Runs that are retries of this one, oldest first. */
export async function listRetries(
  db: Db,
  workspaceId: number,
  run: Pick<RunRow, 'id' | 'scheduleId'>,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`/* run_retries */ select id from run
    where workspace_id = ${workspaceId} and schedule_id = ${run.scheduleId} and id > ${run.id} and retry_of = ${run.id}
    order by id limit 100`.execute(db)
  return rows.map(({ id }) => id)
}
