// A session of an agent: its states and what moves it between them, its journal, its limits. Everything that is shown of a
// session is derived from the journal (agent-transcript.ts), and so is what the model is given (agent-conversation.ts).
import type { AgentDefinition } from './agent-definition.ts'

export const AGENT_STATUSES = ['queued', 'running', 'completed', 'failed', 'stopped', 'expired'] as const
export type AgentStatus = (typeof AGENT_STATUSES)[number]

/** What may follow what. A message after an end makes it `queued` again; `expired` is the end of it. */
export const NEXT_STATUS: Readonly<Record<AgentStatus, readonly AgentStatus[]>> = {
  queued: ['running', 'expired', 'failed', 'stopped'],
  running: ['completed', 'failed', 'stopped'],
  completed: ['queued'],
  failed: ['queued'],
  stopped: ['queued'],
  expired: [],
}

export const isOver = (status: AgentStatus): boolean => status !== 'queued' && status !== 'running'

/** Of either side: a session can be written to for this long after its last message. */
export const MESSAGE_WINDOW_MS = 24 * 3_600_000
/** A first turn that nobody started in this time expires, a later one fails. */
export const FIRST_TURN_WAIT_MS = 15 * 60_000
export const LATER_TURN_WAIT_MS = 60 * 60_000
/** A worker lost so often at the same record of the journal: the session fails. */
export const MOST_LOSSES = 3
export const MOST_CHILDREN = 8
/** The root has depth 0. */
export const MOST_DEPTH = 3

/** Steps and seconds count for one turn; tokens and cost for the whole tree of sessions under one root. */
export interface AgentBudget {
  readonly steps: number
  readonly seconds: number
  readonly tokens: number
  readonly costMicrodollars: number
}

export const DEFAULT_BUDGET: AgentBudget = {
  steps: 60,
  seconds: 3600,
  tokens: 2_000_000,
  costMicrodollars: 20_000_000,
}

export interface ToolCall {
  /** Unique within the session: ours, not the provider's. */
  readonly id: string
  readonly tool: string
  /** As the model gave them; `null` with `broken` when they were no JSON. */
  readonly input: unknown
  readonly broken?: string
}

export interface Usage {
  readonly tokensIn: number
  readonly tokensOut: number
  readonly tokensCached: number
  readonly costMicrodollars: number
}

/** Who wrote a message that the model reads as the user's. */
export type MessageAuthor = 'user' | 'slack' | 'parent' | 'child' | 'service'

export type AgentEventBody =
  | { readonly kind: 'user_message'; readonly text: string; readonly author: MessageAuthor; readonly name: string }
  | {
      readonly kind: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** Null: the provider said nothing of it. */
      readonly usage: Usage | null
      /** Empty: the service's own words, such as why a turn failed. */
      readonly model: string
      /** The last record that the model was given; messages between it and this one were not seen yet. */
      readonly seen?: number
    }
  | { readonly kind: 'tool_start'; readonly call: string; readonly tool: string }
  | {
      readonly kind: 'tool_end'
      readonly call: string
      readonly tool: string
      /** Redacted, and shortened to what the model is given; the whole is in agent_output when `chars` is more. */
      readonly text: string
      readonly chars: number
      readonly isError: boolean
    }
  | { readonly kind: 'status'; readonly status: AgentStatus; readonly reason: string }
  | { readonly kind: 'child_started'; readonly call: string; readonly child: string; readonly agent: string }
  | { readonly kind: 'child_result'; readonly call: string; readonly child: string; readonly status: AgentStatus }
  /** What stands for all records up to `upTo` (of the journal) when the model is asked. */
  | { readonly kind: 'compaction'; readonly upTo: number; readonly text: string }
  | { readonly kind: 'budget'; readonly what: keyof AgentBudget; readonly used: number; readonly limit: number }
  /** `startup` notes are the steps before the first model call: checkout, definition, model, sandbox. */
  | { readonly kind: 'note'; readonly text: string; readonly startup: boolean }

export type AgentEventKind = AgentEventBody['kind']

/** Records that show that a turn goes on. Notes, and messages that somebody sends meanwhile, do not. */
export const PROGRESS_KINDS = [
  'assistant',
  'tool_start',
  'tool_end',
  'child_started',
  'child_result',
  'compaction',
  'budget',
] as const satisfies readonly AgentEventKind[]

