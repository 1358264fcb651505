// A small client of the Model Context Protocol's streamable HTTP: initialize, list tools, call one. Each use is a
// conversation of its own, so nothing is held open. All that a server says is somebody else's text: it is measured before
// it is read, and never believed to be more than a text.
import { field, readJson } from '../../domain/foreign-json.ts'
import { type OutgoingAnswer, OutgoingFault, type OutgoingHttp } from '../../ports/outgoing-http.ts'

export interface McpTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** What became of it, in words that may be shown. */
export class McpFault extends Error {
  override readonly name = 'McpFault'
}

const VERSION = '2025-06-18'
const LARGEST_ANSWER = 1024 * 1024
const MOST_PAGES = 10

export class McpConversation {
  readonly #http: OutgoingHttp
  readonly #target: McpTarget
  readonly #signal: AbortSignal
  #sessionId: string | null = null
  #version = VERSION
  #next = 1

  private constructor(http: OutgoingHttp, target: McpTarget, signal: AbortSignal) {
    this.#http = http
    this.#target = target
    this.#signal = signal
  }

  static async open(http: OutgoingHttp, target: McpTarget, signal: AbortSignal): Promise<McpConversation> {
    const one = new McpConversation(http, target, signal)
    const result = await one.#ask('initialize', {
      protocolVersion: VERSION,
      capabilities: {},
      clientInfo: { name: 'yardmaster', version: '1' },
    })
    const version = field(result, 'protocolVersion')
    if (typeof version === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(version)) one.#version = version
    await one.#post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return one
  }

  /** As the server sends them. */
  async listTools(): Promise<unknown[]> {
    const all: unknown[] = []
    let cursor: string | null = null
    for (let page = 0; page < MOST_PAGES; page++) {
      const result: unknown = await this.#ask('tools/list', cursor === null ? {} : { cursor })
      const tools = field(result, 'tools')
      if (Array.isArray(tools)) all.push(...tools)
      const next = field(result, 'nextCursor')
      if (typeof next !== 'string' || next === '') break
      cursor = next
    }
    return all
  }

  async callTool(name: string, input: Record<string, unknown>): Promise<{ text: string; isError: boolean }> {
    const result = await this.#ask('tools/call', { name, arguments: input })
    const content = field(result, 'content')
    const parts = Array.isArray(content) ? content.map(partText) : []
    const structured = field(result, 'structuredContent')
    if (parts.length === 0 && structured !== undefined) parts.push(JSON.stringify(structured))
    return { text: parts.join('\n'), isError: field(result, 'isError') === true }
  }

  async #ask(method: string, params: object): Promise<unknown> {
    const id = this.#next++
    const answer = await this.#post({ jsonrpc: '2.0', id, method, params })
    const session = answer.headers['mcp-session-id']
    if (session !== undefined && /^[!-~]{1,512}$/.test(session)) this.#sessionId = session
    const found = messagesOf(answer).find((one) => field(one, 'id') === id)
    if (found === undefined) throw new McpFault('The server sent no answer to the question.')
    const error = field(found, 'error')
    if (error !== undefined) throw new McpFault(`The server refused: ${String(field(error, 'message')).slice(0, 500)}`)
    return field(found, 'result')
  }

  async #post(message: object): Promise<OutgoingAnswer> {
    let answer: OutgoingAnswer
    try {
      answer = await this.#http.call(
        {
          method: 'POST',
          url: this.#target.url,
          headers: {
            ...this.#target.headers,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': this.#version,
            ...(this.#sessionId !== null && { 'mcp-session-id': this.#sessionId }),
          },
          body: JSON.stringify(message),
          largestAnswer: LARGEST_ANSWER,
        },
        this.#signal,
      )
    } catch (error) {
      if (error instanceof OutgoingFault) throw new McpFault(error.message, { cause: error })
      throw error
    }
    if (answer.status < 200 || answer.status > 299) throw new McpFault(`The server answered ${answer.status}.`)
    return answer
  }
}

function partText(part: unknown): string {
  const text = field(part, 'text')
  if (typeof text === 'string') return text
  const resource = field(field(part, 'resource'), 'text')
  return typeof resource === 'string' ? resource : `(${String(field(part, 'type'))}, not shown)`
}

/** One JSON message, or the messages of a stream of events. */
function messagesOf(answer: OutgoingAnswer): unknown[] {
  if (!/^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '')) return [readJson(answer.body)].flat()
  return answer.body.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event
      .split(/\r?\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trimStart())
      .join('\n')
    return data === '' ? [] : [readJson(data)].flat()
  })
}
