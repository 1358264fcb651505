// A server of the Model Context Protocol over streamable HTTP: it wants its header, a session and the protocol's version, and
// answers as JSON or as a stream of events.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface McpToolOfTest {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: unknown
  run(input: Record<string, unknown>): { readonly text: string; readonly isError?: boolean } | { readonly raw: unknown }
}

export interface McpServerReceiver extends Receiver {
  readonly token: string
  tools: McpToolOfTest[]
  readonly called: { readonly name: string; readonly input: Record<string, unknown> }[]
  /** How many of them a page of the list holds. */
  pageSize: number
}

const TOKEN = 'mcp-token-of-a-test-server'
const SESSION = 'session-0123456789'
const message = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.number().optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
})

/** @param form how answers are sent */
export async function mcpServerReceiver(form: 'json' | 'stream' = 'json'): Promise<McpServerReceiver> {
  const called: { name: string; input: Record<string, unknown> }[] = []

  const handle = (asked: Asked): Answer => {
    const { headers } = asked
    if (headers.authorization !== `Bearer ${TOKEN}`) return { status: 401, json: { error: 'unauthorized' } }
    if (asked.method !== 'POST') return { status: 405 }
    if (!/application\/json/.test(headers.accept ?? '') || !/text\/event-stream/.test(headers.accept ?? '')) {
      return { status: 406, json: { error: 'accept both forms' } }
    }
    const read = parseBody(asked, message)
    if ('fault' in read) return { status: 400, json: { error: read.fault } }
    const { id, method, params = {} } = read.body
    if (method !== 'initialize') {
      if (headers['mcp-session-id'] !== SESSION) return { status: 400, json: { error: 'no session' } }
      if (headers['mcp-protocol-version'] === undefined) return { status: 400, json: { error: 'no version' } }
    }
    if (id === undefined) return { status: 202 }
    const result = resultOf(method, params)
    const answer = { jsonrpc: '2.0', id, ...('error' in result ? { error: result.error } : { result: result.value }) }
    const first: Record<string, string> = method === 'initialize' ? { 'mcp-session-id': SESSION } : {}
    return form === 'json'
      ? { status: 200, headers: first, json: answer }
      : { status: 200, headers: { ...first, 'content-type': 'text/event-stream' }, text: eventsOf(answer) }
  }

  const eventsOf = (answer: object): string =>
    `: hello\n\nevent: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress' })}\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`

  const resultOf = (method: string, params: Record<string, unknown>): { value: unknown } | { error: object } => {
    switch (method) {
      case 'initialize':
        return {
          value: {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 't', version: '1' },
          },
        }
      case 'tools/list': {
        const from = Number(params.cursor ?? 0)
        const to = from + receiver.pageSize
        const tools = receiver.tools.slice(from, to).map(({ name, description, inputSchema }) => ({
          name,
          description,
          inputSchema: inputSchema ?? { type: 'object' },
        }))
        return { value: { tools, ...(to < receiver.tools.length && { nextCursor: String(to) }) } }
      }
      case 'tools/call': {
        const tool = receiver.tools.find((one) => one.name === params.name)
        if (tool === undefined) return { error: { code: -32_602, message: `Unknown tool: ${String(params.name)}` } }
        const input = (params.arguments ?? {}) as Record<string, unknown>
        called.push({ name: tool.name, input })
        const done = tool.run(input)
        if ('raw' in done) return { value: done.raw }
        return { value: { content: [{ type: 'text', text: done.text }], isError: done.isError ?? false } }
      }
      default:
        return { error: { code: -32_601, message: 'Method not found' } }
    }
  }

  const receiver: McpServerReceiver = Object.assign(await startReceiver(handle), {
    token: TOKEN,
    tools: [] as McpToolOfTest[],
    called,
    pageSize: 100,
  })
  return receiver
}
