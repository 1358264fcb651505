// The one table from operation to who may call it, and the pure decision over it. Deny by default: an operation
// without a row is refused, and a test fails when the served schema and this table differ.
//
// A key is asked for capabilities. A person is asked for the capabilities of their role in the workspace, or, where a
// row names roles, for one of those. A personal key is asked for both.
import type { AccountType } from './account-type.ts'
import { RIGHTS } from './account-type.ts'
import type { Actor, Membership, PersonIdentity, WorkspaceRef } from './actor.ts'
import type { Capability } from './capability.ts'
import { labelsOf } from './capability.ts'
import { AppError } from './errors.ts'
import type { Feature } from './feature.ts'

export interface Rule {
  /**
   * public: answers anyone. self: about the person who asks. account: over all workspaces that the caller may see,
   * needs no workspace header. workspace: inside the selected one.
   */
  readonly scope: 'public' | 'self' | 'account' | 'workspace'
  readonly anyOf: readonly Capability[]
  readonly roles?: readonly AccountType[]
  /** Changes the account itself: an account key, or a person who is ADMIN of every workspace. */
  readonly wholeAccount?: true
  /** At least one of these must be on, where any is named. */
  readonly features?: readonly Feature[]
}

const SETTINGS: readonly AccountType[] = ['ADMIN', 'WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN']
const GOVERNORS: readonly AccountType[] = ['ADMIN', 'WORKSPACE_ADMIN', 'SECURITY_ADMIN']

const usersRead = ['users:admin', 'users:read'] as const
const workspacesRead = ['users:admin', 'users:read', 'workspaces:read'] as const
const environmentsRead = [
  'bolt:schedules:admin',
  'bolt:schedules:read',
  'dinoai:agent:trigger',
  'dinoai:agent:read',
] as const

const environmentsWrite: Rule = {
  scope: 'workspace',
  anyOf: ['bolt:schedules:admin'],
  roles: SETTINGS,
  features: ['scheduling', 'agents'],
}
const schedulesRead: Rule = {
  scope: 'workspace',
  anyOf: ['bolt:schedules:admin', 'bolt:schedules:read'],
  features: ['scheduling'],
}
const schedulesWrite: Rule = { scope: 'workspace', anyOf: ['bolt:schedules:admin'], features: ['scheduling'] }
/** Ways out of the workspace: addresses may hold tokens of their receivers, so reading them takes the same right. */
const waysOut: Rule = { scope: 'workspace', anyOf: ['bolt:schedules:admin'], roles: SETTINGS, features: ['scheduling'] }
const agentsRead: Rule = {
  scope: 'workspace',
  anyOf: ['dinoai:agent:trigger', 'dinoai:agent:read'],
  features: ['agents'],
}
const agentsWrite: Rule = { scope: 'workspace', anyOf: ['dinoai:agent:trigger'], features: ['agents'] }
/** What agents may do, and the keys and addresses that they do it with. */
const agentSettings: Rule = {
  scope: 'workspace',
  anyOf: ['dinoai:agent:trigger'],
  roles: SETTINGS,
  features: ['agents'],
}
const usersWrite: Rule = { scope: 'workspace', anyOf: ['users:admin'], features: ['user_management'] }
const self: Rule = { scope: 'self', anyOf: [] }

