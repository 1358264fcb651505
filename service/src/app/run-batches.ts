// Several runs in one request. Each is answered for itself: what cannot be done to one stands in no other's way.
import type { ErrorCode } from '../domain/errors.ts'
import { AppError, invalidInput } from '../domain/errors.ts'
import type { Context } from './context.ts'
import { retryRun } from './retry.ts'
import { cancelRun } from './runs.ts'

export interface RunAnswer {
  readonly id: number
  /** The new run of a retry. */
  readonly runId: number | null
  readonly refused: { readonly code: ErrorCode; readonly message: string } | null
}

const MOST_RUNS = 100

export async function cancelRuns(ctx: Context, runIds: readonly number[]): Promise<RunAnswer[]> {
  return await each(ctx, runIds, async (one, runId) => {
    await cancelRun(one, { runId })
    return null
  })
}

export async function retryRuns(ctx: Context, runIds: readonly number[]): Promise<RunAnswer[]> {
  return await each(ctx, runIds, async (one, runId) => (await retryRun(one, { runId })).runId)
}

async function each(
  ctx: Context,
  runIds: readonly number[],
  work: (ctx: Context, runId: number) => Promise<number | null>,
): Promise<RunAnswer[]> {
  const wanted = [...new Set(runIds)]
  if (wanted.length === 0) throw invalidInput('scheduleRunIds: at least one is needed.')
  if (wanted.length > MOST_RUNS)
    throw invalidInput(`scheduleRunIds: at most ${MOST_RUNS} at once, not ${wanted.length}.`)
  const answers: RunAnswer[] = []
  for (const [index, id] of wanted.entries()) {
    try {
      answers.push({ id, runId: await work(numbered(ctx, index), id), refused: null })
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'UNAVAILABLE') throw error
      answers.push({ id, runId: null, refused: { code: error.code, message: error.message } })
    }
  }
  return answers
}

/** Each of them is a mutation of its own under the caller's Idempotency-Key, apart from those of the document. */
function numbered(ctx: Context, index: number): Context {
  if (ctx.idempotency === null) return ctx
  return { ...ctx, idempotency: { ...ctx.idempotency, position: (ctx.idempotency.position + 1) * 1000 + index } }
}
