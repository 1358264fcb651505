/** What the clients of a fault proof sent and were told: their own memory, kept apart from the service's. */

/**
 * ok: acknowledged. refused: answered with a no, or never sent: there must be no trace of it. unknown: no answer, or
 * one that says "not now": it may have happened, once.
 */
export type Outcome = 'waiting' | 'ok' | 'refused' | 'unknown'

export type Kind = 'invite' | 'workspace' | 'key' | 'variable' | 'secret' | 'role'

export interface Op {
  readonly kind: Kind
  /** Unique to this op, and written into what it changes: the address, the name; for a role the person's uid. */
  readonly subject: string
  /** Of a role: the account type that is asked for. */
  readonly to: string
  readonly workspaceUid: string
  readonly idempotencyKey: string | null
  outcome: Outcome
  /** How often it went out. */
  sent: number
  /** The acknowledged data, as text. */
  answer: string
}

export class History {
  readonly ops: Op[] = []
  /** Answers with status 500 or more other than 503, and refusals that nobody expected: each is a fault. */
  readonly surprises: string[] = []
  /** Acknowledged ops with an Idempotency-Key that were sent again: how many, and how many were answered otherwise. */
  repeated = 0
  readonly repeatedDifferently: string[] = []

  count(outcome: Outcome): number {
    return this.ops.reduce((sum, op) => sum + Number(op.outcome === outcome), 0)
  }

  /** Ops with an Idempotency-Key that went out again because nobody knew their outcome. */
  resent(): number {
    return this.ops.filter((op) => op.idempotencyKey !== null && op.sent > 1).length
  }
}
