// The HTTP server: limits of connections and requests, request ids, headers of every answer, one form for every error,
// one log line per request. Routes are added to what it returns.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { AppError } from '../domain/errors.ts'
import type { Log } from './edge.ts'
import { masked } from './graphql/answer.ts'
import { LIMITS } from './graphql/limits.ts'
import { requireAccess } from './routes.ts'
import { errorBody, retryAfterOf, statusOf, type WireCode } from './status.ts'

export interface ServerOptions {
  readonly log: Log
  /** Proxies whose X-Forwarded-For is believed; none unless named. */
  readonly trustProxy: readonly string[]
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null
  readonly maxConnections: number
  /** Whether an error says that the database does not answer. */
  readonly isUnavailable: (error: unknown) => boolean
  /** Once true, connections are closed after the answer they are waiting for. */
  readonly draining?: () => boolean
  /** For metrics: the route's pattern, never the path that the client sent. */
  readonly onAnswered?: (route: string, status: number, seconds: number) => void
  readonly timeouts?: Partial<Timeouts>
}

export interface Timeouts {
  /** Until the last header has come. */
  readonly headersMs: number
  /** Until the last byte of the request has come. */
  readonly requestMs: number
  /** How often the two above are looked at. */
  readonly checkMs: number
  /** Without a byte in either direction. */
  readonly idleMs: number
  /** Between two requests of one connection. */
  readonly keepAliveMs: number
}

const TIMEOUTS: Timeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  checkMs: 2_000,
  idleMs: 120_000,
  keepAliveMs: 65_000,
}
const MOST_HEADERS = 100
const MOST_HEADER_BYTES = 16 * 1024
/** So that connections move to other nodes in the end. */
const MOST_REQUESTS_PER_CONNECTION = 100_000

// Nothing we answer may be framed, sniffed, kept by a cache or, being JSON, load anything. Pages set their own policy.
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const

export function createServer(options: ServerOptions): FastifyInstance {
  const { log } = options
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const http = {
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkMs,
    maxHeaderSize: MOST_HEADER_BYTES,
  }
  const https = options.tls && {
    ...http,
    cert: readFileSync(options.tls.certFile),
    key: readFileSync(options.tls.keyFile),
    minVersion: 'TLSv1.2' as const,
  }
  const nextId = requestIds()
  const app = Fastify({
    logger: false,
    genReqId: nextId,
    // Ours alone: a client's own id would end up in the log under its control.
    requestIdHeader: false,
    bodyLimit: LIMITS.bodyBytes,
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    requestTimeout: timeouts.requestMs,
    connectionTimeout: timeouts.idleMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    maxRequestsPerSocket: MOST_REQUESTS_PER_CONNECTION,
    // While closing, what was accepted is answered; the connection is closed after it.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      dress(request, reply)
      sendError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket as Socket, nextId()),
    ...(https ? { https } : { http }),
  }) as unknown as FastifyInstance
  app.server.maxConnections = options.maxConnections
  app.server.maxHeadersCount = MOST_HEADERS
  // Node forgets the address of a peer that is gone, unless it was asked for it before. A client that hangs up behind its
  // request must not be without one: limits and the audit log go by it.
  app.server.on(isTls(app) ? 'secureConnection' : 'connection', (socket: Socket) => socket.remoteAddress)
  app.server.on('checkExpectation', (_request, response) => {
    const id = nextId()
    const body = errorBody('The only expectation that is met is 100-continue.', 'EXPECTATION_FAILED', id)
    const type = 'application/json; charset=utf-8'
    const length = Buffer.byteLength(body)
    response
      .writeHead(417, { ...HEADERS, 'content-type': type, 'content-length': length, 'x-request-id': id })
      .end(body)
  })

  closeUnused(app)
  requireAccess(app)
  // Each kind of route brings the parser of what it reads; nothing else is read at all.
  app.removeAllContentTypeParsers()

  app.addHook('onRequest', (request, reply, done) => {
    dress(request, reply)
    if (options.draining?.()) reply.header('connection', 'close')
    // Here rather than in the handler, which would read the body first.
    if (request.is404) sendNotFound(app, request, reply)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const status = reply.statusCode
    const fields = {
      requestId: request.id,
      method: request.method,
      path: pathOf(request),
      status,
      ms: Math.round(reply.elapsedTime * 10) / 10,
    }
    if (status >= 500) log.error(fields, 'request failed')
    else if (status >= 400) log.info(fields, 'request refused')
    else log.debug(fields, 'request answered')
    options.onAnswered?.(
      request.is404 ? 'none' : (request.routeOptions.url ?? 'none'),
      status,
      reply.elapsedTime / 1000,
    )
    done()
  })
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) => sendNotFound(app, request, reply))
  return app

  function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { status, code, message, retryAfter } = classify(error, request)
    if (retryAfter !== null) reply.header('retry-after', retryAfter)
    send(reply, status, errorBody(message, code, request.id))
  }

  function classify(error: unknown, request: FastifyRequest): Classified {
    if (error instanceof AppError) {
      // Outside GraphQL there is no 200 that means no.
      const status = statusOf(error.code)
      return {
        status: status === 200 ? 400 : status,
        code: error.code,
        message: error.message,
        retryAfter: retryAfterOf(error),
      }
    }
    if (options.isUnavailable(error)) {
      return { status: 503, code: 'UNAVAILABLE', message: 'The database does not answer.', retryAfter: 2 }
    }
    const { statusCode, message } = error as Partial<FastifyError>
    if (statusCode === 413) {
      const most = `${LIMITS.bodyBytes / 1024 / 1024} MiB`
      return { status: 413, code: 'PAYLOAD_TOO_LARGE', message: `The body is larger than ${most}.`, retryAfter: null }
    }
    if (statusCode === 415) {
      const text = 'This route does not read that type of body: GraphQL takes Content-Type: application/json.'
      return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message: text, retryAfter: null }
    }
    if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
      // The parser's own words quote the body.
      const text = error instanceof SyntaxError ? 'The body is not JSON.' : (message ?? 'Bad request.')
      return { status: statusCode, code: 'BAD_REQUEST', message: text, retryAfter: null }
    }
    log.error({ requestId: request.id, path: pathOf(request), err: error }, 'internal fault')
    return { status: 500, code: 'INTERNAL', message: masked(request.id), retryAfter: null }
  }
}

