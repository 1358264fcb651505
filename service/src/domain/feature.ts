// Switches that an operator can turn off. Four belong to the account, programmable agents to each workspace.
export const ACCOUNT_FEATURES = {
  scheduling: 'Scheduling',
  user_management: 'User management',
  workspace_management: 'Workspace management',
  audit_logs: 'Audit logs',
} as const
export const WORKSPACE_FEATURES = { agents: 'Programmable agents' } as const

export type AccountFeature = keyof typeof ACCOUNT_FEATURES
export type WorkspaceFeature = keyof typeof WORKSPACE_FEATURES
export type Feature = AccountFeature | WorkspaceFeature

export type AccountSwitches = Readonly<Record<AccountFeature, boolean>>

export const isAccountFeature = (word: string): word is AccountFeature => Object.hasOwn(ACCOUNT_FEATURES, word)

/** What a refused caller reads: the switch, and where an administrator finds it. */
export function disabledMessage(feature: Feature): string {
  return isAccountFeature(feature)
    ? `${ACCOUNT_FEATURES[feature]} is switched off for this account. An administrator turns it on with ` +
        `setAccountFeature(feature: "${feature}", enabled: true).`
    : `${WORKSPACE_FEATURES[feature]} are switched off for this workspace. An administrator turns them on with ` +
        `setWorkspaceFeature(feature: "${feature}", enabled: true).`
}
