// The one place for answers that differ for keys of existing clients of the interface.
import type { Actor } from '../../../domain/actor.ts'
import { keyClientOf } from '../../../domain/actor.ts'

/** Existing clients read `metadataJson` as a string, everyone else as an object. */
export function presentJson(actor: Actor, value: Record<string, unknown>): Record<string, unknown> | string {
  return keyClientOf(actor) === 'paradime' ? JSON.stringify(value) : value
}

/** To existing clients `showInactive: true` lists the inactive schedules alone, to everyone else the inactive as well. */
export function parseShowInactive(actor: Actor, showInactive: boolean): 'exclude' | 'include' | 'only' {
  if (!showInactive) return 'exclude'
  return keyClientOf(actor) === 'paradime' ? 'only' : 'include'
}

/** Who wrote a message of a session that a person did not write. */
export const presentAgentRole = (actor: Actor): string => (keyClientOf(actor) === 'paradime' ? 'agent' : 'assistant')

/** Existing clients know a session that was stopped; to everyone else it failed, and its last message says who stopped it. */
export const knowsStopped = (actor: Actor): boolean => keyClientOf(actor) === 'paradime'
