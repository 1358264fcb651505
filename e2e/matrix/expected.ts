// Who gets in where, written by hand from contract/semantics.md (the table of capabilities, "Credentials"), the guide's
// table of account types, and what is served beyond the contract. It is never made from domain/policy.ts: it is what
// that table is checked against. A new operation needs a row here, a new route a row further down.
//
//   +  gets in (200; the operation itself may still say no)
//   0  401 UNAUTHENTICATED      -  403 FORBIDDEN      w  400 WORKSPACE_REQUIRED      x  200 FEATURE_DISABLED

/** The columns of OPERATIONS: whom each letter stands for is made in principals.ts. Everybody asks for workspace A. */
export const COLUMNS = [
  // All that is no valid credential, see ANONYMOUS.
  'anonymous',
  // An account key with this one capability.
  ...['bolt:schedules:admin', 'bolt:schedules:read', 'users:admin', 'users:read'],
  ...['workspaces:read', 'audit:read', 'dinoai:agent:trigger', 'dinoai:agent:read'],
  // Account keys: with all capabilities, with those that only read, with all but without a workspace header, with all
  // and the header of a workspace that does not exist.
  ...['account', 'account, reads', 'account, no workspace', 'account, unknown workspace'],
  // Keys with all capabilities that are bound to workspace A; one of B that asks for A.
  ...['workspace A', 'pair A', 'workspace B'],
  // Personal keys: of an ADMIN of A, of the same person but narrowed to users:read, of one who is ADMIN of every
  // workspace, of a DEVELOPER of A.
  ...['personal ADMIN', 'personal users:read', 'personal owner', 'personal DEVELOPER'],
  // Sessions of people of A, by account type; `owner` is ADMIN of every workspace.
  ...['owner', 'ADMIN', 'WORKSPACE_ADMIN', 'WORKSPACE_SETTINGS_ADMIN', 'SECURITY_ADMIN'],
  ...['BILLING_ADMIN', 'DEVELOPER', 'ANALYST', 'BUSINESS', 'SANDBOX_USER'],
  // Sessions of an ADMIN of A who names no workspace, and of an ADMIN of B who asks for A.
  ...['ADMIN, no workspace', 'ADMIN of B'],
] as const

export type Column = (typeof COLUMNS)[number]

/** Nothing among these is a valid credential: each is refused like a request without any. */
export const ANONYMOUS = [
  'nothing at all',
  'a malformed key',
  'an unknown key',
  'a wrong secret',
  'a revoked key',
  'an expired key',
  'half a pair',
  'a pair as a bearer token',
  'a key of an archived workspace',
  'a personal key of a disabled person',
  'a session of a disabled person',
  'a session that was ended',
  'a session that has expired',
  'a session without the console header',
  'a session from a foreign origin',
  'a session without an origin',
] as const

export type Anonymous = (typeof ANONYMOUS)[number]

