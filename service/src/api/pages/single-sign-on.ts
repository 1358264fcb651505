// There and back again: to the identity provider with a sealed cookie, and home with what it says.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { beginSingleSignOn, finishSingleSignOn, SSO_CALLBACK, SSO_MINUTES } from '../../app/single-sign-on.ts'
import { AppError } from '../../domain/errors.ts'
import type { IdentityProvider } from '../../ports/identity-provider.ts'
import { readCookie } from '../auth.ts'
import { localPath } from './forms.ts'
import type { PagesOptions } from './options.ts'
import { cookie, isSecure, setSession, visitorOf } from './session.ts'
import { sendOn } from './sign-in.ts'

const COOKIE = 'yardmaster_sso'
const PATH = '/signin/sso'

export function registerSingleSignOn(
  pages: FastifyInstance,
  { app, refusals, limiter }: PagesOptions,
  provider: IdentityProvider,
): void {
  const config = { access: 'public' as const }
  // Lax: the provider sends people back by a navigation that is not ours, and the cookie has to come along.
  const state = (value: string, maxAge: number): string =>
    cookie(COOKIE, value, { path: PATH, sameSite: 'Lax', maxAge, secure: isSecure(app) })

  pages.get(PATH, { config }, async (request, reply) => {
    const next = localPath((request.query as { next?: unknown }).next)
    const { url, sealed } = await beginSingleSignOn(app, provider, next)
    return reply.header('set-cookie', state(sealed, SSO_MINUTES * 60)).redirect(url, 303)
  })

  pages.get(SSO_CALLBACK, { config }, async (request, reply) => {
    const forget = () => reply.header('set-cookie', state('', 0))
    try {
      const input = { sealed: readCookie(request, COOKIE), query: queryOf(request) }
      const { signedIn, next } = await finishSingleSignOn(app, refusals, visitorOf(request), provider, input)
      // A redirect would still belong to the navigation from the provider, and the cookie would stay behind.
      return sendOn(setSession(app, forget(), signedIn.token), next)
    } catch (error) {
      if (error instanceof AppError && error.code !== 'UNAVAILABLE') {
        forget()
        limiter.missed(request.ip)
      }
      throw error
    }
  })
}

function queryOf(request: FastifyRequest): string {
  const at = request.url.indexOf('?')
  return at === -1 ? '' : request.url.slice(at)
}
