// The one-time sign-in link. Opening it only shows a button: mail programs and chats look at links too, and a look must
// not use it up.
import type { FastifyInstance } from 'fastify'
import { badLink, findLinkedPerson, signInWithLink } from '../../app/sign-in.ts'
import { html } from './html.ts'
import { form, sendPage } from './layout.ts'
import { countMisses, type TokenParams } from './one-time.ts'
import type { PagesOptions } from './options.ts'
import { setSession, visitorOf } from './session.ts'

export function registerWelcome(pages: FastifyInstance, options: PagesOptions): void {
  const { app, refusals } = options
  const config = { access: 'one-time-link' as const }

  pages.get<TokenParams>('/welcome/:token', { config }, async (request, reply) => {
    const { token } = request.params
    const person = await countMisses(options, request, async () => {
      const found = await findLinkedPerson(app, 'sign_in', token)
      if (found === null) throw badLink()
      return found
    })
    return sendPage(reply, {
      title: 'Welcome',
      body: html`<p>You are about to sign in as <strong>${person.email}</strong>. The link works once.</p>
${form({ action: `/welcome/${token}`, button: 'Sign in' })}`,
    })
  })

  pages.post<TokenParams>('/welcome/:token', { config }, async (request, reply) => {
    const { token: link } = request.params
    const { token, person } = await countMisses(options, request, () =>
      signInWithLink(app, refusals, visitorOf(request), link),
    )
    return setSession(app, reply, token).redirect(person.passwordHash === null ? '/account/password' : '/', 303)
  })
}
