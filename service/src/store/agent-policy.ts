// The policy of a workspace's agents: one row, or none for the defaults.
import { sql } from 'kysely'
import type { AgentPolicy } from '../domain/agent-policy.ts'
import { DEFAULT_POLICY } from '../domain/agent-policy.ts'
import type { Db } from './database.ts'

const columns = sql`tools, egress_hosts as "egressHosts", budget, commit_name as "commitName",
  commit_email as "commitEmail"`

export async function find(db: Db, workspaceId: number): Promise<AgentPolicy> {
  const { rows } = await sql<AgentPolicy>`/* agent_policy_find */ select ${columns} from agent_policy
    where workspace_id = ${workspaceId}`.execute(db)
  return rows[0] ?? DEFAULT_POLICY
}

/** The same, locked to the end of the transaction: of two changes at once the later one sees the earlier. */
export async function lock(tx: Db, workspaceId: number): Promise<AgentPolicy> {
  await sql`/* agent_policy_begin */ insert into agent_policy (workspace_id) values (${workspaceId})
    on conflict (workspace_id) do nothing`.execute(tx)
  const { rows } = await sql<AgentPolicy>`/* agent_policy_lock */ select ${columns} from agent_policy
    where workspace_id = ${workspaceId} for update`.execute(tx)
  return rows[0]!
}

/** Under `lock`. */
export async function save(tx: Db, workspaceId: number, policy: AgentPolicy): Promise<void> {
  await sql`/* agent_policy_save */ update agent_policy set
      tools = ${policy.tools === null ? null : [...policy.tools]}::text[],
      egress_hosts = ${[...policy.egressHosts]}::text[], budget = ${JSON.stringify(policy.budget)}::jsonb,
      commit_name = ${policy.commitName}, commit_email = ${policy.commitEmail}, updated_at = clock_timestamp()
    where workspace_id = ${workspaceId}`.execute(tx)
}