/**
 * Answers what is going on and closes the rest at once. Past the deadline it waits for nobody: while a server closes, Node
 * no longer looks at its timeouts, so one slow client could hold the process for ever.
 */
export async function stopServer(app: FastifyInstance, graceMs: number): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), graceMs)
  try {
    await app.close()
  } finally {
    clearTimeout(deadline)
  }
}

// Node closes the connections that wait for a further request, but takes one that never sent its first for busy; and it
// would keep one alive whose request began before the stop.
function closeUnused(app: FastifyInstance): void {
  const open = new Set<Socket>()
  const going = new Set<FastifyReply>()
  let closing = false
  app.server.on(isTls(app) ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (closing) {
      socket.destroy()
      return
    }
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('onRequest', (_request, reply, done) => {
    going.add(reply)
    // Comes also when the client has gone, where onResponse does not.
    reply.raw.once('close', () => going.delete(reply))
    done()
  })
  app.addHook('preClose', (done) => {
    closing = true
    const busy = new Set<Socket>()
    for (const reply of going) {
      busy.add(reply.request.raw.socket)
      if (!reply.sent) reply.header('connection', 'close')
    }
    for (const socket of open) if (!busy.has(socket)) socket.destroy()
    done()
  })
}

const isTls = (app: FastifyInstance): boolean => app.server instanceof TlsServer

interface Classified {
  readonly status: number
  readonly code: WireCode
  readonly message: string
  readonly retryAfter: number | null
}

function dress(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(HEADERS)
  reply.header('x-request-id', request.id)
}

function sendNotFound(app: FastifyInstance, request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?', 1)[0] ?? ''
  const methods = app.methodsOf(path)
  if (methods.length === 0) {
    send(reply, 404, errorBody('Nothing is served at this path.', 'NOT_FOUND', request.id))
    return
  }
  reply.header('allow', methods.join(', '))
  const text = `This path answers ${methods.join(', ')} only.`
  send(reply, 405, errorBody(text, 'METHOD_NOT_ALLOWED', request.id))
}

function send(reply: FastifyReply, status: number, body: string): void {
  void reply.code(status).type('application/json; charset=utf-8').send(body)
}

/** A start that no other process shares, and a count. */
function requestIds(): () => string {
  const start = randomBytes(6).toString('hex')
  let count = 0
  return () => `${start}-${(++count).toString(36)}`
}

/**
 * The route's pattern, so that no token in a path is ever logged; for what nobody serves the path itself, without its
 * query and with everything long enough to be a token masked.
 */
function pathOf(request: FastifyRequest): string {
  if (!request.is404 && request.routeOptions.url !== undefined) return request.routeOptions.url
  const path = request.url.split('?', 1)[0] ?? ''
  return path
    .slice(0, 200)
    .split('/')
    .map((part) => (part.length >= 16 ? '[masked]' : part))
    .join('/')
}

const UNREADABLE: Readonly<Record<string, readonly [status: number, phrase: string, code: WireCode, message: string]>> =
  {
    HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'HEADERS_TOO_LARGE', 'The headers are over 16 KiB.'],
    ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'REQUEST_TIMEOUT', 'The request did not come in time.'],
  }

// What is not HTTP never becomes a request; Node hands over the bare socket.
function refuseUnreadable(error: Error & { code?: string }, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const known = UNREADABLE[error.code ?? '']
  const [status, phrase, code, message] = known ?? [400, 'Bad Request', 'BAD_REQUEST', 'This is not HTTP.']
  const body = errorBody(message, code, requestId)
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
