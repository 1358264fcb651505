import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { endSession } from '../../app/people.ts'
import { signInWithPassword } from '../../app/sign-in.ts'
import { recordRefusal } from '../../app/visitor.ts'
import { AppError } from '../../domain/errors.ts'
import { formStatus } from './errors.ts'
import { fieldOf, localPath } from './forms.ts'
import { type Html, html } from './html.ts'
import { emailField, form, passwordField, sendPage } from './layout.ts'
import type { PagesOptions } from './options.ts'
import { clearSession, setSession, signedInContext, visitorOf } from './session.ts'

interface View {
  readonly next: string
  readonly email?: string
  readonly error?: string
  readonly status?: number
}

export function registerSignIn(pages: FastifyInstance, options: PagesOptions): void {
  const { app, refusals, limiter, provider } = options
  const access = 'public'

  const show = (reply: FastifyReply, { next, email, error, status = 200 }: View): FastifyReply =>
    sendPage(reply, {
      title: 'Sign in',
      status,
      body: html`${form({
        action: '/signin',
        button: 'Sign in',
        fields: [emailField(email), passwordField('password', 'Password')],
        hidden: next === '/' ? {} : { next },
        error,
      })}
<p class="below"><a href="/reset">Forgot your password?</a></p>
${provider !== null && providerButton(provider.name, next)}`,
    })

  pages.get('/signin', { config: { access } }, async (request, reply) => {
    const next = localPath((request.query as { next?: unknown }).next)
    if ((await signedInContext(app, request)) !== null) return reply.redirect(next, 303)
    return cameFromElsewhere(request) ? sendOn(reply, `/signin${query(next)}`) : show(reply, { next })
  })

  pages.post('/signin', { config: { access } }, async (request, reply) => {
    const next = localPath(fieldOf(request, 'next'))
    const email = fieldOf(request, 'email')
    const visitor = visitorOf(request)
    try {
      limiter.tryPassword(email, visitor.address)
      const password = fieldOf(request, 'password')
      const { token } = await signInWithPassword(app, refusals, visitor, { email, password })
      return setSession(app, reply, token).redirect(next, 303)
    } catch (error) {
      if (error instanceof AppError && error.code === 'RATE_LIMITED') {
        await recordRefusal(refusals, visitor, { how: 'limit' })
      }
      const shown = formStatus(error)
      if (shown === null) throw error
      return show(reply, { next, email, status: shown.status, error: shown.message })
    }
  })

  pages.post('/signout', { config: { access: 'session' } }, async (request, reply) => {
    const ctx = await signedInContext(app, request)
    if (ctx !== null && ctx.actor.kind === 'person') {
      await endSession(ctx, ctx.actor.sessionId).catch((error: unknown) => {
        // Another request ended it a moment ago.
        if (!(error instanceof AppError) || error.code !== 'NOT_FOUND') throw error
      })
    }
    return clearSession(app, reply).redirect('/signin', 303)
  })
}

export const query = (next: string): string => (next === '/' ? '' : `?next=${encodeURIComponent(next)}`)

// A link and no form: a form would have to be allowed to lead to the provider, and to wherever that leads.
const providerButton = (name: string, next: string): Html =>
  html`<p class="or">or</p><a class="button secondary" href="/signin/sso${query(next)}">Sign in with ${name}</a>`

/**
 * Somebody who follows a link on a foreign page, or comes back from an identity provider, comes without the session
 * cookie (SameSite=Strict), however signed in they are. Going on from a page of ours brings it along; that navigation
 * is ours, so this happens once.
 */
export const cameFromElsewhere = (request: FastifyRequest): boolean =>
  request.headers['sec-fetch-site'] === 'cross-site'

export const sendOn = (reply: FastifyReply, path: string): FastifyReply =>
  sendPage(reply, {
    title: 'One moment',
    refreshTo: path,
    body: html`<p>If nothing happens, <a href="${path}">go on here</a>.</p>`,
  })