export const POLICY = {
  apiKeyIdentity: { scope: 'public', anyOf: [] },

  listUsers: { scope: 'workspace', anyOf: usersRead, features: ['user_management'] },
  inviteUser: usersWrite,
  updateUserAccountType: usersWrite,
  disableUser: usersWrite,

  listWorkspaces: { scope: 'account', anyOf: workspacesRead, features: ['workspace_management'] },
  createWorkspace: { scope: 'account', anyOf: ['users:admin'], wholeAccount: true, features: ['workspace_management'] },
  renameWorkspace: { scope: 'workspace', anyOf: ['users:admin'], roles: SETTINGS, features: ['workspace_management'] },
  archiveWorkspace: {
    scope: 'workspace',
    anyOf: ['users:admin'],
    roles: ['ADMIN', 'WORKSPACE_ADMIN'],
    features: ['workspace_management'],
  },
  features: { scope: 'account', anyOf: workspacesRead },
  setAccountFeature: { scope: 'account', anyOf: ['users:admin'], wholeAccount: true },
  setWorkspaceFeature: { scope: 'workspace', anyOf: ['users:admin'], roles: ['ADMIN', 'WORKSPACE_ADMIN'] },

  environments: { scope: 'workspace', anyOf: environmentsRead, features: ['scheduling', 'agents'] },
  createEnvironment: environmentsWrite,
  updateEnvironment: environmentsWrite,
  archiveEnvironment: environmentsWrite,
  setVariable: environmentsWrite,
  deleteVariable: environmentsWrite,
  setSecret: environmentsWrite,
  deleteSecret: environmentsWrite,

  listBoltSchedules: schedulesRead,
  boltScheduleName: schedulesRead,
  boltSchedule: schedulesRead,
  nextFireTimes: schedulesRead,
  listAllScheduleNames: {
    scope: 'account',
    anyOf: ['bolt:schedules:admin', 'bolt:schedules:read'],
    features: ['scheduling'],
  },
  createBoltSchedule: schedulesWrite,
  updateBoltSchedule: schedulesWrite,
  createScheduleSlugs: schedulesWrite,
  deleteBoltSchedule: schedulesWrite,
  suspendBoltSchedule: schedulesWrite,
  boltScheduleFiles: schedulesRead,
  syncBoltScheduleFiles: schedulesWrite,

  listBoltRuns: schedulesRead,
  boltRunStatus: schedulesRead,
  boltCommand: schedulesRead,
  boltCommandLogs: schedulesRead,
  boltResourceUrl: schedulesRead,
  boltRun: schedulesRead,
  boltRunPage: schedulesRead,
  searchCommandLog: schedulesRead,
  commandLogUrl: schedulesRead,
  boltRunState: schedulesRead,
  boltCommandLog: schedulesRead,
  triggerBoltRun: schedulesWrite,
  cancelBoltRun: schedulesWrite,
  retryBoltRunFromFailure: schedulesWrite,
  retryBoltRun: schedulesWrite,
  retryAllBoltRun: schedulesWrite,
  cancelBoltRuns: schedulesWrite,
  retryBoltRuns: schedulesWrite,

  listWebhooks: waysOut,
  createWebhook: waysOut,
  updateWebhook: waysOut,
  deleteWebhook: waysOut,
  rotateWebhookSecret: waysOut,
  testWebhook: waysOut,
  listIntegrations: waysOut,
  createIntegration: waysOut,
  updateIntegration: waysOut,
  removeIntegration: waysOut,
  testIntegration: waysOut,
  testMail: waysOut,
  listMessageTemplates: schedulesRead,
  createMessageTemplate: waysOut,
  updateMessageTemplate: waysOut,
  deleteMessageTemplate: waysOut,
  listDeliveries: schedulesRead,
  delivery: schedulesRead,
  sendDeliveryAgain: schedulesWrite,
  listPullRequests: schedulesRead,
  allowPullRequest: schedulesWrite,

  dinoaiAgentRun: agentsRead,
  triggerDinoaiAgentRun: agentsWrite,
  sendDinoaiAgentMessage: agentsWrite,
  stopDinoaiAgentRun: agentsWrite,
  listDinoaiAgents: agentsRead,
  listDinoaiAgentSessions: agentsRead,
  dinoaiAgentToolOutput: agentsRead,
  dinoaiAgentRunState: agentsRead,
  listHealingRequests: agentsRead,
  listModelFamilies: agentsRead,
  setModelFamily: agentSettings,
  removeModelFamily: agentSettings,
  testModelFamily: agentSettings,
  agentPolicy: agentsRead,
  setAgentPolicy: agentSettings,
  listMcpServers: agentSettings,
  setMcpServer: agentSettings,
  removeMcpServer: agentSettings,

  getAuditLogs: { scope: 'account', anyOf: ['audit:read'], features: ['audit_logs'] },

  listApiKeys: { scope: 'account', anyOf: ['users:admin'], roles: GOVERNORS },
  createApiKey: { scope: 'account', anyOf: ['users:admin'], roles: GOVERNORS },
  revokeApiKey: { scope: 'account', anyOf: ['users:admin'], roles: GOVERNORS },

  me: self,
  listSessions: self,
  endSession: self,
  listPersonalKeys: self,
  createPersonalKey: self,
  revokePersonalKey: self,
} as const satisfies Readonly<Record<string, Rule>>

export type Operation = keyof typeof POLICY

export const ruleOf = (operation: string): Rule | undefined =>
  Object.hasOwn(POLICY, operation) ? POLICY[operation as Operation] : undefined

/** What the request says about its workspace. `unknown` covers archived ones and headers that name nothing. */
export type WorkspaceSelection =
  | { readonly kind: 'none'; readonly header: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'found'; readonly workspace: WorkspaceRef }

/** Whose rows an account-wide operation may show. */
export type Visibility = 'all' | readonly number[]

