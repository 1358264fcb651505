// The environment of a session, as far as its tools need it.
import { sql } from 'kysely'
import type { Db } from './database.ts'

export interface AgentPlace {
  readonly workspaceUid: string
  readonly repositoryUrl: string
  readonly defaultBranch: string
  readonly installStep: string | null
  readonly pythonPackages: readonly string[]
  readonly stopSeconds: number
}

/** Null for an environment that is archived, or of another workspace. */
export async function findAgentPlace(db: Db, workspaceId: number, environmentId: number): Promise<AgentPlace | null> {
  const { rows } = await sql<AgentPlace>`/* agent_place */ select w.uid as "workspaceUid",
      e.repository_url as "repositoryUrl", e.default_branch as "defaultBranch", e.install_step as "installStep", e.python_packages as "pythonPackages",
      e.stop_seconds as "stopSeconds"
    from environment e join workspace w on w.id = e.workspace_id
    where e.workspace_id = ${workspaceId} and e.id = ${environmentId} and e.archived_at is null`.execute(db)
  return rows[0] ?? null
}
