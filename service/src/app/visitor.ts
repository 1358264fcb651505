// What every way in has in common: somebody who is nobody yet, the session at the end, the refusal on record.
import type { Actor } from '../domain/actor.ts'
import type { AppError } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatToken } from '../domain/key.ts'
import type { Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import type { App, Context, RequestInfo } from './context.ts'
import type { Unit } from './mutate.ts'
import type { RefusalRecorder } from './refusals.ts'

export interface Visitor extends RequestInfo {
  readonly userAgent: string
}

export interface SignedIn {
  /** Goes into the session cookie; only its hash is stored. */
  readonly token: string
  readonly person: Person
}

/** As the audit log names the person; what they may do is decided from the session, at the next request. */
export const actorOf = ({ id, email, name }: Person): Actor => ({
  kind: 'person',
  person: { id, email, name, memberships: [], runsAccount: false },
  sessionId: 0,
})

export function visitorContext(app: App, visitor: Visitor, person: Person | null): Context {
  return {
    ...app,
    actor: person === null ? { kind: 'anonymous' } : actorOf(person),
    workspace: null,
    visible: [],
    request: visitor,
    idempotency: null,
  }
}

export async function openSession(
  app: App,
  unit: Unit,
  visitor: Visitor,
  person: Person,
  how: string,
): Promise<SignedIn> {
  const token = formatToken(newSecret())
  await sessions.insert(unit.db, {
    personId: person.id,
    tokenHash: app.vault.hashSecret(token),
    address: visitor.address,
    userAgent: visitor.userAgent.replaceAll('\0', '').slice(0, 200),
    hours: app.settings.sessionHours,
  })
  unit.record('signed_in', { how, address: visitor.address }, 'account', actorOf(person))
  return { token, person }
}

/** With no workspace left there is nothing to sign in to. */
export const hasWorkspace = async (app: App, person: Person): Promise<boolean> =>
  (await people.memberships(app.db, person.id)).length > 0

export async function recordRefusal(
  refusals: RefusalRecorder,
  { address }: Pick<Visitor, 'address'>,
  metadata: Readonly<Record<string, unknown>>,
  actor: Actor = { kind: 'anonymous' },
): Promise<void> {
  await refusals.record({ actor, address, event: 'sign_in_refused', metadata, at: 'account' })
}

/** Puts the refusal on record and throws it. */
export async function refuse(
  refusals: RefusalRecorder,
  visitor: Visitor,
  metadata: Readonly<Record<string, unknown>>,
  error: AppError,
): Promise<never> {
  await recordRefusal(refusals, visitor, metadata)
  throw error
}
