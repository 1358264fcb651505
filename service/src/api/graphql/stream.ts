// Subscriptions as server-sent events, in the way of graphql-sse ("distinct connections"): one request, one stream,
// `event: next` with an answer in its data, `event: complete` at the end. Who listens is looked at again from time to
// time: a key that was revoked, or a person who lost their role, hears no more.
import { Readable } from 'node:stream'
import type { ExecutionResult } from 'graphql'
import type { Actor } from '../../domain/actor.ts'
import { actorScope } from '../../domain/actor.ts'
import { AppError } from '../../domain/errors.ts'

/** One person with many tabs; past that somebody forgot to close. */
const MOST_PER_CALLER = 50
const MOST_OPEN = 2_000
/** Proxies give up connections on which nothing happens for a minute. */
const BREATH_MS = 15_000
const LOOK_AGAIN_MS = 30_000

export interface Streams {
  /** Throws RATE_LIMITED. The stream ends when its source ends, its reader goes or `stop` is called. */
  open(options: StreamOptions): Readable
  /** The server is going down: every stream is completed. */
  stop(): void
  readonly count: number
}

export interface StreamOptions {
  readonly actor: Actor
  readonly results: AsyncGenerator<ExecutionResult, void, void>
  /** Aborted by us when the reader has gone. */
  readonly listening: AbortController
  /** Throws when the caller may not listen any longer. */
  readonly admit: () => Promise<void>
  readonly render: (result: ExecutionResult) => string
  readonly refuse: (error: unknown) => string
}

export function createStreams({ lookAgainMs = LOOK_AGAIN_MS } = {}): Streams {
  const open = new Set<AbortController>()
  const callers = new Map<string, number>()
  let stopped = false

  return {
    open(options) {
      const scope = actorScope(options.actor)
      const own = callers.get(scope) ?? 0
      if (stopped || own >= MOST_PER_CALLER || open.size >= MOST_OPEN) {
        options.listening.abort()
        void options.results.return()
        throw new AppError('RATE_LIMITED', `At most ${MOST_PER_CALLER} subscriptions at once: end one first.`, {
          retryAfterSeconds: 5,
        })
      }
      open.add(options.listening)
      callers.set(scope, own + 1)
      const release = (): void => {
        if (!open.delete(options.listening)) return
        options.listening.abort()
        void options.results.return()
        const left = (callers.get(scope) ?? 1) - 1
        if (left === 0) callers.delete(scope)
        else callers.set(scope, left)
      }
      const source = events(options, lookAgainMs)
      // One at a time: a reader that is slow holds its source back, and nothing piles up here. A reader that goes is
      // heard of at once, whatever its source is waiting for.
      const stream = new Readable({
        objectMode: true,
        highWaterMark: 1,
        read() {
          source.next().then(
            ({ value, done }) => this.push(done === true ? null : value),
            (error: unknown) => this.destroy(error as Error),
          )
        },
        destroy(error, done) {
          release()
          done(error)
        },
      })
      return stream
    },
    stop() {
      stopped = true
      for (const listening of open) listening.abort()
    },
    get count() {
      return open.size
    },
  }
}

async function* events(options: StreamOptions, lookAgainMs: number): AsyncGenerator<string> {
  const { results, listening } = options
  let lookAgain = performance.now() + lookAgainMs
  let next = results.next()
  // Written at once, so that a reader knows that it is heard before anything happens.
  yield ':\n\n'
  try {
    for (;;) {
      const step = await within(next, BREATH_MS, listening.signal)
      if (step === 'stopped') break
      if (performance.now() >= lookAgain) {
        await options.admit()
        lookAgain = performance.now() + lookAgainMs
      }
      if (step === 'nothing') {
        yield ':\n\n'
        continue
      }
      if (step.done === true) break
      next = results.next()
      // It may be waited for only after a reader that is slow has taken this one.
      next.catch(() => {})
      yield `event: next\ndata: ${options.render(step.value)}\n\n`
    }
  } catch (error) {
    yield `event: next\ndata: ${options.refuse(error)}\n\n`
  }
  yield 'event: complete\ndata:\n\n'
}

async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | 'nothing' | 'stopped'> {
  if (signal.aborted) return 'stopped'
  const waiting = Promise.withResolvers<'nothing' | 'stopped'>()
  const timer = setTimeout(() => waiting.resolve('nothing'), ms)
  const stop = (): void => waiting.resolve('stopped')
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work, waiting.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}
