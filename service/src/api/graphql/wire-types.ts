// Generated from contract/*/*.graphql, do not edit: npm run generate
export type Maybe<T> = T | null;
export type InputMaybe<T> = T | null | undefined;
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /** The form is `YYYY-MM-DD HH:MM:SS.ffffff`, UTC, always six digits of fraction. */
  Timestamp: { input: string; output: string; }
  /** A JSON object; a string to keys issued for existing clients. */
  JSON: { input: unknown; output: Record<string, unknown> | string; }
};

export type AuditLog = {
  id: Scalars['Int']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  updatedDttm: Scalars['Timestamp']['output'];
  workspaceId: Scalars['Int']['output'];
  workspaceName: Scalars['String']['output'];
  actorType: Scalars['String']['output'];
  actorUserId: Scalars['Int']['output'];
  actorEmail: Scalars['String']['output'];
  eventSourceId: Scalars['Int']['output'];
  eventSource: Scalars['String']['output'];
  eventId: Scalars['Int']['output'];
  eventType: Scalars['String']['output'];
  metadataJson: Scalars['JSON']['output'];
};

export type AuditLogs = {
  ok: Scalars['Boolean']['output'];
  auditLogs: Array<AuditLog>;
  totalCount: Scalars['Int']['output'];
};

export type Ok = {
  ok: Scalars['Boolean']['output'];
};

export type Query = {
  getAuditLogs: Maybe<AuditLogs>;
  environments: Maybe<Environments>;
  apiKeyIdentity: Maybe<ApiKeyIdentity>;
  listUsers: Maybe<Users>;
  listWorkspaces: Maybe<Workspaces>;
  /** Keys of the account and of the workspaces that the caller may manage. */
  listApiKeys: Maybe<ApiKeys>;
  /** The caller's own keys. */
  listPersonalKeys: Maybe<ApiKeys>;
  me: Maybe<Me>;
  /** The caller's own sessions that are open. */
  listSessions: Maybe<Sessions>;
  /** The switches of the account, and those of the workspaces that the caller may see. */
  features: Maybe<Features>;
};


export type QueryGetAuditLogsArgs = {
  offset?: InputMaybe<Scalars['Int']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
  from?: InputMaybe<Scalars['String']['input']>;
  to?: InputMaybe<Scalars['String']['input']>;
  eventType?: InputMaybe<Scalars['String']['input']>;
  actorEmail?: InputMaybe<Scalars['String']['input']>;
};


export type QueryEnvironmentsArgs = {
  environmentType?: InputMaybe<EnvironmentType>;
};

export type Mutation = {
  inviteUser: Maybe<Ok>;
  updateUserAccountType: Maybe<Ok>;
  disableUser: Maybe<Ok>;
  createEnvironment: Maybe<EnvironmentSaved>;
  /** What is left out or null stays as it is; an empty text clears. */
  updateEnvironment: Maybe<EnvironmentSaved>;
  archiveEnvironment: Maybe<Ok>;
  /** environment: the slug of one; left out: the whole workspace */
  setVariable: Maybe<Ok>;
  deleteVariable: Maybe<Ok>;
  setSecret: Maybe<Ok>;
  deleteSecret: Maybe<Ok>;
  createApiKey: Maybe<CreatedApiKey>;
  revokeApiKey: Maybe<Ok>;
  createPersonalKey: Maybe<CreatedApiKey>;
  revokePersonalKey: Maybe<Ok>;
  /** Ends one of the caller's own sessions. */
  endSession: Maybe<Ok>;
  createWorkspace: Maybe<CreatedWorkspace>;
  /** Renames the selected workspace. */
  renameWorkspace: Maybe<Ok>;
  /** Archives the selected workspace: it takes no request any more, its history stays. */
  archiveWorkspace: Maybe<Ok>;
  /** feature: scheduling, user_management, workspace_management or audit_logs */
  setAccountFeature: Maybe<Ok>;
  /** feature: agents */
  setWorkspaceFeature: Maybe<Ok>;
};


export type MutationInviteUserArgs = {
  email: Scalars['String']['input'];
  accountType: UserAccountType;
};


export type MutationUpdateUserAccountTypeArgs = {
  uid: Scalars['String']['input'];
  accountType: UserAccountType;
};


export type MutationDisableUserArgs = {
  uid: Scalars['String']['input'];
};


export type MutationCreateEnvironmentArgs = {
  environment: EnvironmentInput;
};


export type MutationUpdateEnvironmentArgs = {
  slug: Scalars['String']['input'];
  environment: EnvironmentInput;
};


