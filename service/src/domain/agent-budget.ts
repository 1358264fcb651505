// What a turn may use up, and the words when it has.
import type { AgentBudget, AgentEventBody } from './agent-session.ts'

export interface BudgetUse {
  /** Of this turn. */
  readonly steps: number
  readonly seconds: number
  /** Of all sessions under one root. */
  readonly tokens: number
  readonly costMicrodollars: number
}

export type OverBudget = Extract<AgentEventBody, { kind: 'budget' }>

/** The first limit that is reached; null: the model may be asked once more. */
export function overBudget(budget: AgentBudget, use: BudgetUse): OverBudget | null {
  for (const what of ['steps', 'seconds', 'tokens', 'costMicrodollars'] as const) {
    if (use[what] >= budget[what]) return { kind: 'budget', what, used: Math.floor(use[what]), limit: budget[what] }
  }
  return null
}

const dollars = (micro: number): string => `$${(micro / 1_000_000).toFixed(2)}`

const REACHED: Readonly<Record<keyof AgentBudget, (limit: number) => string>> = {
  steps: (limit) => `It reached its limit of ${limit} steps for one turn.`,
  seconds: (limit) => `It reached its limit of ${limit} seconds for one turn.`,
  tokens: (limit) => `It reached its limit of ${limit} tokens.`,
  costMicrodollars: (limit) => `It reached its limit of ${dollars(limit)}.`,
}

export const budgetReason = ({ what, limit }: OverBudget): string => REACHED[what](limit)

export interface TokenUse {
  readonly tokensIn: number
  readonly tokensOut: number
  /** Of `tokensIn`. */
  readonly tokensCached: number
}

/** Microdollars of a million tokens. */
export interface TokenPrices {
  readonly input: number
  readonly cached: number
  readonly output: number
}

export function costOf(use: TokenUse, prices: TokenPrices | null): number {
  if (prices === null) return 0
  const fresh = Math.max(0, use.tokensIn - use.tokensCached)
  return Math.ceil(
    (fresh * prices.input + use.tokensCached * prices.cached + use.tokensOut * prices.output) / 1_000_000,
  )
}
