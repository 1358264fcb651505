// What a person, or with --json a program, reads when a command fails.
import { ConfigFaults } from '../config/faults.ts'
import { AppError } from '../domain/errors.ts'
import { isUnavailable } from '../store/database.ts'

export interface Failure {
  readonly code: string
  readonly message: string
}

/** A refusal that says what to do, for what only the command line knows of. */
export const refusal = (message: string): AppError => new AppError('CONFLICT', message)

export function failureOf(error: unknown): Failure {
  if (error instanceof ConfigFaults) return { code: 'CONFIGURATION', message: error.message }
  if (error instanceof AppError) return { code: error.code, message: error.message }
  if (isUnavailable(error)) {
    const advice = 'Is it running, and is DATABASE_URL right? yardmaster doctor looks closer.'
    return { code: 'UNAVAILABLE', message: `The database cannot be reached: ${messageOf(error)}. ${advice}` }
  }
  return { code: 'FAILED', message: messageOf(error) }
}

/** A connection that fails on every address of a host is an AggregateError without a message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  if (!(error instanceof Error)) return String(error)
  return error.message === '' ? error.name : error.message
}