export type MutationArchiveEnvironmentArgs = {
  slug: Scalars['String']['input'];
};


export type MutationSetVariableArgs = {
  environment?: InputMaybe<Scalars['String']['input']>;
  name: Scalars['String']['input'];
  value: Scalars['String']['input'];
};


export type MutationDeleteVariableArgs = {
  environment?: InputMaybe<Scalars['String']['input']>;
  name: Scalars['String']['input'];
};


export type MutationSetSecretArgs = {
  environment?: InputMaybe<Scalars['String']['input']>;
  kind: SecretKind;
  name: Scalars['String']['input'];
  value: Scalars['String']['input'];
};


export type MutationDeleteSecretArgs = {
  environment?: InputMaybe<Scalars['String']['input']>;
  kind: SecretKind;
  name: Scalars['String']['input'];
};


export type MutationCreateApiKeyArgs = {
  key: ApiKeyInput;
};


export type MutationRevokeApiKeyArgs = {
  id: Scalars['Int']['input'];
};


export type MutationCreatePersonalKeyArgs = {
  key: PersonalKeyInput;
};


export type MutationRevokePersonalKeyArgs = {
  id: Scalars['Int']['input'];
};


export type MutationEndSessionArgs = {
  id: Scalars['Int']['input'];
};


export type MutationCreateWorkspaceArgs = {
  name: Scalars['String']['input'];
};


export type MutationRenameWorkspaceArgs = {
  name: Scalars['String']['input'];
};


export type MutationSetAccountFeatureArgs = {
  feature: Scalars['String']['input'];
  enabled: Scalars['Boolean']['input'];
};


export type MutationSetWorkspaceFeatureArgs = {
  feature: Scalars['String']['input'];
  enabled: Scalars['Boolean']['input'];
};

export type EnvironmentType =
  | 'SCHEDULER'
  | 'AGENT';

export type Environment = {
  slug: Scalars['String']['output'];
  displayName: Scalars['String']['output'];
  isDefault: Scalars['Boolean']['output'];
  type: EnvironmentType;
  repositoryUrl: Scalars['String']['output'];
  defaultBranch: Scalars['String']['output'];
  /** The branch from which schedules' files are read; null is the default branch. */
  deploymentBranch: Maybe<Scalars['String']['output']>;
  /** The command that installs dependencies; null finds out by what the checkout holds. */
  installStep: Maybe<Scalars['String']['output']>;
  pythonPackages: Array<Scalars['String']['output']>;
  /** Patterns of files that are never collected; null is the service's own list. */
  excludedFiles: Maybe<Array<Scalars['String']['output']>>;
  variables: Array<Variable>;
  secrets: Array<SecretName>;
};

export type Environments = {
  ok: Scalars['Boolean']['output'];
  environments: Array<Environment>;
  /** Variables of the workspace, under those of each environment. */
  variables: Array<Variable>;
  /** Names of the workspace's secrets. */
  secrets: Array<SecretName>;
};

export type ApiKeyIdentity = {
  isValid: Scalars['Boolean']['output'];
  capabilities: Array<Scalars['String']['output']>;
};

export type UserAccountType =
  | 'ADMIN'
  | 'DEVELOPER'
  | 'BUSINESS'
  | 'ANALYST'
  | 'WORKSPACE_ADMIN'
  | 'WORKSPACE_SETTINGS_ADMIN'
  | 'SECURITY_ADMIN'
  | 'BILLING_ADMIN'
  | 'SANDBOX_USER';

export type InviteStatus =
  | 'ACTIVE'
  | 'EXPIRED';

export type ActiveUser = {
  uid: Scalars['String']['output'];
  email: Scalars['String']['output'];
  name: Scalars['String']['output'];
  accountType: UserAccountType;
};

export type InvitedUser = {
  email: Scalars['String']['output'];
  accountType: UserAccountType;
  inviteStatus: InviteStatus;
};

export type Users = {
  ok: Scalars['Boolean']['output'];
  activeUsers: Array<ActiveUser>;
  invitedUsers: Array<InvitedUser>;
};

export type Workspace = {
  name: Scalars['String']['output'];
  uid: Scalars['String']['output'];
};

export type Workspaces = {
  ok: Scalars['Boolean']['output'];
  workspaces: Array<Workspace>;
};

export type SecretKind =
  /** a variable whose value is secret */
  | 'VARIABLE'
  /** a file with a secret content, such as profiles.yml */
  | 'FILE'
  /** what the repository's host asks for: `token`, `username` or `ssh_key` */
  | 'CREDENTIAL';

export type Variable = {
  name: Scalars['String']['output'];
  value: Scalars['String']['output'];
};

