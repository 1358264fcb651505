// A real HTTP server that plays a service of somebody else by its documentation: it refuses what is refused there, keeps
// what it took, and can be made to misbehave in the ways that such services do.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { z } from 'zod'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** In place of JSON. */
  readonly text?: string
}

export type Behaviour =
  /** The connection is cut before anything is read. */
  | { readonly kind: 'down' }
  | { readonly kind: 'status'; readonly status: number }
  /** Takes the request and never answers. */
  | { readonly kind: 'hanging' }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'rate limited'; readonly seconds: number }
  /** Does everything and then loses the answer: whoever asked cannot know. */
  | { readonly kind: 'answer lost' }

export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** All requests that were read, refused ones too. */
  readonly asked: readonly Asked[]
  /** Of the requests, those that were answered by 4xx, with why. */
  readonly refused: readonly { readonly asked: Asked; readonly answer: Answer }[]
  /** Null: as it should. `times`: for so many requests, then as it should; `after`: only when so many have passed. */
  behave(how: Behaviour | null, times?: number, after?: number): void
}

const LARGEST_BODY = 2_000_000

export async function startReceiver(handle: (asked: Asked) => Answer): Promise<Receiver> {
  const asked: Asked[] = []
  const refused: { asked: Asked; answer: Answer }[] = []
  const sockets = new Set<Socket>()
  let behaviour: Behaviour | null = null
  let left = Number.POSITIVE_INFINITY
  let before = 0

  /** The behaviour for one request. */
  const next = (): Behaviour | null => {
    if (behaviour === null) return null
    if (before > 0) {
      before -= 1
      return null
    }
    const now = behaviour
    if (--left <= 0) behaviour = null
    return now
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const how = next()
    if (how?.kind === 'down') return void request.socket.destroy()
    const one = await read(request)
    asked.push(one)
    const answer = misbehave(how) ?? handle(one)
    if (how?.kind === 'hanging') return
    if (how?.kind === 'answer lost') return void request.socket.destroy()
    if (how === null && answer.status >= 400) refused.push({ asked: one, answer })
    const body = answer.text ?? (answer.json === undefined ? '' : JSON.stringify(answer.json))
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(body)
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    asked,
    refused,
    behave: (how, times = Number.POSITIVE_INFINITY, after = 0) => {
      behaviour = how
      left = times
      before = after
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function misbehave(how: Behaviour | null): Answer | null {
  switch (how?.kind) {
    case 'status':
      return { status: how.status, json: { error: `answers ${how.status}` } }
    case 'redirect':
      return { status: 302, headers: { location: how.to } }
    case 'rate limited':
      return { status: 429, headers: { 'retry-after': String(how.seconds) }, json: { ok: false, error: 'ratelimited' } }
    case 'hanging':
      return { status: 200 }
    default:
      return null
  }
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > LARGEST_BODY) throw new Error('too large')
    chunks.push(chunk)
  }
  const url = new URL(request.url!, 'http://receiver')
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  return {
    method: request.method!,
    path: url.pathname,
    query: url.searchParams,
    headers,
    body: Buffer.concat(chunks).toString(),
  }
}

/** The body as the schema has it, or what is wrong with it in a sentence. */
export function parseBody<T>(asked: Asked, schema: z.ZodType<T>): { readonly body: T } | { readonly fault: string } {
  if (!/^application\/json\b/.test(asked.headers['content-type'] ?? ''))
    return { fault: 'content-type must be application/json' }
  let json: unknown
  try {
    json = JSON.parse(asked.body)
  } catch {
    return { fault: 'not JSON' }
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return { body: parsed.data }
  return { fault: parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`).join('; ') }
}
