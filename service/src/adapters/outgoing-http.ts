// One call to an address that somebody outside the service chose, under the rules of outgoing-connection.ts.
import type { IncomingMessage } from 'node:http'
import type { OutgoingHttp } from '../ports/outgoing-http.ts'
import { OutgoingFault } from '../ports/outgoing-http.ts'
import { headersOf, type OutgoingRules, outgoingConnections, reasonOf } from './outgoing-connection.ts'

export interface OutgoingHttpOptions extends OutgoingRules {
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const MOST_BYTES = 64 * 1024

export function outgoingHttp(options: OutgoingHttpOptions): OutgoingHttp {
  const { timeoutMs = TIMEOUT_MS } = options
  const connect = outgoingConnections(options)
  return {
    call: async (request, signal) => {
      const limit = AbortSignal.timeout(timeoutMs)
      try {
        const { response, close } = await connect(request, AbortSignal.any([signal, limit]))
        const body = await readBody(response, request.largestAnswer ?? MOST_BYTES)
        close()
        return { status: response.statusCode ?? 0, headers: headersOf(response), body }
      } catch (error) {
        if (error instanceof OutgoingFault) throw error
        if (limit.aborted) throw new OutgoingFault(`No answer within ${timeoutMs / 1000} seconds.`, { cause: error })
        if (signal.aborted) throw new OutgoingFault('The call was given up.', { cause: error })
        throw new OutgoingFault(reasonOf(error), { cause: error })
      }
    },
  }
}

/** What comes after the limit is not read. */
async function readBody(response: IncomingMessage, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= most) break
  }
  return Buffer.concat(chunks).subarray(0, most).toString()
}
