// For whoever watches the process: is it alive, and should it get requests.
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../domain/errors.ts'
import type { Log, Monotonic } from '../edge.ts'
import { errorBody } from '../status.ts'

/** Many watchers cost one look a second. */
const REUSED_MS = 1_000
const RETRY_AFTER_SECONDS = 2
/** A database that hangs is one that is away; who watches does not wait for its timeouts. */
const READY_MS = 2_000
const UNKNOWN = 'The database does not answer or takes no writes: the log says why.'

export interface HealthOptions {
  /** Resolves when the service can claim and commit, rejects with the reason. An AppError's words are shown. */
  readonly ready: () => Promise<void>
  readonly draining: () => boolean
  readonly now: Monotonic
  readonly log: Log
}

export function registerHealth(app: FastifyInstance, options: HealthOptions): void {
  const config = { access: 'public' as const }
  app.get('/healthz', { config }, (_request, reply) => {
    void reply.send({ status: 'ok' })
  })

  let look: { readonly at: number; readonly reason: Promise<string | null> } | null = null
  let last: string | null = null

  async function lookNow(): Promise<string | null> {
    let reason: string | null = null
    try {
      await within(options.ready(), READY_MS)
    } catch (error) {
      reason = error instanceof AppError ? error.message : UNKNOWN
      if (reason !== last) options.log.warn({ err: error }, 'not ready')
    }
    if (reason === null && last !== null) options.log.info({}, 'ready again')
    last = reason
    return reason
  }

  app.get('/readyz', { config }, async (request, reply) => {
    let reason: string | null
    if (options.draining()) {
      reason = 'Stopping.'
    } else {
      if (look === null || options.now() - look.at >= REUSED_MS) look = { at: options.now(), reason: lookNow() }
      reason = await look.reason
    }
    if (reason === null) return reply.send({ status: 'ready' })
    return reply
      .code(503)
      .header('retry-after', RETRY_AFTER_SECONDS)
      .type('application/json; charset=utf-8')
      .send(errorBody(reason, 'UNAVAILABLE', request.id))
  })
}

function within(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
