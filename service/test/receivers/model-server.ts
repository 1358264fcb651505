// A server of language models that speaks two dialects over one script: OpenAI's chat completions (/v1/chat/completions)
// and Anthropic's messages (/v1/messages), both streamed. It refuses questions that the real ones refuse, and misbehaves
// as they do: 429, 500, a stream that is cut or that falls silent, arguments that are no JSON, no word about tokens.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { anthropicFault, anthropicStream } from './model-server-anthropic.ts'
import { openAiFault, openAiStream } from './model-server-openai.ts'

export interface SaidCall {
  readonly id: string
  readonly name: string
  /** In the pieces in which they are sent. */
  readonly arguments: readonly string[]
}

export interface Said {
  /** In the pieces in which it is sent. */
  readonly text?: readonly string[]
  readonly calls?: readonly SaidCall[]
  /** All calls under the index 0, one after the other, as some servers do. */
  readonly sameIndex?: true
  /** Null: nothing is said of it. */
  readonly usage?: { readonly input: number; readonly cached: number; readonly output: number } | null
  readonly end?: 'stop' | 'calls' | 'length' | 'refusal'
}

export type Reply =
  | ({ readonly kind: 'says' } & Said)
  /** Stops after so many events: with the connection (`reset`), or as if the answer were whole (`close`). */
  | ({ readonly kind: 'cut'; readonly after: number; readonly how: 'reset' | 'close' } & Said)
  /** Falls silent after so many events, and holds the connection. */
  | ({ readonly kind: 'silent'; readonly after: number } & Said)
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly message?: string
    }
  /** An error in the middle of the stream. */
  | ({ readonly kind: 'error'; readonly after: number; readonly message: string } & Said)

export type Dialect = 'openai' | 'anthropic'

export interface Question {
  readonly dialect: Dialect
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
}

export interface ModelServer extends AsyncDisposable {
  readonly key: string
  /** What a family is given as its address. */
  readonly address: string
  readonly port: number
  /** Those that were understood, in their order. */
  readonly questions: readonly Question[]
  /** Says these, one for each question; the last one again and again. */
  script(...replies: readonly Reply[]): void
  /** Resolves when a silent reply has sent what it sends. */
  silent(): Promise<void>
  /** Resolves when nobody is connected any more. */
  left(): Promise<void>
}

const KEY = 'sk-test-0123456789abcdef'

const PATHS: Readonly<Record<string, Dialect>> = {
  '/v1/chat/completions': 'openai',
  '/v1/messages': 'anthropic',
}

export async function modelServer(): Promise<ModelServer> {
  const questions: Question[] = []
  const sockets = new Set<Socket>()
  let replies: readonly Reply[] = [{ kind: 'says', text: ['Hello.'] }]
  let fallsSilent = Promise.withResolvers<void>()
  let nobody = Promise.withResolvers<void>()

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await bodyOf(request)
    const dialect = PATHS[new URL(request.url!, 'http://server').pathname]
    if (dialect === undefined || request.method !== 'POST') return void response.writeHead(404).end('{}')
    const refuse = (status: number, message: string): void => refuseAs(dialect, response, status, message)
    const given = dialect === 'openai' ? request.headers.authorization : request.headers['x-api-key']
    const wanted = dialect === 'openai' ? `Bearer ${KEY}` : KEY
    // As OpenAI does: with part of the key in the words.
    if (given !== wanted) return refuse(401, `Incorrect API key provided: ${String(given).slice(0, -4)}****`)
    const body = JSON.parse(text) as Record<string, unknown>
    const fault = dialect === 'openai' ? openAiFault(body) : anthropicFault(body, request.headers)
    if (fault !== null) return refuse(400, fault)
    questions.push({ dialect, headers: request.headers, body })
    const reply = replies[0]!
    if (replies.length > 1) replies = replies.slice(1)
    if (reply.kind === 'status') {
      for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
      return refuse(reply.status, reply.message ?? `answers ${reply.status}`)
    }
    await stream(dialect, reply, response)
  }

  const stream = async (dialect: Dialect, reply: Exclude<Reply, { kind: 'status' }>, response: ServerResponse) => {
    const events = dialect === 'openai' ? openAiStream(reply) : anthropicStream(reply)
    const sent = reply.kind === 'says' ? events : events.slice(0, reply.after)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of sent) if (!response.write(event)) await once(response, 'drain')
    switch (reply.kind) {
      case 'says':
        return void response.end()
      case 'error':
        return void response.end(errorEvent(dialect, reply.message))
      case 'silent':
        response.flushHeaders()
        return fallsSilent.resolve()
      case 'cut':
        if (reply.how === 'close') return void response.end()
        // What was written is on its way before the connection is cut.
        await new Promise((resolve) => response.write(': \n\n', resolve))
        response.destroy()
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy())
  })
  server.on('connection', (socket) => {
    if (sockets.size === 0) nobody = Promise.withResolvers<void>()
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size === 0) nobody.resolve()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    key: KEY,
    address: `http://127.0.0.1:${port}/v1`,
    port,
    questions,
    script: (...all) => {
      replies = all
      fallsSilent = Promise.withResolvers<void>()
    },
    silent: () => fallsSilent.promise,
    left: async () => {
      if (sockets.size > 0) await nobody.promise
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  500: 'api_error',
  529: 'overloaded_error',
}

function refuseAs(dialect: Dialect, response: ServerResponse, status: number, message: string): void {
  const type = ANTHROPIC_TYPES[status] ?? 'api_error'
  const body =
    dialect === 'openai'
      ? { error: { message, type, code: null, param: null } }
      : { type: 'error', error: { type, message } }
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const errorEvent = (dialect: Dialect, message: string): string =>
  dialect === 'openai'
    ? `data: ${JSON.stringify({ error: { message, type: 'server_error', code: null, param: null } })}\n\n`
    : `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'overloaded_error', message } })}\n\n`
