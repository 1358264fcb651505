// The gate over a whole document: if one root field would be refused, so is the document, and nothing is executed.
import { AppError } from '../../domain/errors.ts'
import { disabledMessage, isAccountFeature } from '../../domain/feature.ts'
import { type Admission, admit, type Rule, ruleOf } from '../../domain/policy.ts'
import type { Identity, Rejection } from '../edge.ts'
import type { Read } from './documents.ts'

/** Where rules come from: the policy table, or in tests that table with one entry altered. */
export type Rules = (operation: string) => Rule | undefined

/** Throws the first refusal, in the order of the fields. */
export function passGate(
  read: Pick<Read, 'identityAlone' | 'rootFields'>,
  identity: Identity,
  rules: Rules = ruleOf,
): void {
  const { actor, selection } = identity
  if (actor.kind === 'anonymous' && !read.identityAlone) throw unauthenticated(identity.rejected)
  if (!read.identityAlone) keepToItsWorkspace(identity)
  for (const { name } of read.rootFields) {
    // `__typename`, `__schema` and `__type` tell nothing but the schema: for whoever has credentials.
    if (!name.startsWith('__')) admit(rules(name), actor, selection)
  }
}

/**
 * Once more, for one field that is about to run: an executor that called a field which the gate was not asked about
 * would find it closed.
 */
export function admitField(operation: string, identity: Identity, rules: Rules = ruleOf): Admission {
  const rule = rules(operation)
  const admission = admit(rule, identity.actor, identity.selection)
  requireFeature(rule!, identity)
  return admission
}

/** Only this field is refused; the others stand. */
function requireFeature(rule: Rule, { switches, selection }: Identity): void {
  if (rule.features === undefined || rule.features.length === 0) return
  const on = rule.features.some((feature) =>
    isAccountFeature(feature) ? switches[feature] : selection.kind === 'found' && selection.workspace.agents,
  )
  if (!on) throw new AppError('FEATURE_DISABLED', rule.features.map(disabledMessage).join(' '))
}

// admit() does this for every operation of ours but `apiKeyIdentity`, which has no workspace; introspection is none.
function keepToItsWorkspace({ actor, selection }: Identity): void {
  if (actor.kind !== 'key' || actor.key.workspaceId === null) return
  if (selection.kind === 'found' && selection.workspace.id === actor.key.workspaceId) return
  throw new AppError('FORBIDDEN', 'No access to this workspace: the key is bound to another one.')
}

// What the caller can mend is said; whether a key exists is not: the gatekeeper tells the last two apart from
// `unknown` only for somebody who holds the secret.
const WHY: Readonly<Record<Rejection['reason'], string>> = {
  unknown: 'These credentials are not known.',
  malformed: 'These credentials are not well-formed: a part may have been lost when they were copied.',
  expired: 'These credentials have expired.',
  revoked: 'These credentials were revoked.',
}

export function unauthenticated(rejected: Rejection | null): AppError {
  const why = rejected === null ? 'No credentials.' : WHY[rejected.reason]
  return new AppError('UNAUTHENTICATED', `${why} Send "Authorization: Bearer <key>", or X-API-KEY with X-API-SECRET.`)
}
