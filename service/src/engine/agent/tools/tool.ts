// A tool: a name, a schema and what it does. The loop checks the arguments against the schema, and that the tool is among
// the effective ones, before `run` is called.
import type { AgentCaller } from '../../../app/agent-caller.ts'
import type { AgentSession } from '../../../domain/agent-session.ts'
import type { AgentCheckout } from '../checkout.ts'

export interface ToolContext {
  readonly session: AgentSession
  /** `<session>:<call>`: the idempotency key of everything that this call does outside. */
  readonly key: string
  /** The id of the call within the session. */
  readonly call: string
  /** With the rights of whoever started the session, as they are now, in the session's workspace. */
  readonly caller: AgentCaller
  readonly checkout: AgentCheckout
  readonly signal: AbortSignal
  /** What must not be shown to anybody: the texts of secrets of the environment, for redaction. */
  readonly secrets: readonly string[]
}

export type ToolResult =
  | { readonly kind: 'text'; readonly text: string; readonly isError?: boolean }
  /** The call is answered by the end of this session; nobody waits for it in a process. */
  | { readonly kind: 'child'; readonly child: string; readonly agent: string }

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of an object: type object, properties, required, additionalProperties false. */
  readonly input: Readonly<Record<string, unknown>>
  /** Refusals that a model can act on are texts with isError; what it throws is a fault of ours. */
  run(of: ToolContext, input: Record<string, unknown>): Promise<ToolResult>
}

export const said = (text: string): ToolResult => ({ kind: 'text', text })
export const refused = (text: string): ToolResult => ({ kind: 'text', text, isError: true })