export interface Admission {
  readonly workspace: WorkspaceRef | null
  readonly visible: Visibility
}

const holds = (held: readonly Capability[], anyOf: readonly Capability[]): boolean =>
  anyOf.some((one) => held.includes(one))

function personMay(rule: Rule, membership: Membership, narrowedTo: readonly Capability[] | null): boolean {
  const byRole = rule.roles
    ? rule.roles.includes(membership.accountType)
    : holds(RIGHTS[membership.accountType].may, rule.anyOf)
  return byRole && (narrowedTo === null || holds(narrowedTo, rule.anyOf))
}

/** Throws the refusal (401, 400 or 403 by its code) or says in which workspace, and over which rows, to go on. */
export function admit(rule: Rule | undefined, actor: Actor, selection: WorkspaceSelection): Admission {
  if (rule === undefined) throw new AppError('FORBIDDEN', 'This operation is not open to anyone.')
  if (rule.scope === 'public') return { workspace: null, visible: [] }
  switch (actor.kind) {
    case 'anonymous':
      throw new AppError(
        'UNAUTHENTICATED',
        'No valid credentials. Send "Authorization: Bearer <key>", or X-API-KEY with X-API-SECRET.',
      )
    case 'system':
      return { workspace: selection.kind === 'found' ? selection.workspace : null, visible: 'all' }
    case 'key':
      return admitKey(rule, actor.key, selection)
    case 'person':
      return admitPerson(rule, actor.person, null, selection)
    case 'personal-key':
      return admitPerson(rule, actor.person, actor.key.capabilities, selection)
  }
}

function missing(rule: Rule): AppError {
  return new AppError('FORBIDDEN', `This key needs the capability ${labelsOf(rule.anyOf)}.`)
}

// One text for "no such workspace" and "not yours": the answer must not tell which uids exist.
const noAccess = (): AppError =>
  new AppError('FORBIDDEN', 'No access to this workspace: check the workspace uid and what the key may use.')

function selected(selection: WorkspaceSelection): WorkspaceRef {
  if (selection.kind === 'found') return selection.workspace
  if (selection.kind === 'unknown') throw noAccess()
  throw new AppError(
    'WORKSPACE_REQUIRED',
    `This operation works inside a workspace: name it in the header ${selection.header}.`,
  )
}

function admitKey(
  rule: Rule,
  key: { kind: string; capabilities: readonly Capability[]; workspaceId: number | null },
  selection: WorkspaceSelection,
): Admission {
  if (rule.scope === 'self') {
    throw new AppError('FORBIDDEN', 'This operation is about a person: sign in, or use a personal key.')
  }
  if (!holds(key.capabilities, rule.anyOf)) throw missing(rule)
  if (key.workspaceId !== null) {
    if (rule.wholeAccount) throw new AppError('FORBIDDEN', 'This operation changes the account: use an account key.')
    if (selection.kind !== 'found' || selection.workspace.id !== key.workspaceId) throw noAccess()
    return { workspace: selection.workspace, visible: [key.workspaceId] }
  }
  if (rule.scope === 'account') return { workspace: null, visible: 'all' }
  return { workspace: selected(selection), visible: 'all' }
}

function admitPerson(
  rule: Rule,
  person: PersonIdentity,
  narrowedTo: readonly Capability[] | null,
  selection: WorkspaceSelection,
): Admission {
  if (rule.scope === 'self') return { workspace: null, visible: person.memberships.map((one) => one.workspaceId) }
  const allowed = person.memberships.filter((one) => personMay(rule, one, narrowedTo))
  const denied = (): AppError =>
    narrowedTo !== null && !holds(narrowedTo, rule.anyOf)
      ? missing(rule)
      : new AppError(
          'FORBIDDEN',
          `Your role does not include this (${rule.roles ? rule.roles.join(' or ') : labelsOf(rule.anyOf)}).`,
        )
  if (rule.scope === 'account') {
    if (allowed.length === 0) throw denied()
    if (rule.wholeAccount && !person.runsAccount) {
      throw new AppError('FORBIDDEN', 'This operation changes the account: only an ADMIN of every workspace may do it.')
    }
    // A personal key sees its own workspaces and no more, also when its person runs the account.
    if (person.runsAccount && narrowedTo === null) return { workspace: null, visible: 'all' }
    return { workspace: null, visible: allowed.map((one) => one.workspaceId) }
  }
  const workspace = selected(selection)
  if (!person.memberships.some((one) => one.workspaceId === workspace.id)) throw noAccess()
  if (!allowed.some((one) => one.workspaceId === workspace.id)) throw denied()
  return { workspace, visible: [workspace.id] }
}
