// What the HTTP edge needs of the rest of the service, as values that the composition hands in: nothing under api/
// reaches for the database or the clock by itself.
import type { Credentials, Identity, Rejection } from '../app/authenticate.ts'
import type { App, Idempotency } from '../app/context.ts'
import type { Admission } from '../domain/policy.ts'

export type { Credentials, Idempotency, Identity, Rejection }

export interface RequestFacts {
  readonly id: string
  /** The client's address, through trusted proxies only. */
  readonly address: string
  readonly userAgent: string
}

export interface Gatekeeper {
  /** Never refuses: credentials that do not hold make an anonymous caller with the reason beside it. */
  authenticate(credentials: Credentials, workspaceUid: string | null, request: RequestFacts): Promise<Identity>
}

/** One admitted root field, about to be answered. */
export interface Call {
  readonly operation: string
  readonly identity: Identity
  readonly admission: Admission
  readonly request: RequestFacts
  readonly idempotency: Idempotency | null
}

/** A mutation that the gate refused, for the audit log. Names are of served operations, never the client's own words. */
export interface Denial {
  readonly identity: Identity
  readonly request: RequestFacts
  readonly operations: readonly string[]
  readonly code: 'UNAUTHENTICATED' | 'FORBIDDEN'
}

export type Log = Omit<App['log'], 'child'>

/** Milliseconds that only go forward: for limits and durations, never for dates. */
export type Monotonic = () => number
