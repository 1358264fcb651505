// The HTTP edge over the real SDL and policy table, with a fake gatekeeper (who a token is, is a table here) and fake
// resolvers: what the edge itself decides can be seen without a database.
import assert from 'node:assert/strict'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { GraphQLSchema } from 'graphql'
import { buildASTSchema, parse } from 'graphql'
import { ownOriginsOf, workspaceHeaderNames } from '../../src/api/auth.ts'
import type { Call, Credentials, Denial, Gatekeeper, Identity, Log, Rejection } from '../../src/api/edge.ts'
import { registerGraphQL } from '../../src/api/graphql/route.ts'
import { createSchema, operationsOf, type Resolver, readContract } from '../../src/api/graphql/schema.ts'
import { createRateLimiter, type RateLimits } from '../../src/api/rate-limit.ts'
import { createServer, type ServerOptions } from '../../src/api/server.ts'
import type { KeyIdentity, WorkspaceRef } from '../../src/domain/actor.ts'
import { CAPABILITIES } from '../../src/domain/capability.ts'
import type { AccountSwitches } from '../../src/domain/feature.ts'

export const PUBLIC_URL = 'http://127.0.0.1:4400'
export const FIRST: WorkspaceRef = { id: 1, uid: 'a'.repeat(16), name: 'First', agents: true }
export const SECOND: WorkspaceRef = { id: 2, uid: 'b'.repeat(16), name: 'Second', agents: false }

const ALL_ON: AccountSwitches = {
  scheduling: true,
  user_management: true,
  workspace_management: true,
  audit_logs: true,
}

const key = (id: number, more: Partial<KeyIdentity> = {}): KeyIdentity => ({
  id,
  kind: 'account',
  name: `key ${id}`,
  client: null,
  capabilities: CAPABILITIES,
  workspaceId: null,
  makerId: null,
  makerEmail: '',
  ...more,
})

const person = {
  id: 7,
  email: 'ana@example.com',
  name: 'Ana',
  memberships: [{ workspaceId: FIRST.id, accountType: 'ADMIN' as const }],
  runsAccount: false,
}

const KEYS: Readonly<Record<string, Identity['actor']>> = {
  full: { kind: 'key', key: key(1) },
  other: { kind: 'key', key: key(2) },
  'no-capability': { kind: 'key', key: key(3, { capabilities: [] }) },
  'audit-only': { kind: 'key', key: key(4, { capabilities: ['audit:read'] }) },
  bound: { kind: 'key', key: key(5, { kind: 'workspace', workspaceId: FIRST.id }) },
  personal: { kind: 'personal-key', key: key(6, { kind: 'personal' }), person },
}

const REJECTED: Readonly<Record<string, Rejection>> = {
  expired: { reason: 'expired', keyId: 'expired' },
  revoked: { reason: 'revoked', keyId: 'revoked' },
  malformed: { reason: 'malformed', keyId: null },
}

export interface TestEdgeOptions {
  readonly resolvers?: Readonly<Record<string, Resolver<Call>>>
  readonly switches?: Partial<AccountSwitches>
  readonly limits?: Partial<RateLimits>
  readonly server?: Partial<ServerOptions>
  readonly authenticate?: Gatekeeper['authenticate']
  readonly onDenied?: (denial: Denial) => Promise<void>
  readonly isUnavailable?: (error: unknown) => boolean
}

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: Record<string, unknown>
}

export interface Reply {
  readonly status: number
  readonly headers: LightMyRequestResponse['headers']
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, read freely by tests
  readonly json: any
  readonly text: string
}

export interface TestEdge {
  readonly app: FastifyInstance
  readonly schema: GraphQLSchema
  readonly calls: Call[]
  readonly denials: Denial[]
  readonly lines: LogLine[]
  readonly seen: Credentials[]
  /** The monotonic clock, which stands still. */
  readonly clock: { ms: number }
  ask(query: unknown, ask?: Ask): Promise<Reply>
}

export interface Ask {
  readonly key?: string | null
  readonly workspace?: string
  readonly headers?: Record<string, string | string[]>
  readonly variables?: unknown
  readonly operationName?: unknown
  readonly path?: string
  readonly address?: string
}