export const OPERATIONS = table(`
#                     anonymous
#                     | schedules: admin, read; users: admin, read; workspaces: read; audit: read; agents: trigger, read
#                     | |                 account keys: all, reads, no workspace, unknown workspace
#                     | |                 |         bound keys: workspace A, pair A, workspace B
#                     | |                 |         |       personal: ADMIN, users:read, owner, DEVELOPER
#                     | |                 |         |       |         sessions: owner, ADMIN, W_ADMIN, W_SETTINGS, SECURITY
#                     | |                 |         |       |         |           BILLING, DEV, ANALYST, BUSINESS, SANDBOX
#                     | |                 |         |       |         |           |           ADMIN: no workspace, of B
# What only tells the schema: whoever has valid credentials, and a bound key only inside its workspace.
__typename            0 | + + + + + + + + | + + + + | + + - | + + + + | + + + + + | + + + + + | + +
__schema              0 | + + + + + + + + | + + + + | + + - | + + + + | + + + + + | + + + + + | + +
__type                0 | + + + + + + + + | + + + + | + + - | + + + + | + + + + + | + + + + + | + +

# Answers everybody: it is how a key is checked.
apiKeyIdentity        + | + + + + + + + + | + + + + | + + + | + + + + | + + + + + | + + + + + | + +

# Users.
listUsers             0 | - - + + - - - - | + + w - | + + - | + + + + | + + + + + | + + + + - | w -
inviteUser            0 | - - + - - - - - | + - w - | + + - | + - + - | + + + - + | - - - - - | w -
updateUserAccountType 0 | - - + - - - - - | + - w - | + + - | + - + - | + + + - + | - - - - - | w -
disableUser           0 | - - + - - - - - | + - w - | + + - | + - + - | + + + - + | - - - - - | w -

# Workspaces. What changes the account is for account keys, and for whoever is ADMIN of every workspace.
listWorkspaces        0 | - - + + + - - - | + + + + | + + - | + + + + | + + + + + | + + + + + | + +
createWorkspace       0 | - - + - - - - - | + - + + | - - - | - - + - | + - - - - | - - - - - | - -
renameWorkspace       0 | - - + - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
archiveWorkspace      0 | - - + - - - - - | + - w - | + + - | + - + - | + + + - - | - - - - - | w -
features              0 | - - + + + - - - | + + + + | + + - | + + + + | + + + + + | + + + + + | + +
setAccountFeature     0 | - - + - - - - - | + - + + | - - - | - - + - | + - - - - | - - - - - | - -
setWorkspaceFeature   0 | - - + - - - - - | + - w - | + + - | + - + - | + + + - - | - - - - - | w -

# Environments count as a query of schedules, or of agents. Changing them: keys that administer schedules, and people
# who administer the workspace or its settings.
environments          0 | + + - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
createEnvironment     0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
updateEnvironment     0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
archiveEnvironment    0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
setVariable           0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
deleteVariable        0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
setSecret             0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
deleteSecret          0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -

# Schedules and their runs: keys that administer or read schedules, and people by what their type may do with jobs.
listBoltSchedules     0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltScheduleName      0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltSchedule          0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
nextFireTimes         0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
# Account-wide: the schedules of every workspace that the caller sees.
listAllScheduleNames  0 | + + - - - - - - | + + + + | + + - | + - + + | + + + + + | - + + + + | + +
createBoltSchedule    0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
updateBoltSchedule    0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
createScheduleSlugs   0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
deleteBoltSchedule    0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
suspendBoltSchedule   0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
boltScheduleFiles     0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
syncBoltScheduleFiles 0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -

listBoltRuns          0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltRunStatus         0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltCommand           0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltCommandLogs       0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltResourceUrl       0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltRun               0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltRunPage           0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
searchCommandLog      0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
commandLogUrl         0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
# (Streams, refused in the same words.)
boltRunState          0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
boltCommandLog        0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
triggerBoltRun        0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
cancelBoltRun         0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
retryBoltRunFromFailure 0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
retryBoltRun          0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
retryAllBoltRun       0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
cancelBoltRuns        0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
retryBoltRuns         0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -

# Ways out of the workspace: their addresses may hold tokens, so reading them takes the same right as changing them.
listWebhooks          0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
createWebhook         0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
updateWebhook         0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
deleteWebhook         0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
rotateWebhookSecret   0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
testWebhook           0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
listIntegrations      0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
createIntegration     0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
updateIntegration     0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
removeIntegration     0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
testIntegration       0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
testMail              0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
# Templates hold no secret: whoever reads schedules sees what they would send.
listMessageTemplates  0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
createMessageTemplate 0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
updateMessageTemplate 0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
deleteMessageTemplate 0 | + - - - - - - - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
# What was sent is read by whoever reads runs, and sent again by whoever may start them.
listDeliveries        0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
delivery              0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
sendDeliveryAgain     0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -
# A pull request is seen by whoever sees runs, and let run by whoever may start them.
listPullRequests      0 | + + - - - - - - | + + w - | + + - | + - + + | + + + + + | - + + + + | w -
allowPullRequest      0 | + - - - - - - - | + - w - | + + - | + - + + | + + + + - | - + - - - | w -

# Agents: keys that administer or read them, and people by what their type may do with them.
dinoaiAgentRun        0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
listDinoaiAgents      0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
listDinoaiAgentSessions 0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
dinoaiAgentToolOutput 0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
listHealingRequests   0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
listModelFamilies     0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
agentPolicy           0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
# (A stream, refused in the same words.)
dinoaiAgentRunState   0 | - - - - - - + + | + + w - | + + - | + - + + | + + + + + | - + + + - | w -
triggerDinoaiAgentRun 0 | - - - - - - + - | + - w - | + + - | + - + + | + + + - - | - + + - - | w -
sendDinoaiAgentMessage 0 | - - - - - - + - | + - w - | + + - | + - + + | + + + - - | - + + - - | w -
stopDinoaiAgentRun    0 | - - - - - - + - | + - w - | + + - | + - + + | + + + - - | - + + - - | w -
# What agents may do, and with whose keys. Addresses of servers may hold tokens, so reading them takes the same right.
setModelFamily        0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
removeModelFamily     0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
testModelFamily       0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
setAgentPolicy        0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
listMcpServers        0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
setMcpServer          0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -
removeMcpServer       0 | - - - - - - + - | + - w - | + + - | + - + - | + + + + - | - - - - - | w -

# Account-wide: no workspace is needed, and one that is named does not filter.
getAuditLogs          0 | - - - - - + - - | + + + + | + + - | + - + - | + + + - + | - - - - - | + +

# Keys of the account and of the workspaces that the caller manages.
listApiKeys           0 | - - + - - - - - | + - + + | + + - | + - + - | + + + - + | - - - - - | + +
createApiKey          0 | - - + - - - - - | + - + + | + + - | + - + - | + + + - + | - - - - - | + +
revokeApiKey          0 | - - + - - - - - | + - + + | + + - | + - + - | + + + - + | - - - - - | + +

# What is one's own: for people, whatever their role, and for no key but a person's.
me                    0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
listSessions          0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
endSession            0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
listPersonalKeys      0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
createPersonalKey     0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
revokePersonalKey     0 | - - - - - - - - | - - - - | - - - | + + + + | + + + + + | + + + + + | + +
`)

