// What Prometheus reads. Labels are bounded by construction: patterns of routes, classes of statuses, names of served
// operations; never anything that a client can make up.
import { createHash, timingSafeEqual } from 'node:crypto'
import { BlockList, isIPv6 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { bearerOf } from '../auth.ts'
import { errorBody } from '../status.ts'

export interface PoolState {
  readonly total: number
  readonly idle: number
  readonly waiting: number
}

export interface Metrics {
  readonly registry: Registry
  /** For ServerOptions.onAnswered. */
  answered(route: string, status: number, seconds: number): void
  /** For GraphQLRouteOptions.observe. */
  operation(name: string, outcome: string): void
}

export function createMetrics(sources: {
  readonly operations: readonly string[]
  readonly pool: () => PoolState
}): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Counter({
    name: 'yardmaster_http_requests_total',
    help: 'Requests answered, by route and class of status.',
    labelNames: ['route', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'yardmaster_http_request_duration_seconds',
    help: 'From the first byte of a request to the last of its answer.',
    labelNames: ['route'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  const operations = new Counter({
    name: 'yardmaster_graphql_operations_total',
    help: 'Root fields, by operation and outcome (ok, refused by a rule, denied by the gate, fault).',
    labelNames: ['operation', 'outcome'],
    registers,
  })
  const served = new Set(sources.operations)
  new Gauge({
    name: 'yardmaster_database_connections',
    help: 'Connections of the pool by state; waiting is requests that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { total, idle, waiting } = sources.pool()
      this.set({ state: 'busy' }, total - idle)
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'waiting' }, waiting)
    },
  })
  return {
    registry,
    answered(route, status, seconds) {
      requests.inc({ route, status: `${Math.floor(status / 100)}xx` })
      durations.observe({ route }, seconds)
    },
    operation(name, outcome) {
      if (served.has(name)) operations.inc({ operation: name, outcome })
    },
  }
}

export function registerMetrics(app: FastifyInstance, metrics: Metrics, options: { readonly token: string | null }) {
  app.get('/metrics', { config: { access: 'metrics' } }, async (request, reply) => {
    const refusal = refusalOf(request, options.token)
    if (refusal !== null) {
      return reply
        .code(401)
        .type('application/json; charset=utf-8')
        .send(errorBody(refusal, 'UNAUTHENTICATED', request.id))
    }
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
  })
}

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

function refusalOf(request: FastifyRequest, token: string | null): string | null {
  if (token !== null) {
    const given = bearerOf(request.headers.authorization)
    return given !== null && same(given, token) ? null : 'Send "Authorization: Bearer <token>" with the metrics token.'
  }
  // The peer of the connection, not what a proxy says of it: one on this machine speaks for anyone.
  const peer = request.socket.remoteAddress ?? ''
  const proxied = request.headers.forwarded !== undefined || request.headers['x-forwarded-for'] !== undefined
  if (!proxied && peer !== '' && LOOPBACK.check(peer, isIPv6(peer) ? 'ipv6' : 'ipv4')) return null
  return 'Without a token metrics are served to this machine alone: set YARDMASTER_METRICS_TOKEN and send it as a bearer token.'
}

// Digests, because the comparison needs equal lengths and must not tell the token's.
const same = (left: string, right: string): boolean =>
  timingSafeEqual(createHash('sha256').update(left).digest(), createHash('sha256').update(right).digest())
