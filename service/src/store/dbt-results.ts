import { sql } from 'kysely'
import type { DbtNode } from '../domain/dbt-results.ts'
import type { ArtifactOwner } from './artifacts.ts'
import type { Db } from './database.ts'

export interface DbtResult {
  readonly commandId: number
  readonly uniqueId: string
  readonly status: string
  readonly message: string
  readonly startedAt: string | null
  readonly seconds: number | null
  readonly failures: number | null
}

const BATCH = 500

/** Nothing is written once the worker does not hold the run any longer. Again: the later file wins. */
export async function insert(db: Db, of: ArtifactOwner, nodes: readonly DbtNode[]): Promise<void> {
  for (let at = 0; at < nodes.length; at += BATCH) {
    const some = JSON.stringify(nodes.slice(at, at + BATCH))
    await sql`/* dbt_result_insert */
      insert into dbt_result (workspace_id, run_id, command_id, unique_id, status, message, started_at, seconds, failures)
      select r.workspace_id, r.id, c.id, n."uniqueId", n.status, n.message, n."startedAt", n.seconds, n.failures
      from run r join command c on c.run_id = r.id, jsonb_to_recordset(${some}::jsonb) as n (
        "uniqueId" text, status text, message text, "startedAt" timestamptz, seconds double precision, failures integer)
      where r.id = ${of.runId} and r.workspace_id = ${of.workspaceId} and r.attempt = ${of.attempt}
        and r.state in ('starting', 'running', 'ending') and c.id = ${of.commandId}
      on conflict (command_id, unique_id) do update set status = excluded.status, message = excluded.message,
        started_at = excluded.started_at, seconds = excluded.seconds, failures = excluded.failures`.execute(db)
  }
}

export async function list(db: Db, workspaceId: number, runId: number): Promise<DbtResult[]> {
  const { rows } = await sql<DbtResult>`/* dbt_result_list */ select command_id as "commandId", unique_id as "uniqueId",
      status, message, wire_time(started_at) as "startedAt", seconds, failures
    from dbt_result where workspace_id = ${workspaceId} and run_id = ${runId}
    order by command_id, started_at nulls last, unique_id collate "C"`.execute(db)
  return rows
}
