import type { AccountType } from './account-type.ts'
import type { Capability } from './capability.ts'

export type KeyKind = 'account' | 'workspace' | 'pair' | 'personal'
export const KEY_KINDS: readonly KeyKind[] = ['account', 'workspace', 'pair', 'personal']

/** Existing clients of the interface for which a key can be issued; null is every other. */
export type KeyClient = 'paradime' | null

export interface WorkspaceRef {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly agents: boolean
}

export interface Membership {
  readonly workspaceId: number
  readonly accountType: AccountType
}

/** A person as far as deciding needs one: who they are and where they are what. */
export interface PersonIdentity {
  readonly id: number
  readonly email: string
  readonly name: string
  readonly memberships: readonly Membership[]
  /** True for the ADMIN of every active workspace that has people: such a person runs the account. */
  readonly runsAccount: boolean
}

export interface KeyIdentity {
  readonly id: number
  readonly kind: KeyKind
  readonly name: string
  readonly client: KeyClient
  readonly capabilities: readonly Capability[]
  /** The workspace that a workspace key or a key pair is bound to. */
  readonly workspaceId: number | null
  /** The maker's person id and e-mail, for the owner of what the key creates and for the audit log. */
  readonly makerId: number | null
  readonly makerEmail: string
}

// Who asks. It comes from the authenticated identity alone, never from what a request says about itself.
export type Actor =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'key'; readonly key: KeyIdentity }
  /** A personal key acts for its person: the person's role, narrowed to the key's capabilities. */
  | { readonly kind: 'personal-key'; readonly key: KeyIdentity; readonly person: PersonIdentity }
  | { readonly kind: 'person'; readonly person: PersonIdentity; readonly sessionId: number }
  /** The service itself and whoever works on its host with the command line. */
  | { readonly kind: 'system'; readonly name: string }

/** The stable name under which limits and idempotent answers of one actor are kept. */
export function actorScope(actor: Actor): string {
  switch (actor.kind) {
    case 'anonymous':
      return 'anonymous'
    case 'key':
    case 'personal-key':
      return `key:${actor.key.id}`
    case 'person':
      return `person:${actor.person.id}`
    case 'system':
      return `system:${actor.name}`
  }
}

export const keyClientOf = (actor: Actor): KeyClient =>
  actor.kind === 'key' || actor.kind === 'personal-key' ? actor.key.client : null

export const personOf = (actor: Actor): PersonIdentity | null =>
  actor.kind === 'person' || actor.kind === 'personal-key' ? actor.person : null
