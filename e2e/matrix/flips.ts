// Every way in which one entry of the policy table could be wrong.
import { ACCOUNT_TYPES } from '../../service/src/domain/account-type.ts'
import { CAPABILITIES } from '../../service/src/domain/capability.ts'
import type { Feature } from '../../service/src/domain/feature.ts'
import type { Rule } from '../../service/src/domain/policy.ts'

export interface Flip {
  readonly name: string
  readonly rule: Rule | undefined
}

const SCOPES = ['public', 'self', 'account', 'workspace'] as const
const FEATURES: readonly Feature[] = ['scheduling', 'agents', 'user_management', 'workspace_management', 'audit_logs']

const without = <T>(list: readonly T[], one: T): T[] => list.filter((other) => other !== one)

/** One taken out, for each that is in; one put in, for each that is not. */
function altered<T extends string>(name: string, list: readonly T[], all: readonly T[]): [string, T[]][] {
  return all.map((one) =>
    list.includes(one) ? [`${name} without ${one}`, without(list, one)] : [`${name} with ${one}`, [...list, one]],
  )
}

export function flipsOf(rule: Rule): Flip[] {
  const flips: Flip[] = [{ name: 'no entry', rule: undefined }]
  const add = (name: string, change: Partial<Rule>) => flips.push({ name, rule: { ...rule, ...change } })
  for (const scope of without(SCOPES, rule.scope)) add(`scope ${scope}`, { scope })
  for (const [name, features] of altered('features', rule.features ?? [], FEATURES)) add(name, { features })
  if (rule.features !== undefined) add('no features', { features: undefined })
  // An operation for everyone, or about oneself, asks for nothing else.
  if (rule.scope === 'public' || rule.scope === 'self') return flips
  for (const [name, anyOf] of altered('capabilities', rule.anyOf, CAPABILITIES)) add(name, { anyOf })
  if (rule.roles !== undefined) {
    for (const [name, roles] of altered('roles', rule.roles, ACCOUNT_TYPES)) add(name, { roles })
    add('no roles', { roles: undefined })
  } else {
    for (const role of ACCOUNT_TYPES) add(`roles ${role} alone`, { roles: [role] })
  }
  if (rule.wholeAccount) add('not of the whole account', { wholeAccount: undefined })
  else add('of the whole account', { wholeAccount: true })
  return flips
}
