// A language model: one question, one answer, streamed by the adapter and handed over whole. Tools are declared, never
// executed here. The loop, the journal and every decision are ours (engine/agent).
//
//   1. `answer` resolves with what the model said, its calls in order. Arguments that are no JSON come back as `broken`.
//   2. It rejects with a ModelFault: `again` for what may pass (429, 5xx, a cut stream, no byte for too long), `refused`
//      for what does not (401, 400, a context that is too long). The adapter does not try again: the loop does.
//   3. Aborting `signal` rejects with its reason and closes the connection.
import type { ModelAccess, ModelPrices } from '../domain/model-family.ts'

export interface ToolDeclaration {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object. */
  readonly input: Readonly<Record<string, unknown>>
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ModelCall[] }
  | { readonly role: 'tool'; readonly results: readonly ModelResult[] }

export interface ModelCall {
  readonly id: string
  readonly tool: string
  readonly input: unknown
  /** What was sent in place of JSON. */
  readonly broken?: string
}

export interface ModelResult {
  readonly call: string
  readonly tool: string
  readonly text: string
  readonly isError: boolean
}

export interface ModelRequest {
  /** The name of the agent that asks. A model never sees it; the scripted one has a plan for each. */
  readonly agent: string
  readonly instructions: string
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ToolDeclaration[]
}

export interface ModelUsage {
  /** All of them, those that came from the provider's cache too. */
  readonly tokensIn: number
  readonly tokensOut: number
  /** Of `tokensIn`: priced lower. */
  readonly tokensCached: number
}

export interface ModelAnswer {
  /** Empty, with no calls, is an answer like any other: what follows from it is for the loop to say. */
  readonly text: string
  /** Ids as the provider gave them; they may repeat between answers. */
  readonly calls: readonly ModelCall[]
  /** Null: the provider did not say. */
  readonly usage: ModelUsage | null
  /** `length`: cut off by a limit of the answer. */
  readonly end: 'end' | 'calls' | 'length' | 'refused'
}

export interface Model {
  /** Of the family, as shown with every answer. */
  readonly name: string
  /** Roughly, for compaction. */
  readonly contextTokens: number
  /** Null: not known, and cost is counted as 0. */
  readonly prices: ModelPrices | null
  answer(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>
}

/** Models by family, for one workspace. */
export interface Models {
  /** An unknown or empty family gives the default one with a warning, the scripted model where none is set up. */
  choose(workspaceId: number, family: string): Promise<{ readonly family: string; readonly warning: string | null }>
  open(workspaceId: number, family: string): Promise<Model>
}

/** Makes the client; nothing is called and no package loaded before the first question. Null: the scripted model. */
export type OpenModel = (family: string, access: ModelAccess | null) => Model

export class ModelFault extends Error {
  override readonly name = 'ModelFault'
  readonly kind: 'again' | 'refused'
  readonly afterSeconds: number | undefined

  constructor(kind: 'again' | 'refused', message: string, options: { cause?: unknown; afterSeconds?: number } = {}) {
    super(message, { cause: options.cause })
    this.kind = kind
    this.afterSeconds = options.afterSeconds
  }
}
