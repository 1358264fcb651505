import type { AppError, ErrorCode } from '../domain/errors.ts'

// A new code does not compile until it has a status. 200 is a refusal by a rule: the request was understood and the
// answer is no, which is `errors[0].extensions.code`'s to say.
const STATUS: Readonly<Record<ErrorCode, number>> = {
  BAD_REQUEST: 400,
  WORKSPACE_REQUIRED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 200,
  INVALID_INPUT: 200,
  CONFLICT: 200,
  FEATURE_DISABLED: 200,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

const RETRY_AFTER_SECONDS = 2

export const statusOf = (code: ErrorCode): number => STATUS[code]

/** The Retry-After of an answer, where trying again is the thing to do. */
export function retryAfterOf(error: AppError): number | null {
  const status = statusOf(error.code)
  if (status !== 429 && status !== 503) return null
  return Math.max(1, Math.ceil(error.retryAfterSeconds ?? RETRY_AFTER_SECONDS))
}

/** Codes of answers that no use case gives, beside those of the domain. */
export type WireCode =
  | ErrorCode
  | 'METHOD_NOT_ALLOWED'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'REQUEST_TIMEOUT'
  | 'EXPECTATION_FAILED'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL'

/** The body of an answer about the request as a whole, in GraphQL's form for errors on every route. */
export const errorBody = (message: string, code: WireCode, requestId: string): string =>
  JSON.stringify({ errors: [{ message, extensions: { code, requestId } }] })
