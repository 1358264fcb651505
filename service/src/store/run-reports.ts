// What a report says of the run itself, in one statement.
import { sql } from 'kysely'
import type { ReportedRun } from '../domain/run-report.ts'
import type { Db } from './database.ts'

export interface RunHead {
  readonly workspace: { readonly uid: string; readonly name: string }
  readonly schedule: { readonly slug: string; readonly name: string; readonly uuid: string }
  readonly run: ReportedRun
}

interface Row extends ReportedRun {
  readonly uid: string
  readonly workspaceName: string
  readonly slug: string
  readonly scheduleName: string
  readonly uuid: string
}

export async function find(db: Db, workspaceId: number, runId: number): Promise<RunHead | null> {
  const { rows } = await sql<Row>`/* run_report */ select w.uid, w.name as "workspaceName", s.slug,
      s.name as "scheduleName", s.uuid, r.id, r.state, r.detail, r.actor, r.actor_email as "actorEmail", r.reason,
      wire_time(r.accepted_at) as "startDttm", wire_time(r.ended_at) as "endDttm",
      extract(epoch from r.ended_at - r.accepted_at)::float8 as seconds, r.branch, r.commit_hash as "commitHash",
      r.pr_number as "prNumber", r.parent_run_id as "parentScheduleRunId", s.sla_seconds as "slaSeconds"
    from run r join schedule s on s.id = r.schedule_id join workspace w on w.id = r.workspace_id
    where r.workspace_id = ${workspaceId} and r.id = ${runId}`.execute(db)
  if (rows[0] === undefined) return null
  const { uid, workspaceName, slug, scheduleName, uuid, ...run } = rows[0]
  return { workspace: { uid, name: workspaceName }, schedule: { slug, name: scheduleName, uuid }, run }
}
