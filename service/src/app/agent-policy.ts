// What an administrator lets the agents of a workspace do. It holds from the next step of every session on: tools are
// looked up for each, and a budget is given to a session when it begins.
import type { AgentPolicy, AgentPolicyInput } from '../domain/agent-policy.ts'
import { changePolicy } from '../domain/agent-policy.ts'
import * as policies from '../store/agent-policy.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'

export type { AgentPolicy, AgentPolicyInput } from '../domain/agent-policy.ts'

export const getAgentPolicy = (ctx: Context): Promise<AgentPolicy> => policies.find(ctx.db, workspaceOf(ctx).id)

/** What is undefined stays as it is. The record holds what was changed, old and new: nothing in it is secret. */
export async function setAgentPolicy(ctx: Context, input: AgentPolicyInput): Promise<AgentPolicy> {
  const workspace = workspaceOf(ctx)
  return await mutate(ctx, async (unit) => {
    const old = await policies.lock(unit.db, workspace.id)
    const policy = changePolicy(old, input)
    const changed = (Object.keys(policy) as (keyof AgentPolicy)[]).filter(
      (field) => JSON.stringify(policy[field]) !== JSON.stringify(old[field]),
    )
    if (changed.length === 0) return policy
    await policies.save(unit.db, workspace.id, policy)
    const fields = changed.map((field) => [field, { from: old[field], to: policy[field] }])
    unit.record('agent_policy_changed', Object.fromEntries(fields))
    return policy
  })
}
