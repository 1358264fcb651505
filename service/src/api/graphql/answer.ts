// From an outcome to the text that is sent. Expected errors keep their words; everything else is masked, and logged
// under the same request id.
import type { ExecutionResult, GraphQLFormattedError } from 'graphql'
import { GraphQLError } from 'graphql'
import { AppError } from '../../domain/errors.ts'
import type { Log } from '../edge.ts'
import { errorBody, retryAfterOf, statusOf } from '../status.ts'
import { ValidationFailed } from './documents.ts'
import { LIMITS } from './limits.ts'

export interface Answer {
  readonly status: number
  readonly body: string
  readonly retryAfter: number | null
}

export interface Faults {
  readonly log: Log
  /** Whether an error says that the database does not answer. */
  isUnavailable(error: unknown): boolean
}

/** A request that found a fault in every row would fill the log. */
const MOST_LOGGED = 3

export const masked = (requestId: string): string => `Internal error, request ${requestId}`

/** Before anything was executed: one status for the whole document, and no data. */
export function refusalAnswer(error: unknown, requestId: string, faults: Faults): Answer {
  const failed = error instanceof ValidationFailed ? error.errors : error instanceof GraphQLError ? [error] : null
  if (failed !== null) {
    const errors = failed.map(({ message, locations }) => ({
      message,
      ...(locations && { locations }),
      extensions: { code: 'BAD_REQUEST', requestId },
    }))
    return { status: 400, body: JSON.stringify({ errors }), retryAfter: null }
  }
  const known = expected(error, faults)
  if (known === null) {
    faults.log.error({ requestId, err: error }, 'internal fault')
    return { status: 500, body: errorBody(masked(requestId), 'INTERNAL', requestId), retryAfter: null }
  }
  const status = statusOf(known.code)
  const body =
    status === 200
      ? JSON.stringify({ data: null, errors: [{ message: known.message, extensions: { code: known.code } }] })
      : errorBody(known.message, known.code, requestId)
  return { status, body, retryAfter: retryAfterOf(known) }
}

/** After execution: refused fields are null and have their entry, the others stand. No entry, no `errors`. */
export function executionAnswer(result: ExecutionResult, requestId: string, faults: Faults): Answer {
  let status = 200
  let retryAfter: number | null = null
  let body: string
  if (result.errors === undefined || result.errors.length === 0) {
    body = JSON.stringify({ data: result.data })
  } else {
    let unmasked = 0
    const errors = result.errors.map((error): GraphQLFormattedError => {
      const known = expected(error.originalError, faults)
      const { locations, path } = error
      const place = { ...(locations && { locations }), ...(path && { path }) }
      if (known === null) {
        status = 500
        if (unmasked++ < MOST_LOGGED) {
          faults.log.error({ requestId, path, err: error.originalError ?? new Error(error.message) }, 'internal fault')
        }
        return { message: masked(requestId), ...place, extensions: { code: 'INTERNAL', requestId } }
      }
      if (known.code === 'UNAVAILABLE') {
        if (status === 200) status = 503
        retryAfter = retryAfterOf(known)
      }
      return { message: known.message, ...place, extensions: { code: known.code } }
    })
    if (unmasked > MOST_LOGGED) faults.log.error({ requestId, faults: unmasked }, 'further internal faults')
    body = JSON.stringify({ data: result.data ?? null, errors })
  }
  // Bytes are at least as many as characters and at most three times: most answers need no count.
  if (body.length > LIMITS.answerBytes / 3 && Buffer.byteLength(body) > LIMITS.answerBytes) {
    const error = new AppError('INVALID_INPUT', 'The answer is larger than 32 MiB: ask for less at once.')
    return refusalAnswer(error, requestId, faults)
  }
  return { status, body, retryAfter }
}

/** The expected error in this one, null for a fault of ours. */
function expected(error: unknown, faults: Faults): AppError | null {
  if (error instanceof AppError) return error
  if (error === undefined || !faults.isUnavailable(error)) return null
  return new AppError('UNAVAILABLE', 'The database does not answer: try again in a moment.', { cause: error })
}
