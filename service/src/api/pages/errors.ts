// An error is a page with a sentence that says what to do, and the status that fits. Nothing of the inside is in it.
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../../app/context.ts'
import { AppError, type ErrorCode } from '../../domain/errors.ts'
import { retryAfterOf } from '../status.ts'
import { FORM_BYTES } from './forms.ts'
import { html } from './html.ts'
import { sendPage } from './layout.ts'

// Unlike GraphQL's answers, a page that says no says so in its status.
const STATUS: Readonly<Record<ErrorCode, number>> = {
  BAD_REQUEST: 400,
  WORKSPACE_REQUIRED: 400,
  INVALID_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FEATURE_DISABLED: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'That did not work',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'This link does not work',
  409: 'Something changed meanwhile',
  413: 'Too much',
  415: 'That did not work',
  429: 'Too many tries',
  500: 'Something went wrong here',
  503: 'Not available right now',
}

/** The status of a form that is shown again with the reason; null for what must not be shown inside a form. */
export function formStatus(error: unknown): { status: number; message: string } | null {
  if (!(error instanceof AppError)) return null
  const { code } = error
  if (code !== 'UNAUTHENTICATED' && code !== 'INVALID_INPUT' && code !== 'CONFLICT') return null
  return { status: STATUS[code], message: sentence(error.message) }
}

/** `password: at least 10 characters.` is meant for programs; people see the field above it. */
const sentence = (message: string): string => {
  const match = /^([a-z]+): (.*)$/s.exec(message)
  if (match === null) return message
  const name = { email: 'E-mail address', name: 'Name', password: 'Password' }[match[1]!]
  return name === undefined ? message : `${name}: ${match[2]}`
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  const { code, cause: deeper } = cause as Error & { code?: unknown }
  const text = typeof code === 'string' ? `${cause.message} (${code})` : cause.message
  return deeper instanceof Error ? `${text}: ${reasonOf(deeper)}` : text
}

interface ErrorPages {
  showError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply
  refuseForeign(reply: FastifyReply): FastifyReply
}

export function createErrorPages(options: {
  readonly app: App
  readonly isUnavailable: (error: unknown) => boolean
}): ErrorPages {
  const { app } = options
  const show = (reply: FastifyReply, status: number, message: string, more?: string): FastifyReply => {
    const title = TITLES[status] ?? 'That did not work'
    return sendPage(reply, {
      title,
      status,
      body: html`<p>${message}</p>${more !== undefined && html`<p class="quiet">${more}</p>`}<p class="below"><a href="/">Go to the start page</a></p>`,
    })
  }

  const showError: ErrorPages['showError'] = (error, request, reply) => {
    if (error instanceof AppError) {
      const retryAfter = retryAfterOf(error)
      if (retryAfter !== null) reply.header('retry-after', retryAfter)
      if (error.cause !== undefined) {
        // Only its words: what else an error of a provider carries may be tokens.
        app.log.warn({ requestId: request.id, reason: reasonOf(error.cause) }, error.message)
      }
      return show(reply, STATUS[error.code], sentence(error.message))
    }
    if (options.isUnavailable(error)) {
      reply.header('retry-after', 2)
      return show(reply, 503, 'The database does not answer. Try again in a moment.')
    }
    const { statusCode } = error as Partial<FastifyError>
    if (statusCode === 413) return show(reply, 413, `The form holds more than ${FORM_BYTES / 1024} KiB.`)
    if (statusCode === 415) return show(reply, 415, 'This page reads what its own form sends, and nothing else.')
    if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
      return show(reply, statusCode, 'The request was not understood. Open the page again.')
    }
    app.log.error({ requestId: request.id, path: request.routeOptions.url, err: error }, 'internal fault')
    return show(reply, 500, 'The service made a mistake.', `Whoever runs it finds it in the log as ${request.id}.`)
  }

  const refuseForeign: ErrorPages['refuseForeign'] = (reply) =>
    show(
      reply,
      403,
      `This form was sent from somewhere else. Open ${app.settings.publicUrl} and try again there.`,
      'Whoever runs the service: people must reach it under the address in YARDMASTER_PUBLIC_URL.',
    )

  return { showError, refuseForeign }
}
