import { sql } from 'kysely'
import type { DbtDescription } from '../domain/dbt-manifest.ts'
import type { DbtNode } from '../domain/dbt-results.ts'
import type { ArtifactOwner } from './artifacts.ts'
import type { Db } from './database.ts'

/** A result with what the manifest says of its node. */
export type NewDbtResult = DbtNode & Omit<DbtDescription, 'uniqueId'>

export interface DbtResult extends Omit<DbtDescription, 'uniqueId'> {
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
export async function insert(db: Db, of: ArtifactOwner, nodes: readonly NewDbtResult[]): Promise<void> {
  for (let at = 0; at < nodes.length; at += BATCH) {
    const some = JSON.stringify(nodes.slice(at, at + BATCH))
    await sql`/* dbt_result_insert */
      insert into dbt_result (workspace_id, run_id, command_id, unique_id, status, message, started_at, seconds, failures,
        resource_type, name, path, relation)
      select r.workspace_id, r.id, c.id, n."uniqueId", n.status, n.message, n."startedAt", n.seconds, n.failures,
        n."resourceType", n.name, n.path, n.relation
      from run r join command c on c.run_id = r.id, jsonb_to_recordset(${some}::jsonb) as n (
        "uniqueId" text, status text, message text, "startedAt" timestamptz, seconds double precision, failures integer,
        "resourceType" text, name text, path text, relation text)
      where r.id = ${of.runId} and r.workspace_id = ${of.workspaceId} and r.attempt = ${of.attempt}
        and r.state in ('starting', 'running', 'ending') and c.id = ${of.commandId}
      for share of r
      on conflict (command_id, unique_id) do update set status = excluded.status, message = excluded.message,
        started_at = excluded.started_at, seconds = excluded.seconds, failures = excluded.failures,
        resource_type = excluded.resource_type, name = excluded.name, path = excluded.path,
        relation = excluded.relation`.execute(db)
  }
}

export async function list(db: Db, workspaceId: number, runId: number): Promise<DbtResult[]> {
  const { rows } = await sql<DbtResult>`/* dbt_result_list */ select command_id as "commandId", unique_id as "uniqueId",
      status, message, wire_time(started_at) as "startedAt", seconds, failures, resource_type as "resourceType", name, path,
      relation
    from dbt_result where workspace_id = ${workspaceId} and run_id = ${runId}
    order by command_id, started_at nulls last, unique_id collate "C"`.execute(db)
  return rows
}
