// The session cookie, and who comes with it.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '../../app/authenticate.ts'
import type { App, Context } from '../../app/context.ts'
import type { Visitor } from '../../app/visitor.ts'
import { readSessionCookie, SESSION_COOKIE } from '../auth.ts'

interface CookieOptions {
  readonly path: string
  readonly sameSite: 'Strict' | 'Lax'
  readonly maxAge: number
  readonly secure: boolean
}

/** Values are tokens of ours: letters, digits, `_`, `-` and `.`, which need no encoding. */
export function cookie(name: string, value: string, { path, sameSite, maxAge, secure }: CookieOptions): string {
  const parts = [`${name}=${value}`, `Path=${path}`, `Max-Age=${maxAge}`, 'HttpOnly', `SameSite=${sameSite}`]
  return [...parts, ...(secure ? ['Secure'] : [])].join('; ')
}

export const isSecure = (app: App): boolean => app.settings.publicUrl.startsWith('https:')

export function setSession(app: App, reply: FastifyReply, token: string): FastifyReply {
  const maxAge = app.settings.sessionHours * 3600
  return reply.header('set-cookie', sessionCookie(app, token, maxAge))
}

export function clearSession(app: App, reply: FastifyReply): FastifyReply {
  return reply.header('set-cookie', sessionCookie(app, '', 0))
}

const sessionCookie = (app: App, value: string, maxAge: number): string =>
  cookie(SESSION_COOKIE, value, { path: '/', sameSite: 'Strict', maxAge, secure: isSecure(app) })

export const visitorOf = (request: FastifyRequest): Visitor => ({
  id: request.id,
  address: request.ip,
  userAgent: request.headers['user-agent'] ?? '',
})

/** The context of the person whose session cookie came with the request; null for everybody else. */
export async function signedInContext(app: App, request: FastifyRequest): Promise<Context | null> {
  const token = readSessionCookie(request)
  if (token === null) return null
  const { actor } = await authenticate(app, { kind: 'session', token }, null)
  if (actor.kind !== 'person') return null
  return {
    ...app,
    actor,
    workspace: null,
    visible: actor.person.memberships.map((one) => one.workspaceId),
    request: visitorOf(request),
    idempotency: null,
  }
}
