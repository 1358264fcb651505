// The pages over a test app, and a visitor who keeps cookies and sends forms as a browser would.
import type { FastifyInstance } from 'fastify'
import { ownOriginsOf } from '../../src/api/auth.ts'
import { registerPages } from '../../src/api/pages/register.ts'
import { createServer } from '../../src/api/server.ts'
import { createSignInLimiter } from '../../src/api/sign-in-limit.ts'
import type { IdentityProvider } from '../../src/ports/identity-provider.ts'
import { isUnavailable } from '../../src/store/database.ts'
import { type TestApp, type TestAppOptions, testApp } from './app.ts'

export interface TestPages extends TestApp {
  readonly server: FastifyInstance
  /** Moves the clock of the limits. */
  tick(milliseconds: number): void
  visitor(address?: string): TestVisitor
}

export interface TestPagesOptions extends TestAppOptions {
  readonly provider?: IdentityProvider
  readonly signInsPerMinute?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly cookies: readonly string[]
  readonly location: string | null
  readonly html: string
  /** What a reader sees: the page without its tags. */
  readonly text: string
  readonly error: string | null
}

export interface TestVisitor {
  readonly cookies: Map<string, string>
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>
  signIn(email: string, password: string): Promise<Answer>
}

export const PASSWORD = 'correct horse battery'

export async function testPages(options: TestPagesOptions = {}): Promise<TestPages> {
  const t = await testApp(options)
  const { app } = t
  let now = 0
  const server = createServer({
    log: app.log,
    trustProxy: [],
    tls: null,
    maxConnections: 1000,
    isUnavailable,
  })
  registerPages(server, {
    app,
    refusals: t.refusals,
    limiter: createSignInLimiter({ signInsPerMinute: options.signInsPerMinute ?? 1000 }, () => now),
    ownOrigins: () => ownOriginsOf(app.settings.publicUrl),
    provider: options.provider ?? null,
    isUnavailable,
  })
  await server.ready()
  const close = async (): Promise<void> => {
    await server.close()
    await t.close()
  }
  return {
    ...t,
    server,
    tick: (milliseconds) => {
      now += milliseconds
    },
    visitor: (address = '192.0.2.7') => visitorOf(server, app.settings.publicUrl, address),
    close,
    [Symbol.asyncDispose]: close,
  }
}

function visitorOf(server: FastifyInstance, publicUrl: string, address: string): TestVisitor {
  const cookies = new Map<string, string>()
  const origin = new URL(publicUrl).origin

  const send = async (
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    payload?: string,
  ): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await server.inject({
      method,
      url: path,
      remoteAddress: address,
      headers: { ...(cookie !== '' && { cookie }), ...headers },
      ...(payload !== undefined && { payload }),
    })
    const set = [response.headers['set-cookie'] ?? []].flat()
    for (const one of set) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(one)!
      if (/Max-Age=0\b/.test(one)) cookies.delete(name!)
      else cookies.set(name!, value!)
    }
    return {
      status: response.statusCode,
      headers: response.headers as Answer['headers'],
      cookies: set,
      location: (response.headers.location as string | undefined) ?? null,
      html: response.body,
      text: textOf(response.body),
      error: /role="alert">([^<]*)</.exec(response.body)?.[1] ?? null,
    }
  }

  const visitor: TestVisitor = {
    cookies,
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, fields = {}, headers = {}) => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      return send('POST', path, { origin, ...type, ...headers }, new URLSearchParams(fields).toString())
    },
    signIn: (email, password) => visitor.post('/signin', { email, password }),
  }
  return visitor
}

export const textOf = (html: string): string =>
  html
    .replace(/^.*<body>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