export async function testEdge(options: TestEdgeOptions = {}): Promise<TestEdge> {
  const calls: Call[] = []
  const denials: Denial[] = []
  const lines: LogLine[] = []
  const seen: Credentials[] = []
  const clock = { ms: 1_000 }
  const log = logInto(lines)
  const isUnavailable = options.isUnavailable ?? (() => false)
  const schema = createSchema(fakes(options.resolvers ?? {}))
  const now = () => clock.ms
  const app = createServer({
    log,
    trustProxy: [],
    tls: null,
    maxConnections: 1_000,
    isUnavailable,
    ...options.server,
  })
  registerGraphQL<Call>(app, {
    schema,
    log,
    now,
    isUnavailable,
    gatekeeper: {
      authenticate: (credentials, workspaceUid, request) => {
        seen.push(credentials)
        if (options.authenticate) return options.authenticate(credentials, workspaceUid, request)
        return Promise.resolve(identify(credentials, workspaceUid, { ...ALL_ON, ...options.switches }))
      },
    },
    limiter: createRateLimiter(
      { requestsPerSecond: 1_000, requestBurst: 100_000, badCredentialsPerMinute: 1_000, ...options.limits },
      now,
    ),
    ownOrigins: () => ownOriginsOf(PUBLIC_URL),
    workspaceHeaders: workspaceHeaderNames(['X-Other-Workspace']),
    contextFor: (call) => {
      calls.push(call)
      return call
    },
    onDenied: async (denial) => {
      denials.push(denial)
      await options.onDenied?.(denial)
    },
  })
  return { app, schema, calls, denials, lines, seen, clock, ask: (query, ask) => askOf(app, query, ask) }
}

async function askOf(app: FastifyInstance, query: unknown, ask: Ask = {}): Promise<Reply> {
  const { key = 'full', workspace, headers, variables, operationName, path = '/graphql', address = '127.0.0.1' } = ask
  const response = await app.inject({
    method: 'POST',
    url: path,
    remoteAddress: address,
    headers: {
      'content-type': 'application/json',
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(workspace !== undefined && { 'x-service-workspace': workspace }),
      ...headers,
    },
    payload: JSON.stringify({ query, variables, operationName }),
  })
  return replyOf(response)
}

export const replyOf = (response: LightMyRequestResponse): Reply => ({
  status: response.statusCode,
  headers: response.headers,
  text: response.body,
  json: response.body === '' ? null : JSON.parse(response.body),
})

/** The answer is this refusal, in JSON. */
export function refused(reply: Reply, status: number, code: string, message: RegExp): void {
  assert.equal(reply.status, status, reply.text)
  assert.equal(reply.json.errors[0].extensions.code, code)
  assert.match(reply.json.errors[0].message, message)
  assert.match(String(reply.headers['content-type']), /^application\/json/)
}

export function logInto(lines: LogLine[]): Log {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } })
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export function identify(credentials: Credentials, uid: string | null, switches = ALL_ON): Identity {
  const anonymous = (rejected: Rejection | null): Identity => ({
    actor: { kind: 'anonymous' },
    selection: { kind: 'unknown' },
    switches,
    rejected,
  })
  const known = (actor: Identity['actor'], bound: WorkspaceRef | null = null): Identity => ({
    actor,
    selection: select(uid ?? bound?.uid ?? null),
    switches,
    rejected: null,
  })
  switch (credentials.kind) {
    case 'none':
      return anonymous(null)
    case 'session':
      return credentials.token === 'ana' ? known({ kind: 'person', person, sessionId: 1 }) : anonymous(unknown(null))
    case 'pair':
      return credentials.key === 'pair' && credentials.secret === 'secret'
        ? known({ kind: 'key', key: key(8, { kind: 'pair', workspaceId: FIRST.id }) }, FIRST)
        : anonymous(unknown(credentials.key))
    case 'bearer': {
      const { token } = credentials
      if (Object.hasOwn(REJECTED, token)) return anonymous(REJECTED[token]!)
      if (!Object.hasOwn(KEYS, token)) return anonymous(unknown(token))
      return known(KEYS[token]!, token === 'bound' ? FIRST : null)
    }
  }
}

const unknown = (keyId: string | null): Rejection => ({ reason: 'unknown', keyId })

function select(uid: string | null): Identity['selection'] {
  if (uid === null) return { kind: 'none', header: 'X-Service-Workspace' }
  const workspace = [FIRST, SECOND].find((one) => one.uid === uid)
  return workspace ? { kind: 'found', workspace } : { kind: 'unknown' }
}

/** A resolver for every operation; the ones that tests do not name answer `{ ok: true }` and empty lists. */
function fakes(named: Readonly<Record<string, Resolver<Call>>>): Record<string, Resolver<Call>> {
  const empty = {
    ok: true,
    activeUsers: [],
    invitedUsers: [],
    workspaces: [],
    environments: [],
    variables: [],
    secrets: [],
    auditLogs: [],
    totalCount: 0,
    keys: [],
    sessions: [],
    slug: 's',
  }
  const table: Record<string, Resolver<Call>> = {}
  for (const name of operationsOf(buildASTSchema(parse(readContract())))) table[name] = () => empty
  table.apiKeyIdentity = ({ identity }: Call) => ({ isValid: identity.actor.kind !== 'anonymous', capabilities: [] })
  return { ...table, ...named }
}
