// What a session is given on this host: its files, and the tools that it may use now.
import { join } from 'node:path'
import { callerOf } from '../../app/agent-caller.ts'
import type { App } from '../../app/context.ts'
import type { AgentPolicy } from '../../domain/agent-policy.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import { effectiveTools, MCP_PREFIX } from '../../domain/agent-tools.ts'
import type { AgentGit } from '../../ports/agent-git.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import { type Repository, SourceFault } from '../../ports/source.ts'
import { findAgentPlace } from '../../store/agent-place.ts'
import * as policies from '../../store/agent-policy.ts'
import { openValues } from '../../store/run-facts.ts'
import { openCheckout } from './checkout.ts'
import type { TurnPorts } from './ports.ts'
import type { McpTools } from './tools/mcp.ts'
import type { Tool } from './tools/tool.ts'

export interface SessionPortsDeps {
  readonly git: AgentGit
  readonly blobs: BlobStore
  /** For the folders of all sessions of this host. */
  readonly place: string
  readonly models: TurnPorts['models']
  /** All that this host has for a session, whoever may use it. */
  toolsOf(session: AgentSession, policy: AgentPolicy): Promise<readonly Tool[]>
  readonly mcpTools: McpTools
}

/** `<data>/agents` */
export const agentPlace = (data: string): string => join(data, 'agents')

export function sessionPorts(app: App, deps: SessionPortsDeps): TurnPorts {
  return {
    models: deps.models,
    openCheckout: async (session, signal) => {
      const repository = await repositoryOf(app, session)
      return await openCheckout(deps, { session, workspaceUid: repository.workspaceUid, repository }, signal)
    },
    toolsFor: async (session, signal) => {
      const caller = await callerOf(app, session)
      if (caller.refusal !== null) return { caller, tools: [] }
      const policy = await policies.find(app.db, session.workspaceId)
      const own = await deps.toolsOf(session, policy)
      // Servers are asked only where the file names a tool of one: nothing else gives it to the session.
      const isNamed = session.definition.tools?.list.some((name) => name.startsWith(MCP_PREFIX)) === true
      const foreign = isNamed ? await deps.mcpTools(session.workspaceId, signal) : []
      const names = effectiveTools({
        definition: session.definition,
        allowed: policy.tools,
        capabilities: caller.rights,
        available: (name) => own.some((one) => one.name === name),
        mcpTools: foreign.map((one) => one.name),
      })
      const all = new Map([...foreign, ...own].map((one) => [one.name, one]))
      return { caller, tools: names.map((name) => all.get(name)!) }
    },
  }
}

/** Of the session's environment, with the credentials that it has now. */
export async function repositoryOf(
  app: App,
  session: Pick<AgentSession, 'workspaceId' | 'environmentId'>,
): Promise<Repository> {
  const place = await findAgentPlace(app.db, session.workspaceId, session.environmentId)
  if (place === null) throw new SourceFault('its environment is gone.')
  if (place.repositoryUrl === '')
    throw new SourceFault('its environment has no repository: set its repositoryUrl first.')
  const { credentials } = await openValues(app.db, app.vault, session)
  return { workspaceUid: place.workspaceUid, url: place.repositoryUrl, credentials }
}
