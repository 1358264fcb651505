// Servers of the Model Context Protocol that an administrator lists for the agents of a workspace. Their headers are
// written and never read back.
import { invalidInput, notFound } from '../domain/errors.ts'
import { quoted } from '../domain/text.ts'
import type { McpServer } from '../store/mcp-servers.ts'
import * as servers from '../store/mcp-servers.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'

export type { McpServer } from '../store/mcp-servers.ts'

export const listMcpServers = (ctx: Context): Promise<McpServer[]> => servers.list(ctx.db, workspaceOf(ctx).id)

export interface McpServerInput {
  readonly name: string
  readonly url?: string | null
  /** Undefined stays as it is, null is every tool. */
  readonly tools?: readonly string[] | null
  /** All of them; undefined stays as it is. */
  readonly headers?: Readonly<Record<string, string>> | null
}

const MOST_SERVERS = 20
const NAME = /^[a-z][a-z0-9-]{0,23}$/
/** As models' providers take names of tools. */
export const MCP_TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/
const HEADER = /^[A-Za-z0-9-]{1,64}$/
/** Set by whoever calls. */
const OWN_HEADERS = new Set(['host', 'content-length', 'content-type', 'accept', 'connection', 'transfer-encoding'])

/** Makes it, or changes what is given. */
export async function setMcpServer(ctx: Context, input: McpServerInput): Promise<{ name: string }> {
  const workspace = workspaceOf(ctx)
  const name = parseName(input.name)
  const headers = input.headers == null ? null : parseHeaders(input.headers)
  return await mutate(ctx, async (unit) => {
    const old = await servers.lock(unit.db, workspace.id, name)
    if (old === null && (await servers.list(unit.db, workspace.id)).length >= MOST_SERVERS) {
      throw invalidInput(`At most ${MOST_SERVERS} servers in a workspace.`)
    }
    const url = input.url == null ? old?.url : parseUrl(input.url)
    if (url === undefined) throw invalidInput('url: needed, the address of the server.')
    // Otherwise whoever may change the address, and may not read headers, could have them sent to himself.
    if (old !== null && url !== old.url && old.headerNames.length > 0 && headers === null) {
      throw invalidInput(`headers: give them again for another url: ${old.headerNames.join(', ')}.`)
    }
    const tools = input.tools === undefined ? (old?.tools ?? null) : parseTools(input.tools)
    const id = await servers.save(unit.db, workspace.id, { name, url, tools })
    if (headers !== null) {
      await servers.setHeaders(unit.db, ctx.vault, { workspaceId: workspace.id, serverId: id }, headers)
    }
    unit.record('mcp_server_set', {
      server: name,
      url,
      ...(tools !== null && { tools }),
      ...(headers !== null && { headers: Object.keys(headers) }),
    })
    return { name }
  })
}

export async function removeMcpServer(ctx: Context, name: string): Promise<void> {
  await mutate(ctx, async (unit) => {
    if (!(await servers.remove(unit.db, workspaceOf(ctx).id, name))) {
      throw notFound(`No MCP server ${quoted(name)} in this workspace.`)
    }
    unit.record('mcp_server_removed', { server: name })
  })
}

function parseName(text: string): string {
  const name = text.trim()
  if (!NAME.test(name)) throw invalidInput('name: up to 24 lower-case letters, digits and hyphens, a letter first.')
  return name
}

function parseUrl(text: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw invalidInput('url: an https:// address without credentials; those go into headers.')
  }
  if (url.href.length > 1000) throw invalidInput('url: at most 1000 characters.')
  return url.href
}

function parseTools(tools: readonly string[] | null): readonly string[] | null {
  if (tools === null) return null
  if (tools.length > 200) throw invalidInput('tools: at most 200 names.')
  const wrong = tools.find((one) => !MCP_TOOL_NAME.test(one))
  if (wrong !== undefined) throw invalidInput(`tools: ${quoted(wrong)} is no name of a tool.`)
  return [...new Set(tools)]
}

/** The message never repeats a value. */
function parseHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    if (!HEADER.test(name) || OWN_HEADERS.has(name.toLowerCase())) throw invalidInput(`headers: no ${quoted(name)}.`)
    if (!/^[ -~]{1,4096}$/.test(value)) throw invalidInput(`headers.${name}: one line of up to 4096 characters.`)
    all[name.toLowerCase()] = value
  }
  return all
}
