// What the work on a session needs besides the database.
import type { AgentCaller } from '../../app/agent-caller.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import type { Models } from '../../ports/model.ts'
import type { OpenedCheckout } from './checkout.ts'
import type { Tool } from './tools/tool.ts'

export interface SessionTools {
  /** Whoever started the session, with the rights that they have now. */
  readonly caller: AgentCaller
  /** Those that the session may use now. */
  readonly tools: readonly Tool[]
}

export interface TurnPorts {
  readonly models: Models
  /** The files as they were last kept, else the base. Rejects with a SourceFault for what a person can mend. */
  openCheckout(session: AgentSession, signal: AbortSignal): Promise<OpenedCheckout>
  /** Asked before each step and each call. */
  toolsFor(session: AgentSession, signal: AbortSignal): Promise<SessionTools>
}

export interface TurnSettings {
  /** What of a result the model and the transcript are shown, in characters. */
  readonly shownChars: number
  /** What of a result is kept, in characters. */
  readonly keptChars: number
  /** How long a tool that was told to stop is waited for. */
  readonly graceMs: number
  /** Between the tries of a model that does not answer. */
  readonly pausesMs: readonly number[]
}

export const TURN_SETTINGS: TurnSettings = {
  shownChars: 16_000,
  keptChars: 1_000_000,
  graceMs: 2000,
  pausesMs: [1000, 3000, 9000, 27_000],
}
