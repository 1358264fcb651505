// The one error class for the expected. The message is for the person and says what to do next; the code is for
// programs. How a code becomes an HTTP status is decided at the edge (api/status.ts), exhaustively.
export const ERROR_CODES = [
  'BAD_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'WORKSPACE_REQUIRED',
  'NOT_FOUND',
  'INVALID_INPUT',
  'CONFLICT',
  'FEATURE_DISABLED',
  'RATE_LIMITED',
  'UNAVAILABLE',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly code: ErrorCode
  /** Seconds after which trying again makes sense; becomes the Retry-After header. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}

export const notFound = (what: string): AppError => new AppError('NOT_FOUND', what)
export const invalidInput = (message: string): AppError => new AppError('INVALID_INPUT', message)
export const conflict = (message: string): AppError => new AppError('CONFLICT', message)
export const forbidden = (message: string): AppError => new AppError('FORBIDDEN', message)
