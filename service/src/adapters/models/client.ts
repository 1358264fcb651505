// A model of a provider behind the Vercel AI SDK, of which one call is used: one question, streamed, no tool executed, no
// retry, one step. The packages are loaded at the first question.
import type { ModelAccess } from '../../domain/model-family.ts'
import type { Model, ModelAnswer, ModelCall, ModelRequest, ModelUsage } from '../../ports/model.ts'
import { ModelFault } from '../../ports/model.ts'
import type { Fetch } from '../outgoing-fetch.ts'
import { sdkMessages, sdkTools } from './conversation.ts'
import { cutStream, faultOf } from './faults.ts'
import { loadModel, type ModelObject, optionsOf } from './providers.ts'

export interface ClientOptions {
  /** Judges addresses, and gives up when no byte came for too long. */
  readonly fetch: Fetch
  /** Of a whole answer. */
  readonly totalMs?: number
  readonly now?: () => number
}

const TOTAL_MS = 10 * 60_000

export function providerModel(family: string, access: ModelAccess, options: ClientOptions): Model {
  const { totalMs = TOTAL_MS, now = Date.now } = options
  const secrets = Object.values(access.secrets)
  let loading: Promise<ModelObject> | undefined
  return {
    name: family,
    contextTokens: access.contextTokens,
    prices: access.prices,
    answer: async (request, signal) => {
      signal.throwIfAborted()
      const total = AbortSignal.timeout(totalMs)
      const done = new AbortController()
      try {
        loading ??= loadModel(access, options.fetch)
        const model = await loading
        return await ask(model, access, request, AbortSignal.any([signal, total, done.signal]))
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (total.aborted) throw new ModelFault('again', `No whole answer came within ${totalMs / 1000} seconds.`)
        throw faultOf(error, { secrets, now })
      } finally {
        // Whatever is left of the connection is closed.
        done.abort()
      }
    },
  }
}

async function ask(
  model: ModelObject,
  access: ModelAccess,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  // It would write warnings of its own to the console.
  globalThis.AI_SDK_LOG_WARNINGS = false
  const { isStepCount, jsonSchema, streamText } = await import('ai')
  const result = streamText({
    model,
    instructions: request.instructions,
    messages: sdkMessages(request.messages),
    tools: sdkTools(request.tools, jsonSchema),
    providerOptions: optionsOf(access.provider),
    maxOutputTokens: access.maxOutputTokens,
    stopWhen: isStepCount(1),
    maxRetries: 0,
    abortSignal: signal,
    // The stream holds them; this one would write them to the console.
    onError: () => {},
  })
  const texts: string[] = []
  const calls: ModelCall[] = []
  for await (const part of result.stream) {
    switch (part.type) {
      case 'text-delta':
        texts.push(part.text)
        break
      case 'tool-call':
        calls.push(callOf(part))
        break
      case 'error':
        throw part.error
      case 'abort':
        throw signal.reason
      case 'finish': {
        if (isCut(part.finishReason, part.rawFinishReason)) throw cutStream()
        return {
          text: texts.join(''),
          calls,
          usage: usageOf(part.totalUsage),
          end: endOf(part.finishReason, calls.length),
        }
      }
    }
  }
  throw cutStream()
}

/** The stream ended, the answer did not: no reason of any kind, or one that the client made up. */
const isCut = (reason: string, said: string | undefined): boolean =>
  reason === 'interrupted' || reason === 'error' || (reason === 'other' && said === undefined)

interface SdkCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly invalid?: boolean
}

/** `invalid` are calls of tools that were not declared and arguments that are no JSON; the latter come as a text. */
const callOf = ({ toolCallId, toolName, input, invalid }: SdkCall): ModelCall =>
  invalid === true && typeof input === 'string'
    ? { id: toolCallId, tool: toolName, input: null, broken: input }
    : { id: toolCallId, tool: toolName, input }

interface SdkUsage {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly inputTokenDetails: { readonly cacheReadTokens: number | undefined }
}

/** There is no answer for nothing: who says 0 has not counted. */
function usageOf({ inputTokens, outputTokens, inputTokenDetails }: SdkUsage): ModelUsage | null {
  if (!inputTokens && !outputTokens) return null
  return {
    tokensIn: inputTokens ?? 0,
    tokensOut: outputTokens ?? 0,
    tokensCached: inputTokenDetails.cacheReadTokens ?? 0,
  }
}

function endOf(reason: string, calls: number): ModelAnswer['end'] {
  if (reason === 'content-filter') return 'refused'
  if (reason === 'length') return 'length'
  // Some say `stop` although they call.
  return calls > 0 ? 'calls' : 'end'
}
