// The pages that people see before (and until) there is a console: sign in and out, invitation, password, start page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { registerAccount } from './account.ts'
import { createErrorPages } from './errors.ts'
import { isOwnForm, readForms } from './forms.ts'
import { registerInvitation } from './invitation.ts'
import { registerStylesheet } from './layout.ts'
import type { PagesOptions } from './options.ts'
import { registerReset } from './reset.ts'
import { registerSignIn } from './sign-in.ts'
import { registerSingleSignOn } from './single-sign-on.ts'
import { registerWelcome } from './welcome.ts'

export function registerPages(server: FastifyInstance, options: PagesOptions): void {
  void server.register((pages, _options, done) => {
    const { showError, refuseForeign } = createErrorPages(options)
    readForms(pages)
    pages.setErrorHandler(showError)
    // Before the body is read.
    pages.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.method === 'POST' && !isOwnForm(request, options.ownOrigins())) return refuseForeign(reply)
    })
    registerStylesheet(pages)
    registerSignIn(pages, options)
    registerWelcome(pages, options)
    registerInvitation(pages, options)
    registerReset(pages, options)
    registerAccount(pages, options)
    if (options.provider !== null) registerSingleSignOn(pages, options, options.provider)
    done()
  })
}
