// `fetch` for clients of other people's making (models, MCP servers), under the rules of outgoing-connection.ts. The answer
// streams. It ends with an OutgoingFault when no byte came for `idleMs`, from the first moment on; a limit of the whole is
// the caller's, with its signal. Redirects are not followed, and nothing is compressed.
import type { IncomingMessage } from 'node:http'
import { OutgoingFault } from '../ports/outgoing-http.ts'
import { headersOf, type OutgoingRules, outgoingConnections, reasonOf } from './outgoing-connection.ts'

export interface OutgoingFetchOptions extends OutgoingRules {
  readonly idleMs?: number
  /** Of one answer; what is more cuts it off. */
  readonly largestAnswer?: number
}

const IDLE_MS = 120_000
const LARGEST_ANSWER = 64 * 1024 * 1024
/** Of these Response takes no body. */
const BODILESS = [204, 205, 304]

export type Fetch = typeof globalThis.fetch

export function outgoingFetch(options: OutgoingFetchOptions): Fetch {
  const { idleMs = IDLE_MS, largestAnswer = LARGEST_ANSWER } = options
  const connect = outgoingConnections(options)
  return async (input, init = {}) => {
    const signal = init.signal ?? new AbortController().signal
    signal.throwIfAborted()
    const idle = idleLimit(idleMs)
    try {
      const { response, close } = await connect(
        {
          method: init.method ?? 'GET',
          url: input instanceof Request ? input.url : String(input),
          headers: headersFrom(init.headers),
          ...(init.body != null && { body: bodyFrom(init.body) }),
        },
        AbortSignal.any([signal, idle.signal]),
      )
      idle.touch()
      const status = response.statusCode ?? 0
      const isBodiless = BODILESS.includes(status)
      if (isBodiless) close()
      const body = isBodiless ? null : streamOf(response, { close, idle, largestAnswer, signal, idleMs })
      if (isBodiless) idle.end()
      return new Response(body, { status, headers: headersOf(response) })
    } catch (error) {
      idle.end()
      throw asFault(error, { signal, idle, idleMs })
    }
  }
}

interface Idle {
  readonly signal: AbortSignal
  touch(): void
  end(): void
}

/** Aborts `idleMs` after the last touch. */
export function idleLimit(idleMs: number): Idle {
  const controller = new AbortController()
  const begin = () => setTimeout(() => controller.abort(new Error('idle')), idleMs)
  let timer = begin()
  return {
    signal: controller.signal,
    touch: () => {
      clearTimeout(timer)
      timer = begin()
    },
    end: () => clearTimeout(timer),
  }
}

interface Reading {
  readonly signal: AbortSignal
  readonly idle: Idle
  readonly idleMs: number
}

function asFault(error: unknown, { signal, idle, idleMs }: Reading): unknown {
  // Clients tell a call that was given up by its own reason.
  if (signal.aborted) return signal.reason
  if (error instanceof OutgoingFault) return error
  if (idle.signal.aborted) return new OutgoingFault(`Nothing came for ${idleMs / 1000} seconds.`, { cause: error })
  return new OutgoingFault(reasonOf(error), { cause: error })
}

/** A stream that nobody reads holds the sender back; one that is canceled closes the connection. */
function streamOf(
  response: IncomingMessage,
  of: Reading & { readonly largestAnswer: number; close(): void },
): ReadableStream<Uint8Array> {
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let size = 0
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { value, done } = await chunks.next()
        of.idle.touch()
        if (done === true) {
          of.idle.end()
          of.close()
          controller.close()
          return
        }
        size += value.length
        if (size > of.largestAnswer) throw new OutgoingFault('The answer is too large.')
        controller.enqueue(new Uint8Array(value))
      } catch (error) {
        of.idle.end()
        of.close()
        controller.error(asFault(error, of))
      }
    },
    cancel: () => {
      of.idle.end()
      of.close()
    },
  })
}

function headersFrom(headers: RequestInit['headers']): Record<string, string> {
  const all = Object.fromEntries(new Headers(headers))
  delete all['accept-encoding']
  delete all['content-length']
  return all
}

function bodyFrom(body: NonNullable<RequestInit['body']>): string | Uint8Array {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (body instanceof URLSearchParams) return body.toString()
  throw new TypeError('outgoingFetch sends texts and bytes alone')
}
