// Tools of MCP servers that an administrator listed, under the names mcp_<server>_<tool>. What a server says of its tools,
// and what they answer, is data from outside: capped, and never a rule.
import type { App } from '../../../app/context.ts'
import { MCP_TOOL_NAME } from '../../../app/mcp-servers.ts'
import { MCP_PREFIX } from '../../../domain/agent-tools.ts'
import { clean, field } from '../../../domain/foreign-json.ts'
import type { OutgoingHttp } from '../../../ports/outgoing-http.ts'
import type { McpServer } from '../../../store/mcp-servers.ts'
import * as servers from '../../../store/mcp-servers.ts'
import { McpConversation, McpFault } from '../mcp-client.ts'
import { withoutSecrets } from './rights.ts'
import type { Tool } from './tool.ts'
import { refused } from './tool.ts'

export interface McpDeps {
  readonly app: App
  readonly http: OutgoingHttp
}

export type McpTools = (workspaceId: number, signal: AbortSignal) => Promise<Tool[]>

const REMEMBERED_MS = 300_000
/** A server that does not answer is asked again after this. */
const FAILED_MS = 30_000
const MOST_TOOLS = 64
const LONGEST_NAME = 64
const LONGEST_DESCRIPTION = 1000
const LARGEST_SCHEMA = 8192
const MOST_OUTPUT = 50_000

interface Offered {
  readonly name: string
  readonly description: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Never rejects: a server that does not answer has no tools for now, and the log says so. */
export function openMcpTools(deps: McpDeps): McpTools {
  const known = new Map<string, { readonly until: number; readonly offered: readonly Offered[] }>()

  const offeredBy = async (
    workspaceId: number,
    server: McpServer,
    signal: AbortSignal,
  ): Promise<readonly Offered[]> => {
    const now = deps.app.clock.now().getTime()
    const name = `${server.id} ${server.url}`
    const found = known.get(name)
    if (found !== undefined && now < found.until) return found.offered
    let offered: readonly Offered[] = []
    let until = now + REMEMBERED_MS
    try {
      const conversation = await converse(deps, workspaceId, server, signal)
      offered = (await conversation.listTools()).flatMap(offer).slice(0, MOST_TOOLS)
    } catch (error) {
      until = now + FAILED_MS
      deps.app.log.warn({ server: server.name, reason: reasonOf(error) }, 'an MCP server did not say its tools')
    }
    if (known.size > 1000) known.clear()
    known.set(name, { until, offered })
    return offered
  }

  return async (workspaceId, signal) => {
    const tools: Tool[] = []
    for (const server of await servers.list(deps.app.db, workspaceId)) {
      for (const one of await offeredBy(workspaceId, server, signal)) {
        const name = `${MCP_PREFIX}${server.name}_${one.name}`
        const isListed = server.tools === null || server.tools.includes(one.name)
        const isNew = !tools.some((other) => other.name === name)
        if (isListed && isNew && name.length <= LONGEST_NAME) tools.push(toolOf(deps, server, one, name))
      }
    }
    return tools
  }
}

async function converse(
  { app, http }: McpDeps,
  workspaceId: number,
  server: McpServer,
  signal: AbortSignal,
): Promise<McpConversation> {
  const headers = await servers.openHeaders(app.db, app.vault, { workspaceId, serverId: server.id })
  return await McpConversation.open(http, { url: server.url, headers }, signal)
}

const reasonOf = (error: unknown): string => (error instanceof McpFault ? error.message : 'it broke')

function offer(one: unknown): Offered[] {
  const name = field(one, 'name')
  const schema = field(one, 'inputSchema')
  if (typeof name !== 'string' || !MCP_TOOL_NAME.test(name)) return []
  if (field(schema, 'type') !== 'object' || JSON.stringify(schema).length > LARGEST_SCHEMA) return []
  const description = clean(field(one, 'description'), LONGEST_DESCRIPTION)
  return [{ name, description, input: schema as Readonly<Record<string, unknown>> }]
}

function toolOf(deps: McpDeps, server: McpServer, offered: Offered, name: string): Tool {
  return {
    name,
    description: `Of the server ${server.name}, in its words: ${offered.description}`,
    input: offered.input,
    run: async (of, input) => {
      if (of.caller.refusal !== null) return refused(of.caller.refusal)
      const { workspaceId } = of.session
      // Asked for again: an administrator may have taken it away since the turn began.
      const now = (await servers.list(deps.app.db, workspaceId)).find((one) => one.id === server.id)
      if (now === undefined || (now.tools !== null && !now.tools.includes(offered.name))) {
        return refused(`The server ${server.name} or its tool is not listed any more.`)
      }
      const given = JSON.parse(withoutSecrets(of, JSON.stringify(input))) as Record<string, unknown>
      try {
        const { text, isError } = await (await converse(deps, workspaceId, now, of.signal)).callTool(
          offered.name,
          given,
        )
        const whole = clean(text, text.length)
        const shown =
          whole.length <= MOST_OUTPUT
            ? whole
            : `${whole.slice(0, MOST_OUTPUT)}\n(${whole.length - MOST_OUTPUT} characters more were left out)`
        return { kind: 'text', text: shown === '' ? '(no text)' : shown, ...(isError && { isError }) }
      } catch (error) {
        of.signal.throwIfAborted()
        if (error instanceof McpFault) return refused(error.message)
        throw error
      }
    },
  }
}
