// Which tools a session has at this moment: asked before each step and each call, because rights, policy and servers change
// while it goes on.
import { callerOf } from '../../app/agent-caller.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import { effectiveTools, isToolName } from '../../domain/agent-tools.ts'
import * as policies from '../../store/agent-policy.ts'
import type { SessionTools } from './ports.ts'
import type { ToolDeps } from './tools/deps.ts'
import { openTools } from './tools/index.ts'
import type { McpTools } from './tools/mcp.ts'

export interface SessionToolDeps extends ToolDeps {
  readonly mcpTools: McpTools
}

export async function sessionTools(
  deps: SessionToolDeps,
  session: AgentSession,
  signal: AbortSignal,
): Promise<SessionTools> {
  const caller = await callerOf(deps.app, session)
  if (caller.refusal !== null) return { caller, tools: [] }
  const policy = await policies.find(deps.app.db, session.workspaceId)
  const own = openTools(deps, session)
  // A server is asked for its tools only by agents that could be given one.
  const wantsMcp = session.definition.tools?.mode === 'allowlist' && session.definition.tools.list.some(isForeign)
  const foreign = wantsMcp ? await deps.mcpTools(session.workspaceId, signal) : []
  const names = effectiveTools({
    definition: session.definition,
    allowed: policy.tools,
    capabilities: caller.rights,
    available: (name) => own.some((one) => one.name === name),
    mcpTools: foreign.map((one) => one.name),
  })
  return { caller, tools: [...own, ...foreign].filter((one) => names.includes(one.name)) }
}

const isForeign = (name: string): boolean => !isToolName(name)
