import type { Capability } from './capability.ts'
import { CAPABILITIES } from './capability.ts'

export const ACCOUNT_TYPES = [
  'ADMIN',
  'DEVELOPER',
  'BUSINESS',
  'ANALYST',
  'WORKSPACE_ADMIN',
  'WORKSPACE_SETTINGS_ADMIN',
  'SECURITY_ADMIN',
  'BILLING_ADMIN',
  'SANDBOX_USER',
] as const

export type AccountType = (typeof ACCOUNT_TYPES)[number]

interface Rights {
  /** What a person of this type may do, in the console and with a personal key. */
  readonly may: readonly Capability[]
  /** The types that such a person may give, change and take away. */
  readonly grants: readonly AccountType[]
}

const EVERYDAY: readonly AccountType[] = ['DEVELOPER', 'ANALYST', 'BUSINESS', 'SANDBOX_USER']

// The one table of what each account type may do and whom it may grant. A security administrator manages people, and so
// gives the everyday types although it runs no jobs itself; it cannot make, change or remove an administrator.
export const RIGHTS: Readonly<Record<AccountType, Rights>> = {
  ADMIN: { may: CAPABILITIES, grants: ACCOUNT_TYPES },
  WORKSPACE_ADMIN: {
    may: CAPABILITIES,
    grants: ['WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN', ...EVERYDAY],
  },
  WORKSPACE_SETTINGS_ADMIN: {
    may: ['bolt:schedules:admin', 'bolt:schedules:read', 'users:read', 'workspaces:read', 'dinoai:agent:read'],
    grants: [],
  },
  SECURITY_ADMIN: {
    may: ['users:admin', 'users:read', 'workspaces:read', 'audit:read', 'bolt:schedules:read', 'dinoai:agent:read'],
    grants: ['SECURITY_ADMIN', ...EVERYDAY],
  },
  BILLING_ADMIN: { may: ['users:read', 'workspaces:read'], grants: [] },
  DEVELOPER: {
    may: [
      'bolt:schedules:admin',
      'bolt:schedules:read',
      'users:read',
      'workspaces:read',
      'dinoai:agent:trigger',
      'dinoai:agent:read',
    ],
    grants: [],
  },
  ANALYST: {
    may: ['bolt:schedules:read', 'users:read', 'workspaces:read', 'dinoai:agent:trigger', 'dinoai:agent:read'],
    grants: [],
  },
  BUSINESS: { may: ['bolt:schedules:read', 'users:read', 'workspaces:read', 'dinoai:agent:read'], grants: [] },
  SANDBOX_USER: { may: ['bolt:schedules:read', 'workspaces:read'], grants: [] },
}

/** A workspace is never left without one of these. */
export const ADMINISTRATORS: readonly AccountType[] = ['ADMIN', 'WORKSPACE_ADMIN']

export const isAccountType = (word: string): word is AccountType => (ACCOUNT_TYPES as readonly string[]).includes(word)
