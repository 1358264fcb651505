// What the HTTP edge needs of the rest of the service, as values that the composition hands in: nothing under api/
// reaches for the database or the clock by itself.
import type { Actor } from '../domain/actor.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import type { Admission, WorkspaceSelection } from '../domain/policy.ts'

/** What a request shows of itself, not yet believed. */
export type Credentials =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'pair'; readonly key: string; readonly secret: string }
  | { readonly kind: 'session'; readonly token: string }

export interface Rejection {
  readonly reason: 'unknown' | 'expired' | 'revoked' | 'malformed' | 'disabled'
  /** The public part of the key, where the credentials have one: bad tries are counted by it too. */
  readonly keyId: string | null
}

export interface Identity {
  /** Anonymous whenever `rejected` is set. */
  readonly actor: Actor
  readonly selection: WorkspaceSelection
  readonly switches: AccountSwitches
  readonly rejected: Rejection | null
}

export interface RequestFacts {
  readonly id: string
  /** The client's address, through trusted proxies only. */
  readonly address: string
  readonly userAgent: string
}

export interface Gatekeeper {
  authenticate(credentials: Credentials, workspaceUid: string | null, request: RequestFacts): Promise<Identity>
}

export interface Idempotency {
  readonly key: string
  /** SHA-256, in hex, of the query, the operation's name and the variables: one key means one request. */
  readonly bodyHash: string
  /** Which of the document's mutations this is, from 0: each has its own answer to repeat. */
  readonly position: number
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

/** Fields first, then the sentence. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Milliseconds that only go forward: for limits and durations, never for dates. */
export type Monotonic = () => number
