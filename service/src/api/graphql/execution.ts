// One execution of one document: what every root field is called with.
import type { ExecutionResult } from 'graphql'
import { AppError } from '../../domain/errors.ts'
import type { Call, Identity, RequestFacts } from '../edge.ts'
import type { Documents, Prepared } from './documents.ts'
import { admitField } from './gate.ts'
import { LIMITS } from './limits.ts'
import type { Resolver, RootCaller, Subscriber } from './schema.ts'
import { refuseUnstorable } from './texts.ts'

export type OperationOutcome = 'ok' | 'refused' | 'fault'

export interface ExecutionOptions<Context> {
  readonly identity: Identity
  readonly request: RequestFacts
  readonly idempotency: { readonly key: string; readonly bodyHash: string } | null
  readonly contextFor: (call: Call) => Context
  readonly observe: (operation: string, outcome: OperationOutcome) => void
}

export class Execution<Context> implements RootCaller<Context> {
  compiled = false
  /** Aborted when nobody listens to a subscription any longer. */
  readonly listening = new AbortController()
  readonly #options: ExecutionOptions<Context>
  #position = 0
  #fail: ((error: unknown) => void) | null = null

  constructor(options: ExecutionOptions<Context>) {
    this.#options = options
  }

  call(operation: string, resolver: Resolver<Context>, args: unknown): unknown {
    const answer = this.#answer(operation, resolver, args)
    return this.compiled ? this.#guarded(answer) : answer
  }

  /** Resolves when there is something to listen to; refusals come before. */
  listen(operation: string, subscriber: Subscriber<Context>, args: unknown): Promise<AsyncIterable<unknown>> {
    return this.#admitted(operation, args, (context) => subscriber(context, args as never, this.listening.signal))
  }

  #answer(operation: string, resolver: Resolver<Context>, args: unknown): Promise<unknown> {
    return this.#admitted(operation, args, async (context) => await resolver(context, args as never))
  }

  async #admitted<T>(operation: string, args: unknown, work: (context: Context) => Promise<T>): Promise<T> {
    const { identity, request, idempotency, contextFor, observe } = this.#options
    // Mutations run one after the other, so this counts them in the order of the document.
    const position = this.#position++
    try {
      const admission = admitField(operation, identity)
      refuseUnstorable(args)
      const context = contextFor({
        operation,
        identity,
        admission,
        request,
        idempotency: idempotency && { ...idempotency, position },
      })
      const value = await work(context)
      observe(operation, 'ok')
      return value
    } catch (error) {
      observe(operation, error instanceof AppError ? 'refused' : 'fault')
      throw error
    }
  }

  // The compiled executor goes on inside `then` and keeps no hold of the promise that `then` gives: what is thrown there
  // (a getter in a presenter's data) would be an unhandled rejection, which ends the process, and no answer.
  #guarded(answer: Promise<unknown>): PromiseLike<unknown> {
    return {
      // biome-ignore lint/suspicious/noThenProperty: the executor asks for nothing of a promise but this
      then: (fulfilled, rejected) => {
        const next = answer.then(fulfilled, rejected)
        next.catch((error) => this.#fail?.(error))
        return next
      },
    }
  }

  run(
    documents: Documents,
    prepared: Prepared,
    ask: { readonly variables: Readonly<Record<string, unknown>>; readonly rows: number },
  ): Promise<ExecutionResult> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(tookTooLong()), LIMITS.executionMs)
      const settle =
        <T>(how: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer)
          how(value)
        }
      this.#fail = settle(reject)
      try {
        const result = documents.execute(prepared, { caller: this, ...ask })
        if (result instanceof Promise) result.then(settle(resolve), settle(reject))
        else settle(resolve)(result)
      } catch (error) {
        settle(reject)(error)
      }
    })
  }
}

const tookTooLong = (): AppError =>
  new AppError(
    'UNAVAILABLE',
    `The request took longer than ${LIMITS.executionMs / 1000} s and was given up. What it changes may still happen: look before sending it again.`,
  )
