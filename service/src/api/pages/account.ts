// For somebody who is signed in: where they are, and their password.
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AppSettings, Context } from '../../app/context.ts'
import { type Me, me } from '../../app/people.ts'
import { changePassword, hasPassword } from '../../app/sign-in.ts'
import { formStatus } from './errors.ts'
import { fieldOf, newPasswordOf } from './forms.ts'
import { type Html, html } from './html.ts'
import { form, newPasswordFields, ownerField, passwordField, sendPage } from './layout.ts'
import type { PagesOptions } from './options.ts'
import { signedInContext } from './session.ts'
import { cameFromElsewhere, query, sendOn } from './sign-in.ts'

export function registerAccount(pages: FastifyInstance, options: PagesOptions): void {
  const { app, refusals, limiter } = options
  const config = { access: 'session' as const }

  pages.get('/', { config }, async (request, reply) => {
    const ctx = await signedInContext(app, request)
    if (ctx !== null) return sendPage(reply, home(await me(ctx), app.settings))
    return cameFromElsewhere(request) ? sendOn(reply, '/') : reply.redirect('/signin', 303)
  })

  const showPassword = async (
    reply: FastifyReply,
    ctx: Context,
    problem?: { status: number; message: string },
  ): Promise<FastifyReply> => {
    const known = await hasPassword(ctx)
    const email = ctx.actor.kind === 'person' ? ctx.actor.person.email : ''
    const current = known ? [passwordField('current', 'Current password')] : []
    return sendPage(reply, {
      title: known ? 'Change your password' : 'Choose a password',
      status: problem?.status ?? 200,
      body: html`<p>${known ? 'Everywhere else you are signed out by it.' : 'You sign in with it from now on.'}</p>
${form({
  action: '/account/password',
  button: 'Set the password',
  fields: [ownerField(email), ...current, ...newPasswordFields],
  error: problem?.message,
})}
<p class="below"><a href="/">${known ? 'Back' : 'Not now'}</a></p>`,
    })
  }

  const path = '/account/password'
  pages.get(path, { config }, async (request, reply) => {
    const ctx = await signedInContext(app, request)
    if (ctx !== null) return await showPassword(reply, ctx)
    return cameFromElsewhere(request) ? sendOn(reply, path) : reply.redirect(`/signin${query(path)}`, 303)
  })

  pages.post(path, { config }, async (request, reply) => {
    const ctx = await signedInContext(app, request)
    if (ctx === null || ctx.actor.kind !== 'person') return reply.redirect(`/signin${query(path)}`, 303)
    try {
      const password = newPasswordOf(request)
      limiter.tryPassword(ctx.actor.person.email, request.ip)
      await changePassword(ctx, refusals, { current: fieldOf(request, 'current'), password })
    } catch (error) {
      const problem = formStatus(error)
      if (problem === null) throw error
      return await showPassword(reply, ctx, problem)
    }
    return reply.redirect('/', 303)
  })
}

function home({ person, workspaces }: Me, settings: AppSettings): { title: string; wide: true; body: Html } {
  const uid = workspaces[0]?.workspace.uid ?? ''
  return {
    title: `Hello, ${person.name}`,
    wide: true,
    body: html`<dl>
<dt>Signed in as</dt><dd>${person.email}</dd>
<dt>Your uid</dt><dd><code>${person.uid}</code></dd>
</dl>
<h2>Your workspaces</h2>
<ul class="list">
${workspaces.map(
  ({ workspace, accountType }) =>
    html`<li><strong>${workspace.name}</strong> <code>${workspace.uid}</code> <span class="quiet">${accountType}</span></li>\n`,
)}</ul>
<h2>Ask something</h2>
<p>The quickest way is <a href="/graphiql">GraphiQL</a>, which knows the whole API and acts as you.
<code>createPersonalKey</code> there makes a key for programs. With it:</p>
<pre tabindex="0" aria-label="An example for the command line"><code>${example(settings, uid)}</code></pre>
<div class="actions">
<a class="button secondary" href="/account/password">Change the password</a>
${form({ action: '/signout', button: 'Sign out', secondary: true })}
</div>`,
  }
}

const example = ({ publicUrl, workspaceHeader }: AppSettings, uid: string): string => `curl ${publicUrl}/graphql \\
  -H "Authorization: Bearer $YARDMASTER_KEY" \\
  -H "${workspaceHeader}: ${uid}" \\
  -H "Content-Type: application/json" \\
  -d '{"query": "{ listUsers { activeUsers { email accountType } } }"}'`
