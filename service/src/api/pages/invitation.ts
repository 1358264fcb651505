import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptInvitation, findInvitation, type InvitationView } from '../../app/invitations.ts'
import { badLink } from '../../app/sign-in.ts'
import { formStatus } from './errors.ts'
import { fieldOf, newPasswordOf } from './forms.ts'
import { html } from './html.ts'
import { type Field, form, newPasswordFields, ownerField, passwordField, sendPage } from './layout.ts'
import { countMisses, type TokenParams } from './one-time.ts'
import type { PagesOptions } from './options.ts'
import { setSession, visitorOf } from './session.ts'

interface Problem {
  readonly status: number
  readonly message: string
}

const nameField = (value: string | undefined): Field => ({
  name: 'name',
  label: 'Your name',
  type: 'text',
  autocomplete: 'name',
  maxLength: 128,
  ...(value !== undefined && { value }),
})

export function registerInvitation(pages: FastifyInstance, options: PagesOptions): void {
  const { app, refusals, limiter } = options
  const config = { access: 'one-time-link' as const }

  const find = (request: FastifyRequest, token: string): Promise<InvitationView> =>
    countMisses(options, request, async () => {
      const found = await findInvitation(app, token)
      if (found === null) throw badLink()
      return found
    })

  const show = (
    reply: FastifyReply,
    token: string,
    invitation: InvitationView,
    name?: string,
    problem?: Problem,
  ): FastifyReply => {
    const { knownPerson, email, workspaceName, accountType } = invitation
    const ask = knownPerson ? [passwordField('current', 'Your password')] : [nameField(name), ...newPasswordFields]
    return sendPage(reply, {
      title: `Join ${workspaceName}`,
      status: problem?.status ?? 200,
      body: html`<p>You are invited to the workspace <strong>${workspaceName}</strong> as ${accountType}.
${knownPerson ? 'Enter the password that you have here already.' : 'Choose how you are called and a password.'}</p>
${form({
  action: `/invitation/${token}`,
  button: 'Accept the invitation',
  fields: [ownerField(email), ...ask],
  error: problem?.message,
})}
${knownPerson && html`<p class="below"><a href="/reset">Forgot your password?</a></p>`}`,
    })
  }

  pages.get<TokenParams>('/invitation/:token', { config }, async (request, reply) => {
    const { token } = request.params
    return show(reply, token, await find(request, token))
  })

  pages.post<TokenParams>('/invitation/:token', { config }, async (request, reply) => {
    const { token: link } = request.params
    const invitation = await find(request, link)
    const name = fieldOf(request, 'name')
    try {
      if (invitation.knownPerson) limiter.tryPassword(invitation.email, request.ip)
      const password = invitation.knownPerson ? fieldOf(request, 'current') : newPasswordOf(request)
      const input = { token: link, name, password }
      const { token } = await acceptInvitation(app, refusals, visitorOf(request), input)
      return setSession(app, reply, token).redirect('/', 303)
    } catch (error) {
      const problem = formStatus(error)
      if (problem === null) throw error
      return show(reply, link, invitation, name, problem)
    }
  })
}