/** The words of the refusal for a key that lacks the capability: the labels of semantics.md. */
export const NAMED: Readonly<Record<string, readonly string[]>> = {
  listUsers: ['User Management Admin', 'User Metadata Viewer'],
  inviteUser: ['User Management Admin'],
  updateUserAccountType: ['User Management Admin'],
  disableUser: ['User Management Admin'],
  listWorkspaces: ['User Management Admin', 'User Metadata Viewer', 'Workspace Metadata Viewer'],
  createWorkspace: ['User Management Admin'],
  environments: ['Bolt Schedules Admin', 'Bolt Schedules Metadata Viewer', 'Agent Admin', 'Agent Viewer'],
  createEnvironment: ['Bolt Schedules Admin'],
  setSecret: ['Bolt Schedules Admin'],
  listBoltSchedules: ['Bolt Schedules Admin', 'Bolt Schedules Metadata Viewer'],
  listAllScheduleNames: ['Bolt Schedules Admin', 'Bolt Schedules Metadata Viewer'],
  createBoltSchedule: ['Bolt Schedules Admin'],
  boltRunStatus: ['Bolt Schedules Admin', 'Bolt Schedules Metadata Viewer'],
  triggerBoltRun: ['Bolt Schedules Admin'],
  createWebhook: ['Bolt Schedules Admin'],
  createIntegration: ['Bolt Schedules Admin'],
  listDeliveries: ['Bolt Schedules Admin', 'Bolt Schedules Metadata Viewer'],
  dinoaiAgentRun: ['Agent Admin', 'Agent Viewer'],
  listDinoaiAgentSessions: ['Agent Admin', 'Agent Viewer'],
  triggerDinoaiAgentRun: ['Agent Admin'],
  setModelFamily: ['Agent Admin'],
  setAgentPolicy: ['Agent Admin'],
  getAuditLogs: ['Audit Logs viewer'],
  listApiKeys: ['User Management Admin'],
  createApiKey: ['User Management Admin'],
  revokeApiKey: ['User Management Admin'],
}