/** What people read: the session can be written to for a day after the last of these. */
export const isMessage = (body: AgentEventBody): boolean =>
  (body.kind === 'user_message' || body.kind === 'assistant') && body.text.trim() !== ''

export type AgentEvent = AgentEventBody & {
  readonly seq: number
  /** Microseconds of the epoch, increasing within the session. */
  readonly ts: number
  readonly turn: number
}

/** Whose rights the tools have. `service`: a session that the service began by itself (self-healing). */
export type SessionActor =
  | { readonly kind: 'person'; readonly personId: number; readonly email: string }
  | { readonly kind: 'key'; readonly keyId: number; readonly name: string; readonly email: string }
  | { readonly kind: 'service'; readonly name: string }
  /** Whoever works on the host with the command line, and may do everything. */
  | { readonly kind: 'operator'; readonly name: string }

export interface AgentSession {
  readonly id: string
  readonly workspaceId: number
  readonly environmentId: number
  readonly agent: string
  readonly definition: AgentDefinition
  readonly definitionCommit: string
  readonly baseBranch: string
  readonly baseCommit: string
  readonly modelFamily: string
  readonly status: AgentStatus
  readonly reason: string
  readonly turn: number
  readonly parentId: string | null
  readonly parentCall: string | null
  readonly rootId: string
  readonly depth: number
  readonly actor: SessionActor
  readonly slackChannel: string
  readonly slackThreadTs: string
  readonly healingRequestId: number | null
  readonly createdAt: Date
  readonly queuedAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly lastMessageAt: Date
  readonly steps: number
  readonly tokensIn: number
  readonly tokensOut: number
  readonly costMicrodollars: number
  readonly budget: AgentBudget
  readonly branch: string
  readonly pullRequest: string
  readonly treeKey: string
  readonly attempt: number
  readonly stopRequestedAt: Date | null
}

/** The prefix of every branch that the session may push. */
export const branchPrefixOf = (sessionId: string): string => `agent/${sessionId}/`

// --- what moves a session. Times are microseconds of the epoch, `nowUs` among them.

export interface Standing {
  readonly status: AgentStatus
  readonly turn: number
  readonly queuedUs: number
  readonly lastMessageUs: number
}

/** `join`: the turn that waits or is going takes it in. `queue`: a new turn. */
export type MessageDecision = { readonly kind: 'join' } | { readonly kind: 'queue' } | Refused
interface Refused {
  readonly kind: 'refused'
  readonly reason: string
}

export function decideMessage(of: Standing, nowUs: number): MessageDecision {
  if (of.status === 'expired')
    return { kind: 'refused', reason: 'The session expired before it began: start a new one.' }
  if (nowUs - of.lastMessageUs > MESSAGE_WINDOW_MS * 1000) {
    return { kind: 'refused', reason: 'The last message of the session is more than 24 hours old: start a new one.' }
  }
  return { kind: isOver(of.status) ? 'queue' : 'join' }
}

/** `as it is`: it is over already, and stays what it is. */
export const decideStop = (status: AgentStatus): 'stop' | 'as it is' => (isOver(status) ? 'as it is' : 'stop')

export interface TurnEnd {
  readonly status: Exclude<AgentStatus, 'queued' | 'running'>
  readonly reason: string
}

/** A turn that no worker began in its time; null when it may wait on, or does not wait. */
export function decideWait(of: Standing, nowUs: number): TurnEnd | null {
  const limitMs = of.turn === 1 ? FIRST_TURN_WAIT_MS : LATER_TURN_WAIT_MS
  if (of.status !== 'queued' || nowUs - of.queuedUs <= limitMs * 1000) return null
  const reason = `No worker began it within ${limitMs / 60_000} minutes.`
  return { status: of.turn === 1 ? 'expired' : 'failed', reason }
}

/** The worker is gone for the `losses`-th time while the journal stood still. Null: another one goes on. */
export const decideLoss = (losses: number): TurnEnd | null =>
  losses < MOST_LOSSES
    ? null
    : { status: 'failed', reason: `Its worker was lost ${losses} times at the same step: it is not tried again.` }

/** A turn can end so from there: whatever else is asked for is a mistake of the caller. */
export const mayFollow = (from: AgentStatus, to: AgentStatus): boolean => NEXT_STATUS[from].includes(to)

/** The session that a branch belongs to, by its name; null for every other branch. */
export const sessionOfBranch = (branch: string): string | null => /^agent\/([a-z0-9]{16})\/./.exec(branch)?.[1] ?? null
