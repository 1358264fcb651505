// From headers to credentials and a workspace. Nothing here decides whether they are good.
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../domain/errors.ts'
import type { Credentials } from './edge.ts'

export const SESSION_COOKIE = 'yardmaster_session'
export const CONSOLE_HEADER = 'X-Yardmaster-Console'
export const WORKSPACE_HEADER = 'X-Service-Workspace'

interface Headed {
  readonly headers: IncomingHttpHeaders
}

/**
 * Keys come from headers alone and win over a cookie. The cookie counts only beside a header that a foreign page cannot
 * send without our consent, and an origin of our own: a form or link elsewhere is anonymous (CSRF). Authorization of
 * another scheme is not ours (a proxy's Basic) and is passed over.
 */
export function readCredentials(request: Headed, own: { readonly ownOrigins: ReadonlySet<string> }): Credentials {
  const { headers } = request
  const bearer = bearerOf(headers.authorization)
  if (bearer !== null) return { kind: 'bearer', token: bearer }
  const key = single(headers['x-api-key'])
  const secret = single(headers['x-api-secret'])
  if (key !== null || secret !== null) return { kind: 'pair', key: key ?? '', secret: secret ?? '' }
  if (headers['x-yardmaster-console'] !== '1') return { kind: 'none' }
  if (headers.origin === undefined || !own.ownOrigins.has(headers.origin)) return { kind: 'none' }
  const token = readSessionCookie(request)
  return token === null ? { kind: 'none' } : { kind: 'session', token }
}

/** For pages, which are read by plain navigation and change nothing on a GET. */
export const readSessionCookie = (request: Headed): string | null => readCookie(request, SESSION_COOKIE)

/** Two cookies of the name, set for different paths or by a neighbour, are none. */
export function readCookie(request: Headed, name: string): string | null {
  const { cookie } = request.headers
  if (cookie === undefined) return null
  let found: string | null = null
  for (const part of cookie.split(';')) {
    const at = part.indexOf('=')
    if (at === -1 || part.slice(0, at).trim() !== name) continue
    const value = part.slice(at + 1).trim()
    if (found !== null && found !== value) return null
    found = value
  }
  return found === '' ? null : found
}

/** The token of `Authorization: Bearer <token>`, '' when there is none behind the word, null for another scheme. */
export function bearerOf(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const match = /^bearer(?:[ \t]+(.*))?$/i.exec(authorization.trim())
  return match === null ? null : (match[1] ?? '').trim()
}

/**
 * The workspace that the request names, null for none. The names mean the same, so two that disagree (or one sent twice
 * with two values) leave no reading that is not a guess.
 */
export function readWorkspace(request: Headed, names: readonly string[]): string | null {
  let found: string | null = null
  for (const name of names) {
    const header = single(request.headers[name])
    if (header === null) continue
    for (const part of header.split(',')) {
      const value = part.trim()
      if (value === '') continue
      if (found !== null && found !== value) {
        throw new AppError('BAD_REQUEST', `The request names two workspaces: send one header, ${WORKSPACE_HEADER}.`)
      }
      found = value
    }
  }
  return found
}

/** The names to hand to `readWorkspace`, as Node spells headers. */
export const workspaceHeaderNames = (further: readonly string[]): readonly string[] => [
  ...new Set([WORKSPACE_HEADER, ...further].map((name) => name.toLowerCase())),
]

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** The origins of our own pages. One machine has three names for itself, and people type any of them. */
export function ownOriginsOf(publicUrl: string): ReadonlySet<string> {
  const url = new URL(publicUrl)
  const hosts = LOOPBACK.includes(url.hostname) ? LOOPBACK : [url.hostname]
  return new Set(hosts.map((host) => new URL(`${url.protocol}//${host}${url.port ? `:${url.port}` : ''}`).origin))
}

const single = (value: string | string[] | undefined): string | null =>
  value === undefined ? null : Array.isArray(value) ? value.join(',') : value
