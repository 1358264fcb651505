/**
 * The API as it is composed for serving, in this process, over a database of its own: real routes, gate, use cases and
 * statements. Requests come in by `inject`, so that a test can choose the address that it comes from; a node can also
 * listen. Limits are out of the way unless a test asks for them.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import type { KyselyPlugin } from 'kysely'
import { openBlobs } from '../../service/src/compose/blobs.ts'
import { createHttp } from '../../service/src/compose/http.ts'
import { loadConfig } from '../../service/src/config/load.ts'
import { newSecret } from '../../service/src/domain/ids.ts'
import { formatToken } from '../../service/src/domain/key.ts'
import { openDatabase } from '../../service/src/store/database.ts'
import type { Person } from '../../service/src/store/people.ts'
import * as sessions from '../../service/src/store/sessions.ts'
import { type TestApp, type TestAppOptions, testApp } from '../../service/test/support/app.ts'
import { testAgentDeps } from './agents.ts'

export type RequestHeaders = Readonly<Record<string, string>>

export interface Ask {
  /** Credentials as headers, see `bearer`, `pairOf`, `sessionOf`; none for the anonymous. */
  readonly by?: RequestHeaders
  /** The uid for X-Service-Workspace. */
  readonly workspace?: string
  readonly variables?: unknown
  readonly operationName?: unknown
  readonly headers?: RequestHeaders
  readonly path?: string
  readonly address?: string
  /** Instead of the first node. */
  readonly node?: FastifyInstance
}

export interface Reply {
  readonly status: number
  readonly headers: LightMyRequestResponse['headers']
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of an answer, read freely by tests
  readonly json: any
  /** The code of the first error, empty for none. */
  readonly code: string
  /** The message of the first error, empty for none. */
  readonly message: string
}

export interface TestApi extends AsyncDisposable {
  readonly t: TestApp
  readonly node: FastifyInstance
  ask(query: unknown, ask?: Ask): Promise<Reply>
  /** A further process' worth of server on the same database: a pool and a memory of its own. */
  secondNode(): Promise<FastifyInstance>
  /** An open session, without the cost of a password. */
  session(person: Person): Promise<string>
  close(): Promise<void>
}

export interface TestApiOptions extends TestAppOptions {
  /** Settings as environment variables. */
  readonly env?: Readonly<Record<string, string>>
  /** Called with every statement that a request causes; not with those of the test itself. */
  readonly onStatement?: () => void
}

export const PUBLIC_URL = 'http://127.0.0.1:4400'

const OUT_OF_THE_WAY = {
  YARDMASTER_REQUESTS_PER_SECOND: '100000',
  YARDMASTER_REQUEST_BURST: '1000000',
  YARDMASTER_BAD_CREDENTIALS_PER_MINUTE: '100000',
  YARDMASTER_SIGN_INS_PER_MINUTE: '100000',
}

export const bearer = (key: string): RequestHeaders => ({ authorization: `Bearer ${key}` })

export const pairOf = ({ key, secret }: { key: string; secret: string }): RequestHeaders => ({
  'x-api-key': key,
  'x-api-secret': secret,
})

export const cookieOf = (token: string): RequestHeaders => ({ cookie: `yardmaster_session=${token}` })

export const sessionOf = (token: string): RequestHeaders => ({
  ...cookieOf(token),
  'x-yardmaster-console': '1',
  origin: PUBLIC_URL,
})

export async function testApi(options: TestApiOptions = {}): Promise<TestApi> {
  const t = await testApp({ ...options, settings: { publicUrl: PUBLIC_URL, ...options.settings } })
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-api-'))
  const env = { ...OUT_OF_THE_WAY, YARDMASTER_DATA: folder, ...options.env }
  const { config } = loadConfig({ env, cwd: tmpdir() })
  const { blobs } = await openBlobs(config)
  const info = () => ({ id: randomUUID(), host: 'test', pid: 1, roles: [], kids: t.app.vault.kids, version: '0' })
  const closing: (() => Promise<void>)[] = []

  const app = options.onStatement ? { ...t.app, db: t.app.db.withPlugin(watching(options.onStatement)) } : t.app
  const agents = testAgentDeps(app)
  const node = await createHttp(config, { app, database: t.database.database, blobs, agents }, info(), {
    draining: false,
  })
  await node.ready()
  closing.push(async () => void (await node.close()))

  const secondNode = async (): Promise<FastifyInstance> => {
    const database = openDatabase(t.database.connection, {
      poolSize: 3,
      queryTimeoutMs: 10_000,
      applicationName: 'yardmaster second node',
    })
    const app = { ...t.app, db: database.kysely }
    const second = await createHttp(config, { app, database, blobs, agents }, info(), { draining: false })
    await second.ready()
    closing.push(async () => {
      await second.close()
      await database.close()
    })
    return second
  }
  const close = async (): Promise<void> => {
    for (const one of closing.reverse()) await one()
    await t.close()
    await rm(folder, { recursive: true, force: true })
  }
  return {
    t,
    node,
    ask: (query, ask = {}) => askNode(ask.node ?? node, query, ask),
    secondNode,
    session: async (person) => {
      const token = formatToken(newSecret())
      const tokenHash = t.app.vault.hashSecret(token)
      await sessions.insert(t.app.db, { personId: person.id, tokenHash, address: '', userAgent: '', hours: 1 })
      return token
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const watching = (onStatement: () => void): KyselyPlugin => ({
  transformQuery: ({ node }) => {
    onStatement()
    return node
  },
  transformResult: async ({ result }) => result,
})

async function askNode(node: FastifyInstance, query: unknown, ask: Ask): Promise<Reply> {
  const response = await node.inject({
    method: 'POST',
    url: ask.path ?? '/graphql',
    remoteAddress: ask.address ?? '127.0.0.1',
    headers: {
      'content-type': 'application/json',
      ...ask.by,
      ...(ask.workspace !== undefined && { 'x-service-workspace': ask.workspace }),
      ...ask.headers,
    },
    payload: JSON.stringify({ query, variables: ask.variables, operationName: ask.operationName }),
  })
  return replyOf(response)
}

export function replyOf(response: LightMyRequestResponse): Reply {
  const type = String(response.headers['content-type'] ?? '')
  const json = type.startsWith('application/json') && response.body !== '' ? JSON.parse(response.body) : null
  return {
    status: response.statusCode,
    headers: response.headers,
    text: response.body,
    json,
    code: json?.errors?.[0]?.extensions?.code ?? '',
    message: json?.errors?.[0]?.message ?? '',
  }
}
