import type { FastifyRequest } from 'fastify'
import { AppError } from '../../domain/errors.ts'
import type { SignInLimiter } from '../sign-in-limit.ts'

export interface TokenParams {
  readonly Params: { readonly token: string }
}

/** Runs what needs a link that holds; one that does not is counted against the address, as a guess. */
export async function countMisses<T>(
  { limiter }: { readonly limiter: SignInLimiter },
  request: FastifyRequest,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === 'NOT_FOUND') limiter.missed(request.ip)
    throw error
  }
}
