// One request for each served operation, made so that whoever gets in changes nothing: the operation itself says no.
export interface Probe {
  readonly document: string
  /** What whoever gets in is told: a code, or nothing. */
  readonly answer: 'NOT_FOUND' | 'INVALID_INPUT' | ''
}

const probe = (document: string, answer: Probe['answer'] = ''): Probe => ({ document, answer })

const NOBODY = '0000000000000000'
const NO_DELIVERY = '00000000-0000-0000-0000-000000000000'

export const PROBES: Readonly<Record<string, Probe>> = {
  __typename: probe('{ __typename }'),
  __schema: probe('{ __schema { queryType { name } } }'),
  __type: probe('{ __type(name: "Ok") { name } }'),

  apiKeyIdentity: probe('{ apiKeyIdentity { isValid capabilities } }'),

  listUsers: probe('{ listUsers { ok } }'),
  inviteUser: probe('mutation { inviteUser(email: "no address", accountType: ANALYST) { ok } }', 'INVALID_INPUT'),
  updateUserAccountType: probe(
    `mutation { updateUserAccountType(uid: "${NOBODY}", accountType: ANALYST) { ok } }`,
    'NOT_FOUND',
  ),
  disableUser: probe(`mutation { disableUser(uid: "${NOBODY}") { ok } }`, 'NOT_FOUND'),

  listWorkspaces: probe('{ listWorkspaces { ok } }'),
  createWorkspace: probe('mutation { createWorkspace(name: "") { ok } }', 'INVALID_INPUT'),
  renameWorkspace: probe('mutation { renameWorkspace(name: "") { ok } }', 'INVALID_INPUT'),
  // Has no argument that could be wrong: the test takes it back.
  archiveWorkspace: probe('mutation { archiveWorkspace { ok } }'),
  features: probe('{ features { ok } }'),
  setAccountFeature: probe('mutation { setAccountFeature(feature: "none", enabled: true) { ok } }', 'INVALID_INPUT'),
  setWorkspaceFeature: probe(
    'mutation { setWorkspaceFeature(feature: "none", enabled: true) { ok } }',
    'INVALID_INPUT',
  ),

  environments: probe('{ environments { ok } }'),
  createEnvironment: probe('mutation { createEnvironment(environment: {}) { ok } }', 'INVALID_INPUT'),
  updateEnvironment: probe('mutation { updateEnvironment(slug: "none", environment: {}) { ok } }', 'NOT_FOUND'),
  archiveEnvironment: probe('mutation { archiveEnvironment(slug: "none") { ok } }', 'NOT_FOUND'),
  setVariable: probe('mutation { setVariable(name: "1", value: "") { ok } }', 'INVALID_INPUT'),
  deleteVariable: probe('mutation { deleteVariable(name: "NONE") { ok } }', 'NOT_FOUND'),
  setSecret: probe('mutation { setSecret(kind: VARIABLE, name: "1", value: "long enough") { ok } }', 'INVALID_INPUT'),
  deleteSecret: probe('mutation { deleteSecret(kind: VARIABLE, name: "NONE") { ok } }', 'NOT_FOUND'),

  listBoltSchedules: probe('{ listBoltSchedules(offset: 0, limit: 1, showInactive: false) { totalCount } }'),
  boltScheduleName: probe('{ boltScheduleName(slug: "none") { ok } }', 'NOT_FOUND'),
  boltSchedule: probe('{ boltSchedule(slug: "none") { ok } }', 'NOT_FOUND'),
  nextFireTimes: probe('{ nextFireTimes(schedule: "@daily") { ok } }'),
  listAllScheduleNames: probe('{ listAllScheduleNames { ok } }'),
  createBoltSchedule: probe(
    'mutation { createBoltSchedule(schedule: { name: "", schedule: "OFF", environment: "none", commands: [] }) { ok } }',
    'INVALID_INPUT',
  ),
  updateBoltSchedule: probe('mutation { updateBoltSchedule(slug: "none", schedule: {}) { ok } }', 'NOT_FOUND'),
  createScheduleSlugs: probe('mutation { createScheduleSlugs(displayNames: ["one"]) { ok } }'),
  deleteBoltSchedule: probe('mutation { deleteBoltSchedule(slug: "none") { ok } }', 'NOT_FOUND'),
  suspendBoltSchedule: probe('mutation { suspendBoltSchedule(slug: "none") { ok } }', 'NOT_FOUND'),
  boltScheduleFiles: probe('{ boltScheduleFiles { ok } }'),
  // The workspace has no repository.
  syncBoltScheduleFiles: probe('mutation { syncBoltScheduleFiles { ok } }', 'NOT_FOUND'),

  listBoltRuns: probe('{ listBoltRuns(offset: 0, limit: 1) { ok } }'),
  boltRunStatus: probe('{ boltRunStatus(runId: 2147483647) { ok } }', 'NOT_FOUND'),
  boltCommand: probe('{ boltCommand(commandId: 2147483647) { ok } }', 'NOT_FOUND'),
  boltCommandLogs: probe('{ boltCommandLogs(commandId: 2147483647) { finished } }', 'NOT_FOUND'),
  boltResourceUrl: probe('{ boltResourceUrl(resourceId: 2147483647) { ok } }', 'NOT_FOUND'),
  boltRun: probe('{ boltRun(runId: 2147483647) { ok } }', 'NOT_FOUND'),
  boltRunPage: probe('{ boltRunPage(limit: 1) { ok } }'),
  searchCommandLog: probe('{ searchCommandLog(commandId: 2147483647, text: "x") { ok } }', 'NOT_FOUND'),
  commandLogUrl: probe('{ commandLogUrl(commandId: 2147483647, stream: STDOUT) { ok } }', 'NOT_FOUND'),
  boltRunState: probe('subscription { boltRunState(runId: 2147483647) { run { id } } }', 'NOT_FOUND'),
  boltCommandLog: probe('subscription { boltCommandLog(commandId: 2147483647) { finished } }', 'NOT_FOUND'),
  triggerBoltRun: probe('mutation { triggerBoltRun(slug: "none") { ok } }', 'NOT_FOUND'),
  cancelBoltRun: probe('mutation { cancelBoltRun(scheduleRunId: 2147483647) { ok } }', 'NOT_FOUND'),
  retryBoltRunFromFailure: probe('mutation { retryBoltRunFromFailure(slug: "none") { ok } }', 'NOT_FOUND'),
  retryBoltRun: probe('mutation { retryBoltRun(scheduleRunId: 2147483647) { ok } }', 'NOT_FOUND'),
  retryAllBoltRun: probe('mutation { retryAllBoltRun(scheduleRunId: 2147483647) { ok } }', 'NOT_FOUND'),
  // Each run is answered for itself: one that is not there is no refusal of the whole.
  cancelBoltRuns: probe('mutation { cancelBoltRuns(scheduleRunIds: [2147483647]) { ok } }'),
  retryBoltRuns: probe('mutation { retryBoltRuns(scheduleRunIds: [2147483647]) { ok } }'),

  listWebhooks: probe('{ listWebhooks { ok } }'),
  createWebhook: probe('mutation { createWebhook(webhook: {}) { ok } }', 'INVALID_INPUT'),
  updateWebhook: probe('mutation { updateWebhook(id: 2147483647, webhook: {}) { ok } }', 'NOT_FOUND'),
  deleteWebhook: probe('mutation { deleteWebhook(id: 2147483647) { ok } }', 'NOT_FOUND'),
  rotateWebhookSecret: probe('mutation { rotateWebhookSecret(id: 2147483647) { ok } }', 'NOT_FOUND'),
  testWebhook: probe('mutation { testWebhook(id: 2147483647) { ok } }', 'NOT_FOUND'),
  listIntegrations: probe('{ listIntegrations { ok } }'),
  createIntegration: probe('mutation { createIntegration(kind: SLACK) { ok } }', 'INVALID_INPUT'),
  updateIntegration: probe('mutation { updateIntegration(id: 2147483647) { ok } }', 'NOT_FOUND'),
  removeIntegration: probe('mutation { removeIntegration(id: 2147483647) { ok } }', 'NOT_FOUND'),
  testIntegration: probe('mutation { testIntegration(id: 2147483647) { ok } }', 'NOT_FOUND'),
  testMail: probe('mutation { testMail(address: "no address") { ok } }', 'INVALID_INPUT'),
  listMessageTemplates: probe('{ listMessageTemplates { ok } }'),
  createMessageTemplate: probe(
    'mutation { createMessageTemplate(channel: SLACK, name: "x", text: "{{no}}") { ok } }',
    'INVALID_INPUT',
  ),
  updateMessageTemplate: probe('mutation { updateMessageTemplate(slug: "no-such") { ok } }', 'NOT_FOUND'),
  deleteMessageTemplate: probe('mutation { deleteMessageTemplate(slug: "no-such") { ok } }', 'NOT_FOUND'),
  listDeliveries: probe('{ listDeliveries(limit: 1) { ok } }'),
  delivery: probe(`{ delivery(id: "${NO_DELIVERY}") { ok } }`, 'NOT_FOUND'),
  sendDeliveryAgain: probe(`mutation { sendDeliveryAgain(id: "${NO_DELIVERY}") { ok } }`, 'NOT_FOUND'),
  listPullRequests: probe('{ listPullRequests { ok } }'),
  allowPullRequest: probe(
    `mutation { allowPullRequest(id: 2000000000, commit: "${'a'.repeat(40)}") { ok } }`,
    'NOT_FOUND',
  ),

  dinoaiAgentRun: probe(`{ dinoaiAgentRun(agentSessionId: "${NOBODY}") { ok } }`, 'NOT_FOUND'),
  // The workspace has no repository: it is said in the answer.
  listDinoaiAgents: probe('{ listDinoaiAgents { ok } }'),
  listDinoaiAgentSessions: probe('{ listDinoaiAgentSessions(limit: 1) { ok } }'),
  dinoaiAgentToolOutput: probe(
    `{ dinoaiAgentToolOutput(agentSessionId: "${NOBODY}", call: "c1") { ok } }`,
    'NOT_FOUND',
  ),
  dinoaiAgentRunState: probe(
    `subscription { dinoaiAgentRunState(agentSessionId: "${NOBODY}") { status } }`,
    'NOT_FOUND',
  ),
  triggerDinoaiAgentRun: probe('mutation { triggerDinoaiAgentRun { ok } }', 'INVALID_INPUT'),
  sendDinoaiAgentMessage: probe(
    `mutation { sendDinoaiAgentMessage(agentSessionId: "${NOBODY}", message: "x") { ok } }`,
    'NOT_FOUND',
  ),
  stopDinoaiAgentRun: probe(`mutation { stopDinoaiAgentRun(agentSessionId: "${NOBODY}") { ok } }`, 'NOT_FOUND'),
  listHealingRequests: probe('{ listHealingRequests(limit: 1) { ok } }'),
  listModelFamilies: probe('{ listModelFamilies { ok } }'),
  setModelFamily: probe('mutation { setModelFamily(name: "") { ok } }', 'INVALID_INPUT'),
  removeModelFamily: probe('mutation { removeModelFamily(name: "none") { ok } }', 'NOT_FOUND'),
  testModelFamily: probe('mutation { testModelFamily(name: "none") { ok } }', 'NOT_FOUND'),
  agentPolicy: probe('{ agentPolicy { ok } }'),
  setAgentPolicy: probe('mutation { setAgentPolicy(policy: { maxSteps: -1 }) { ok } }', 'INVALID_INPUT'),
  listMcpServers: probe('{ listMcpServers { ok } }'),
  setMcpServer: probe('mutation { setMcpServer(name: "") { ok } }', 'INVALID_INPUT'),
  removeMcpServer: probe('mutation { removeMcpServer(name: "none") { ok } }', 'NOT_FOUND'),

  getAuditLogs: probe('{ getAuditLogs(limit: 1) { ok } }'),

  listApiKeys: probe('{ listApiKeys { ok } }'),
  createApiKey: probe('mutation { createApiKey(key: { name: "", kind: PERSONAL }) { ok } }', 'INVALID_INPUT'),
  revokeApiKey: probe('mutation { revokeApiKey(id: 2147483647) { ok } }', 'NOT_FOUND'),

  me: probe('{ me { ok } }'),
  listSessions: probe('{ listSessions { ok } }'),
  endSession: probe('mutation { endSession(id: 2147483647) { ok } }', 'NOT_FOUND'),
  listPersonalKeys: probe('{ listPersonalKeys { ok } }'),
  createPersonalKey: probe('mutation { createPersonalKey(key: { name: "" }) { ok } }', 'INVALID_INPUT'),
  revokePersonalKey: probe('mutation { revokePersonalKey(id: 2147483647) { ok } }', 'NOT_FOUND'),
}
