import type { Actor, PersonIdentity, WorkspaceRef } from '../domain/actor.ts'
import { personOf } from '../domain/actor.ts'
import type { Visibility } from '../domain/policy.ts'
import type { Clock, Log } from '../ports/runtime.ts'
import type { Db } from '../store/database.ts'
import type { Queue } from '../store/queue.ts'
import type { Vault } from '../store/vault.ts'

export interface AppSettings {
  /** Every link is made from it, never from a request. No slash at its end. */
  readonly publicUrl: string
  readonly sessionHours: number
  /** The first of the headers that select a workspace, as refusals name it. */
  readonly workspaceHeader: string
}

/** What every use case stands on, whoever asks. */
export interface App {
  readonly db: Db
  readonly vault: Vault
  readonly queue: Queue
  readonly clock: Clock
  readonly log: Log
  readonly settings: AppSettings
}

export interface RequestInfo {
  readonly id: string
  readonly address: string
}

/** What came with an Idempotency-Key: the same key, body and position give the same answer for a day. */
export interface Idempotency {
  readonly key: string
  /** SHA-256 in hex. */
  readonly bodyHash: string
  /** The n-th mutation of the document. */
  readonly position: number
}

/** Who asks, where, and how far they see. Made by the gate alone. */
export interface Context extends App {
  readonly actor: Actor
  readonly workspace: WorkspaceRef | null
  readonly visible: Visibility
  readonly request: RequestInfo
  readonly idempotency: Idempotency | null
}

/** For use cases of workspace scope: the gate has let nobody in without one. */
export function workspaceOf(ctx: Context): WorkspaceRef {
  if (ctx.workspace === null) throw new Error('a workspace operation was called without a workspace')
  return ctx.workspace
}

/** For use cases about the caller's own things: the gate has let only persons in. */
export function selfOf(ctx: Context): PersonIdentity {
  const person = personOf(ctx.actor)
  if (person === null) throw new Error('a personal operation was called by somebody who is no person')
  return person
}

/** The context of the service's own work and of the command line on its host. */
export function systemContext(app: App, name: string, workspace: WorkspaceRef | null = null): Context {
  return {
    ...app,
    actor: { kind: 'system', name },
    workspace,
    visible: 'all',
    request: { id: '', address: '' },
    idempotency: null,
  }
}