/** The columns of SWITCHED: whoever is ADMIN of every workspace, while this is switched off. */
export const SWITCHES = [
  'scheduling',
  'agents',
  'scheduling and agents',
  'user_management',
  'workspace_management',
  'audit_logs',
] as const

export type Switch = (typeof SWITCHES)[number]

/** What is not here is turned off by no switch. */
export const SWITCHED = table(`
#                     scheduling
#                     | agents
#                     | | both of them
#                     | | | user_management
#                     | | | | workspace_management
#                     | | | | | audit_logs
listUsers             + + + x + +
inviteUser            + + + x + +
updateUserAccountType + + + x + +
disableUser           + + + x + +
listWorkspaces        + + + + x +
createWorkspace       + + + + x +
renameWorkspace       + + + + x +
archiveWorkspace      + + + + x +
environments          + + x + + +
createEnvironment     + + x + + +
updateEnvironment     + + x + + +
archiveEnvironment    + + x + + +
setVariable           + + x + + +
deleteVariable        + + x + + +
setSecret             + + x + + +
deleteSecret          + + x + + +
listBoltSchedules     x + x + + +
boltScheduleName      x + x + + +
boltSchedule          x + x + + +
nextFireTimes         x + x + + +
listAllScheduleNames  x + x + + +
createBoltSchedule    x + x + + +
updateBoltSchedule    x + x + + +
createScheduleSlugs   x + x + + +
deleteBoltSchedule    x + x + + +
suspendBoltSchedule   x + x + + +
boltScheduleFiles     x + x + + +
syncBoltScheduleFiles x + x + + +
listBoltRuns          x + x + + +
boltRunStatus         x + x + + +
boltCommand           x + x + + +
boltCommandLogs       x + x + + +
boltResourceUrl       x + x + + +
boltRun               x + x + + +
boltRunPage           x + x + + +
searchCommandLog      x + x + + +
commandLogUrl         x + x + + +
boltRunState          x + x + + +
boltCommandLog        x + x + + +
triggerBoltRun        x + x + + +
cancelBoltRun         x + x + + +
retryBoltRunFromFailure x + x + + +
retryBoltRun          x + x + + +
retryAllBoltRun       x + x + + +
cancelBoltRuns        x + x + + +
retryBoltRuns         x + x + + +
listWebhooks          x + x + + +
createWebhook         x + x + + +
updateWebhook         x + x + + +
deleteWebhook         x + x + + +
rotateWebhookSecret   x + x + + +
testWebhook           x + x + + +
listIntegrations      x + x + + +
createIntegration     x + x + + +
updateIntegration     x + x + + +
removeIntegration     x + x + + +
testIntegration       x + x + + +
testMail              x + x + + +
listMessageTemplates  x + x + + +
createMessageTemplate x + x + + +
updateMessageTemplate x + x + + +
deleteMessageTemplate x + x + + +
listDeliveries        x + x + + +
delivery              x + x + + +
sendDeliveryAgain     x + x + + +
listPullRequests      x + x + + +
allowPullRequest      x + x + + +
dinoaiAgentRun        + x x + + +
listDinoaiAgents      + x x + + +
listDinoaiAgentSessions + x x + + +
dinoaiAgentToolOutput + x x + + +
dinoaiAgentRunState   + x x + + +
listHealingRequests   + x x + + +
listModelFamilies     + x x + + +
agentPolicy           + x x + + +
triggerDinoaiAgentRun + x x + + +
sendDinoaiAgentMessage + x x + + +
stopDinoaiAgentRun    + x x + + +
setModelFamily        + x x + + +
removeModelFamily     + x x + + +
testModelFamily       + x x + + +
setAgentPolicy        + x x + + +
listMcpServers        + x x + + +
setMcpServer          + x x + + +
removeMcpServer       + x x + + +
getAuditLogs          + + + + + x
`)

/** A row is a name and its cells; `|` only groups them, and `#` begins a comment. */
function table(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = new Map<string, readonly string[]>()
  for (const line of text.split('\n')) {
    const [name, ...cells] = line.split(/[ |]+/)
    if (name === undefined || name === '' || name === '#') continue
    if (rows.has(name)) throw new Error(`${name} has two rows`)
    rows.set(name, cells)
  }
  return rows
}
