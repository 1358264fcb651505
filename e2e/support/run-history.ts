/** What the clients of a storm over runs asked for and were told: their own memory, kept apart from the service's. */
import type { Outcome } from './history.ts'

export interface RunOp {
  readonly kind: 'trigger' | 'retry' | 'cancel'
  /** Of a trigger: its reason, which is its alone. */
  readonly reason: string
  /** Of a trigger: the schedule. */
  readonly slug: string
  readonly commands: readonly string[] | null
  readonly prNumber: number | null
  /** Of the others: the run that they are about. No run is retried by two of them. */
  readonly about: number
  readonly idempotencyKey: string | null
  outcome: Outcome
  /** How often it went out. */
  sent: number
  /** The run that the answer names; 0 without one. */
  runId: number
}

export class RunHistory {
  readonly ops: RunOp[] = []
  /** Answers with status 500 or more other than 503, and refusals that nobody expected: each is a fault. */
  readonly surprises: string[] = []
  /** Acknowledged ops with an Idempotency-Key that were sent again, and those that were answered otherwise. */
  repeated = 0
  readonly repeatedDifferently: string[] = []

  count(kind: RunOp['kind'], outcome: Outcome): number {
    return this.ops.filter((op) => op.kind === kind && op.outcome === outcome).length
  }

  resent(): number {
    return this.ops.filter((op) => op.idempotencyKey !== null && op.sent > 1).length
  }
}

/** The end of each run as it was first seen: it must look the same ever after. */
export class Ends {
  readonly #first = new Map<string, string>()
  readonly changed: string[] = []
  looks = 0

  note(seen: readonly { readonly id: string; readonly end: string }[]): void {
    this.looks++
    for (const { id, end } of seen) {
      const first = this.#first.get(id)
      if (first === undefined) this.#first.set(id, end)
      else if (first !== end) this.changed.push(`${id}: ${first}, then ${end}`)
    }
  }

  /** What was seen final and is not among these any more. */
  missingIn(ids: ReadonlySet<string>): string[] {
    return [...this.#first.keys()].filter((id) => !ids.has(id))
  }

  get size(): number {
    return this.#first.size
  }
}
