// One request for each served operation, made so that whoever gets in changes nothing: the operation itself says no.
export interface Probe {
  readonly document: string
  /** What whoever gets in is told: a code, or nothing. */
  readonly answer: 'NOT_FOUND' | 'INVALID_INPUT' | ''
}

const probe = (document: string, answer: Probe['answer'] = ''): Probe => ({ document, answer })

const NOBODY = '0000000000000000'

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