export type SecretName = {
  kind: SecretKind;
  name: Scalars['String']['output'];
  updatedDttm: Scalars['Timestamp']['output'];
};

export type EnvironmentInput = {
  displayName?: InputMaybe<Scalars['String']['input']>;
  type?: InputMaybe<EnvironmentType>;
  isDefault?: InputMaybe<Scalars['Boolean']['input']>;
  /** Credentials in the address are taken out of it and kept as secrets. */
  repositoryUrl?: InputMaybe<Scalars['String']['input']>;
  defaultBranch?: InputMaybe<Scalars['String']['input']>;
  deploymentBranch?: InputMaybe<Scalars['String']['input']>;
  installStep?: InputMaybe<Scalars['String']['input']>;
  pythonPackages?: InputMaybe<Array<Scalars['String']['input']>>;
  excludedFiles?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type EnvironmentSaved = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
};

export type ApiKeyKind =
  | 'ACCOUNT'
  | 'WORKSPACE'
  | 'PAIR'
  | 'PERSONAL';

export type ApiKey = {
  id: Scalars['Int']['output'];
  name: Scalars['String']['output'];
  kind: ApiKeyKind;
  /** The existing client that the key was issued for; empty for every other key. */
  client: Scalars['String']['output'];
  /** Empty for a key that is not bound to a workspace. */
  workspaceUid: Scalars['String']['output'];
  /** Capabilities by their names, such as users:read. */
  capabilities: Array<Scalars['String']['output']>;
  /** The first characters of the key, to tell one from another. */
  start: Scalars['String']['output'];
  createdByEmail: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  expiresDttm: Maybe<Scalars['Timestamp']['output']>;
  lastUsedDttm: Maybe<Scalars['Timestamp']['output']>;
  revokedDttm: Maybe<Scalars['Timestamp']['output']>;
};

export type ApiKeys = {
  ok: Scalars['Boolean']['output'];
  keys: Array<ApiKey>;
};

export type CreatedApiKey = {
  ok: Scalars['Boolean']['output'];
  id: Scalars['Int']['output'];
  /** Shown this once. */
  key: Scalars['String']['output'];
  /** The second half of a key pair, shown this once; empty for the other kinds. */
  secret: Scalars['String']['output'];
};

export type ApiKeyInput = {
  name: Scalars['String']['input'];
  /** ACCOUNT, WORKSPACE or PAIR */
  kind: ApiKeyKind;
  /** Needed for WORKSPACE and PAIR. */
  workspaceUid?: InputMaybe<Scalars['String']['input']>;
  /** Names such as users:read; left out: all that the caller may give. */
  capabilities?: InputMaybe<Array<Scalars['String']['input']>>;
  /** paradime, for an existing client of the interface */
  client?: InputMaybe<Scalars['String']['input']>;
  expiresDays?: InputMaybe<Scalars['Int']['input']>;
};

export type PersonalKeyInput = {
  name: Scalars['String']['input'];
  capabilities?: InputMaybe<Array<Scalars['String']['input']>>;
  expiresDays?: InputMaybe<Scalars['Int']['input']>;
};

export type Me = {
  ok: Scalars['Boolean']['output'];
  uid: Scalars['String']['output'];
  email: Scalars['String']['output'];
  name: Scalars['String']['output'];
  workspaces: Array<MyWorkspace>;
};

export type MyWorkspace = {
  uid: Scalars['String']['output'];
  name: Scalars['String']['output'];
  accountType: UserAccountType;
  capabilities: Array<Scalars['String']['output']>;
};

export type Session = {
  id: Scalars['Int']['output'];
  current: Scalars['Boolean']['output'];
  address: Scalars['String']['output'];
  userAgent: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  lastSeenDttm: Scalars['Timestamp']['output'];
  expiresDttm: Scalars['Timestamp']['output'];
};

export type Sessions = {
  ok: Scalars['Boolean']['output'];
  sessions: Array<Session>;
};

export type AccountFeatures = {
  scheduling: Scalars['Boolean']['output'];
  userManagement: Scalars['Boolean']['output'];
  workspaceManagement: Scalars['Boolean']['output'];
  auditLogs: Scalars['Boolean']['output'];
};

export type WorkspaceFeatures = {
  workspaceUid: Scalars['String']['output'];
  agents: Scalars['Boolean']['output'];
};

export type Features = {
  ok: Scalars['Boolean']['output'];
  account: AccountFeatures;
  workspaces: Array<WorkspaceFeatures>;
};

export type CreatedWorkspace = {
  ok: Scalars['Boolean']['output'];
  workspace: Workspace;
};
