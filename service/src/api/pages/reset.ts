import type { FastifyInstance, FastifyReply } from 'fastify'
import { badLink, findLinkedPerson, requestPasswordReset, resetPassword } from '../../app/sign-in.ts'
import { parseEmail } from '../../domain/text.ts'
import { formStatus } from './errors.ts'
import { fieldOf, newPasswordOf } from './forms.ts'
import { html } from './html.ts'
import { emailField, form, newPasswordFields, ownerField, sendPage } from './layout.ts'
import { countMisses, type TokenParams } from './one-time.ts'
import type { PagesOptions } from './options.ts'
import { setSession, visitorOf } from './session.ts'

interface Problem {
  readonly status: number
  readonly message: string
}

export function registerReset(pages: FastifyInstance, options: PagesOptions): void {
  registerAsking(pages, options)
  registerSetting(pages, options)
}

function registerAsking(pages: FastifyInstance, { app, limiter }: PagesOptions): void {
  const config = { access: 'public' as const }
  const underWay = new Set<Promise<void>>()
  pages.addHook('onClose', async () => {
    await Promise.all(underWay)
  })

  const show = (reply: FastifyReply, email?: string, problem?: Problem): FastifyReply =>
    sendPage(reply, {
      title: 'Forgot your password?',
      status: problem?.status ?? 200,
      body: html`<p>Enter your e-mail address, and you get a link that sets a new one.</p>
${form({ action: '/reset', button: 'Send the link', fields: [emailField(email)], error: problem?.message })}
<p class="below"><a href="/signin">Back to sign-in</a></p>`,
    })

  pages.get('/reset', { config }, async (_request, reply) => show(reply))

  pages.post('/reset', { config }, async (request, reply) => {
    const typed = fieldOf(request, 'email')
    try {
      const email = parseEmail(typed)
      limiter.askForReset(email, request.ip)
      // Not waited for: how long it takes would tell whether there is such a person.
      const work = requestPasswordReset(app, visitorOf(request), email)
        .catch((error: unknown) => {
          app.log.error({ requestId: request.id, err: error }, 'a password reset was asked for and not sent')
        })
        .finally(() => underWay.delete(work))
      underWay.add(work)
    } catch (error) {
      const problem = formStatus(error)
      if (problem === null) throw error
      return show(reply, typed, problem)
    }
    return sendPage(reply, {
      title: 'Look into your mailbox',
      body: html`<p>If there is a user with this address, a link is on its way. It works once, for an hour.</p>
<p class="quiet">Nothing came? Look among the unwanted mail, or ask an administrator.</p>
<p class="below"><a href="/signin">Back to sign-in</a></p>`,
    })
  })
}

function registerSetting(pages: FastifyInstance, options: PagesOptions): void {
  const { app, refusals } = options
  const config = { access: 'one-time-link' as const }

  const show = (reply: FastifyReply, token: string, email: string, problem?: Problem): FastifyReply =>
    sendPage(reply, {
      title: 'Choose a new password',
      status: problem?.status ?? 200,
      body: html`<p>Everywhere else you are signed out by it.</p>
${form({
  action: `/reset/${token}`,
  button: 'Set the password',
  fields: [ownerField(email), ...newPasswordFields],
  error: problem?.message,
})}`,
    })

  pages.get<TokenParams>('/reset/:token', { config }, async (request, reply) => {
    const { token } = request.params
    const person = await countMisses(options, request, async () => {
      const found = await findLinkedPerson(app, 'password_reset', token)
      if (found === null) throw badLink()
      return found
    })
    return show(reply, token, person.email)
  })

  pages.post<TokenParams>('/reset/:token', { config }, async (request, reply) => {
    const { token: link } = request.params
    const visitor = visitorOf(request)
    try {
      const input = { token: link, password: newPasswordOf(request) }
      const signedIn = await countMisses(options, request, () => resetPassword(app, refusals, visitor, input))
      if (signedIn !== null) return setSession(app, reply, signedIn.token).redirect('/', 303)
    } catch (error) {
      const problem = formStatus(error)
      const person = problem && (await findLinkedPerson(app, 'password_reset', link))
      if (problem === null || person === null) throw error
      return show(reply, link, person.email, problem)
    }
    return sendPage(reply, {
      title: 'Your password is set',
      body: html`<p>You are invited, and in no workspace yet. Open the link of the invitation and use the password there.</p>`,
    })
  })
}
