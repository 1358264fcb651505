// What a form sends, and whether one of our own pages sent it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, invalidInput } from '../../domain/errors.ts'

export const FORM_BYTES = 16 * 1024
const MOST_FIELDS = 20

/** For the routes of this instance only: everything else goes on reading JSON and nothing but JSON. */
export function readForms(app: FastifyInstance): void {
  const type = 'application/x-www-form-urlencoded'
  app.addContentTypeParser(type, { parseAs: 'string', bodyLimit: FORM_BYTES }, (_request, body, done) => {
    const fields = new Map<string, string>()
    let count = 0
    for (const [name, value] of new URLSearchParams(body as string)) {
      if (++count > MOST_FIELDS || fields.has(name)) {
        done(new AppError('BAD_REQUEST', 'The form was not sent as it was shown. Open the page again.'))
        return
      }
      fields.set(name, value)
    }
    done(null, fields)
  })
}

/** The value of a field, empty when it did not come. */
export function fieldOf(request: FastifyRequest, name: string): string {
  return request.body instanceof Map ? ((request.body.get(name) as string | undefined) ?? '') : ''
}

/** The two fields of a new password. */
export function newPasswordOf(request: FastifyRequest): string {
  const password = fieldOf(request, 'password')
  if (password !== fieldOf(request, 'again')) throw invalidInput('The two passwords differ.')
  return password
}

/**
 * A form of a foreign page must do nothing, not even sign somebody in (as somebody else). Browsers say where a form
 * stood: `Origin` on every POST, or `Sec-Fetch-Site`. What says neither is no browser that shows our pages.
 */
export function isOwnForm(request: FastifyRequest, ownOrigins: ReadonlySet<string>): boolean {
  const { origin } = request.headers
  return origin === undefined ? request.headers['sec-fetch-site'] === 'same-origin' : ownOrigins.has(origin)
}

/**
 * Where to go after signing in: a path of ours or the start page. Read by the rules of browsers, to which `/\host`,
 * `//host` and a path with a tab in it are other machines.
 */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || text.length > 2000 || !/^\/(?![/\\])[\x21-\x7e]*$/.test(text)) return '/'
  const base = 'http://yardmaster.invalid'
  const url = URL.canParse(text, base) ? new URL(text, base) : null
  // Dots can still climb to a path that begins with two slashes.
  return url === null || url.origin !== base || /^\/[/\\]/.test(url.pathname) ? '/' : url.pathname + url.search
}
