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

export type DinoAiAgentRunStatus =
  | 'QUEUED'
  | 'RUNNING'
  | 'COMPLETED'
  | 'FAILED'
  | 'EXPIRED'
  | 'STOPPED';

export type DinoAiAgentMessage = {
  /** Unix epoch seconds with fraction; unique within the session and the same on every read */
  ts: Scalars['Float']['output'];
  role: Scalars['String']['output'];
  content: Scalars['String']['output'];
};

export type DinoAiAgentRun = {
  ok: Scalars['Boolean']['output'];
  agentSessionId: Scalars['String']['output'];
  status: DinoAiAgentRunStatus;
  messages: Array<DinoAiAgentMessage>;
  childSessionIds: Array<Scalars['String']['output']>;
  workspaceUid: Scalars['String']['output'];
  agent: Scalars['String']['output'];
  /** The model family that answers. */
  model: Scalars['String']['output'];
  /** Why it is as it is; empty where nothing needs to be said. */
  reason: Scalars['String']['output'];
  turn: Scalars['Int']['output'];
  /** Who started it: an e-mail address, the name of a key, or of the service's own work. */
  startedBy: Scalars['String']['output'];
  parentSessionId: Maybe<Scalars['String']['output']>;
  rootSessionId: Scalars['String']['output'];
  baseBranch: Scalars['String']['output'];
  /** Empty until there is a checkout. */
  baseCommit: Scalars['String']['output'];
  /** The commit that the agent's file was read at; empty for a built-in agent. */
  definitionCommit: Scalars['String']['output'];
  /** Its own one, which the repository has once the agent has pushed it; empty until there is a checkout. */
  branch: Scalars['String']['output'];
  /** Its address; empty when there is none. */
  pullRequest: Scalars['String']['output'];
  slackChannel: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  /** Of the present turn. */
  startDttm: Maybe<Scalars['Timestamp']['output']>;
  endDttm: Maybe<Scalars['Timestamp']['output']>;
  usage: DinoAiAgentUsage;
  /** What was done before the first model call: definition, model, checkout, sandbox. */
  startupSteps: Array<DinoAiAgentStep>;
  /** In order. after: only what changed since that `seq`. maxChars: how much of each input and output, 1 to 100,000; 2,000 unless given. */
  steps: Array<DinoAiAgentStep>;
};


export type DinoAiAgentRunStepsArgs = {
  after?: InputMaybe<Scalars['Int']['input']>;
  includeToolIo?: InputMaybe<Scalars['Boolean']['input']>;
  maxChars?: InputMaybe<Scalars['Int']['input']>;
};

export type DinoAiAgentSlackInput = {
  channel: Scalars['String']['input'];
  threadTs: Scalars['String']['input'];
};

export type DinoAiAgentTriggered = {
  ok: Scalars['Boolean']['output'];
  agentSessionId: Scalars['String']['output'];
  /** always queued */
  status: Scalars['String']['output'];
  /** set when something asked for was replaced by a default, such as an unknown model family */
  warning: Maybe<Scalars['String']['output']>;
};

export type DinoAiAgentStopped = {
  ok: Scalars['Boolean']['output'];
  status: Scalars['String']['output'];
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
  dinoaiAgentRun: Maybe<DinoAiAgentRun>;
  getAuditLogs: Maybe<AuditLogs>;
  environments: Maybe<Environments>;
  apiKeyIdentity: Maybe<ApiKeyIdentity>;
  listBoltRuns: Maybe<BoltRuns>;
  boltRunStatus: Maybe<BoltRunStatus>;
  boltCommand: Maybe<BoltCommand>;
  boltCommandLogs: Maybe<BoltCommandLogs>;
  boltResourceUrl: Maybe<BoltResourceUrl>;
  listBoltSchedules: Maybe<BoltSchedules>;
  listAllScheduleNames: Maybe<AllScheduleNames>;
  boltScheduleName: Maybe<BoltScheduleSummary>;
  listUsers: Maybe<Users>;
  listWorkspaces: Maybe<Workspaces>;
  listModelFamilies: Maybe<ModelFamilies>;
  agentPolicy: Maybe<AgentPolicy>;
  listMcpServers: Maybe<McpServers>;
  /** Every agent of the default agent environment's repository, and the built-in ones, with what is wrong with each. */
  listDinoaiAgents: Maybe<DinoAiAgentDefinitions>;
  /** Newest first; limit 1 to 1,000, 100 unless given. */
  listDinoaiAgentSessions: Maybe<DinoAiAgentSessions>;
  /** The whole result of a call, where the step shows only a part. */
  dinoaiAgentToolOutput: Maybe<DinoAiAgentToolOutput>;
  /** Failed runs that were handed to an agent, newest first; limit 1 to 1,000, 100 unless given. */
  listHealingRequests: Maybe<HealingRequests>;
  /** Newest first; limit 1 to 1,000, 100 unless given. */
  listDeliveries: Maybe<Deliveries>;
  delivery: Maybe<DeliveryDetail>;
  listIntegrations: Maybe<Integrations>;
  /** Keys of the account and of the workspaces that the caller may manage. */
  listApiKeys: Maybe<ApiKeys>;
  /** The caller's own keys. */
  listPersonalKeys: Maybe<ApiKeys>;
  /** Lines that hold the text as it is written, stdout first. limit: 1 to 1,000, 100 when left out. */
  searchCommandLog: Maybe<BoltLogMatches>;
  commandLogUrl: Maybe<CommandLogUrl>;
  listMessageTemplates: Maybe<MessageTemplates>;
  me: Maybe<Me>;
  /** The caller's own sessions that are open. */
  listSessions: Maybe<Sessions>;
  /** The latest 200, latest first. */
  listPullRequests: Maybe<PullRequests>;
  boltRun: Maybe<BoltRunDetail>;
  /** Newest first, by key: `after` is the id of the last run of the page before. limit: 1 to 1,000, 100 when left out. */
  boltRunPage: Maybe<BoltRunPage>;
  /** How the files that hold schedules were found at the last look. */
  boltScheduleFiles: Maybe<BoltScheduleFiles>;
  /** One schedule, an inactive one too. */
  boltSchedule: Maybe<BoltScheduleDetail>;
  /** For any cron and zone, saved or not. count: 1 to 20, 5 when left out. */
  nextFireTimes: Maybe<NextFireTimes>;
  listWebhooks: Maybe<Webhooks>;
  /** The switches of the account, and those of the workspaces that the caller may see. */
  features: Maybe<Features>;
};


export type QueryDinoaiAgentRunArgs = {
  agentSessionId: Scalars['String']['input'];
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


export type QueryListBoltRunsArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
  offset: Scalars['Int']['input'];
  limit: Scalars['Int']['input'];
};


export type QueryBoltRunStatusArgs = {
  runId: Scalars['Int']['input'];
};


export type QueryBoltCommandArgs = {
  commandId: Scalars['Int']['input'];
};


export type QueryBoltCommandLogsArgs = {
  commandId: Scalars['Int']['input'];
  cursor?: InputMaybe<Scalars['String']['input']>;
};


export type QueryBoltResourceUrlArgs = {
  resourceId: Scalars['Int']['input'];
};


export type QueryListBoltSchedulesArgs = {
  offset: Scalars['Int']['input'];
  limit: Scalars['Int']['input'];
  showInactive: Scalars['Boolean']['input'];
  filter?: InputMaybe<BoltScheduleFilter>;
};


export type QueryBoltScheduleNameArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
};


export type QueryListDinoaiAgentSessionsArgs = {
  filter?: InputMaybe<DinoAiAgentSessionFilter>;
  offset?: InputMaybe<Scalars['Int']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryDinoaiAgentToolOutputArgs = {
  agentSessionId: Scalars['String']['input'];
  call: Scalars['String']['input'];
};


export type QueryListHealingRequestsArgs = {
  state?: InputMaybe<HealingState>;
  offset?: InputMaybe<Scalars['Int']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryListDeliveriesArgs = {
  filter?: InputMaybe<DeliveryFilter>;
  offset?: InputMaybe<Scalars['Int']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryDeliveryArgs = {
  id: Scalars['String']['input'];
};


export type QuerySearchCommandLogArgs = {
  commandId: Scalars['Int']['input'];
  text: Scalars['String']['input'];
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryCommandLogUrlArgs = {
  commandId: Scalars['Int']['input'];
  stream: BoltLogStream;
};


export type QueryBoltRunArgs = {
  runId: Scalars['Int']['input'];
};


export type QueryBoltRunPageArgs = {
  filter?: InputMaybe<BoltRunFilter>;
  after?: InputMaybe<Scalars['Int']['input']>;
  limit?: InputMaybe<Scalars['Int']['input']>;
};


export type QueryBoltScheduleArgs = {
  slug: Scalars['String']['input'];
};


export type QueryNextFireTimesArgs = {
  schedule: Scalars['String']['input'];
  timezone?: InputMaybe<Scalars['String']['input']>;
  count?: InputMaybe<Scalars['Int']['input']>;
};

export type Mutation = {
  triggerDinoaiAgentRun: Maybe<DinoAiAgentTriggered>;
  sendDinoaiAgentMessage: Maybe<DinoAiAgentTriggered>;
  stopDinoaiAgentRun: Maybe<DinoAiAgentStopped>;
  triggerBoltRun: Maybe<TriggerBoltRun>;
  cancelBoltRun: Maybe<Ok>;
  retryBoltRunFromFailure: Maybe<RetryBoltRun>;
  retryBoltRun: Maybe<RetryBoltRun>;
  retryAllBoltRun: Maybe<RetryBoltRun>;
  createBoltSchedule: Maybe<CreateBoltSchedule>;
  createScheduleSlugs: Maybe<ScheduleSlugs>;
  deleteBoltSchedule: Maybe<Ok>;
  suspendBoltSchedule: Maybe<Ok>;
  inviteUser: Maybe<Ok>;
  updateUserAccountType: Maybe<Ok>;
  disableUser: Maybe<Ok>;
  /** Makes the family, or changes it: what is left out or null stays as it is; a setting with an empty value is taken away. */
  setModelFamily: Maybe<Ok>;
  removeModelFamily: Maybe<Ok>;
  /** Asks the model for one tool call and says what came. */
  testModelFamily: Maybe<ModelFamilyTest>;
  /** What is left out or null stays as it is. */
  setAgentPolicy: Maybe<Ok>;
  /** Adds the server, or changes it: what is left out or null stays as it is. Headers are given all together, and again for another address. */
  setMcpServer: Maybe<Ok>;
  removeMcpServer: Maybe<Ok>;
  /** A new series of tries, at once, under the same id. */
  sendDeliveryAgain: Maybe<Ok>;
  createEnvironment: Maybe<EnvironmentSaved>;
  /** What is left out or null stays as it is; an empty text clears. */
  updateEnvironment: Maybe<EnvironmentSaved>;
  archiveEnvironment: Maybe<Ok>;
  /** environment: the slug of one; left out: the whole workspace */
  setVariable: Maybe<Ok>;
  deleteVariable: Maybe<Ok>;
  setSecret: Maybe<Ok>;
  deleteSecret: Maybe<Ok>;
  createIntegration: Maybe<SavedIntegration>;
  /** What is not given stays as it is; a setting with an empty value is taken away. Another apiUrl needs the secrets again. */
  updateIntegration: Maybe<Ok>;
  /** Its secrets go; deliveries through it stay readable, and those that wait are given up. */
  removeIntegration: Maybe<Ok>;
  /** Slack and Teams get a message that says that it is a test; incident services are only asked who we are. Without an address Slack is asked too. */
  testIntegration: Maybe<QueuedDelivery>;
  /** Sends a mail that says that it is a test. */
  testMail: Maybe<QueuedDelivery>;
  createApiKey: Maybe<CreatedApiKey>;
  revokeApiKey: Maybe<Ok>;
  createPersonalKey: Maybe<CreatedApiKey>;
  revokePersonalKey: Maybe<Ok>;
  /** Without a slug one is made from the name. */
  createMessageTemplate: Maybe<SavedMessageTemplate>;
  /** What is left out or null stays as it is; an empty subject is the built-in one. */
  updateMessageTemplate: Maybe<Ok>;
  /** Schedules that name it send the built-in words from then on. */
  deleteMessageTemplate: Maybe<Ok>;
  /** Ends one of the caller's own sessions. */
  endSession: Maybe<Ok>;
  /** Lets the present commit of a fork run. The commit is said, so that nobody allows what they have not seen. */
  allowPullRequest: Maybe<AllowedPullRequest>;
  /** At most 100 runs at once; each is answered for itself. */
  cancelBoltRuns: Maybe<BoltRunAnswers>;
  /** As retryBoltRun, for at most 100 runs at once; each is answered for itself. */
  retryBoltRuns: Maybe<BoltRunAnswers>;
  /** Looks at the files now, and does not wait for the git host: boltScheduleFiles tells what came of it. */
  syncBoltScheduleFiles: Maybe<SyncBoltScheduleFiles>;
  /** What is left out or null stays as it is; an empty text clears; envVars replaces all variables. */
  updateBoltSchedule: Maybe<UpdateBoltSchedule>;
  createWebhook: Maybe<CreatedWebhook>;
  /** What is not given stays as it is. */
  updateWebhook: Maybe<Ok>;
  /** Its deliveries stay readable; those that wait are given up. */
  deleteWebhook: Maybe<Ok>;
  /** The old secrets sign beside the new one for so many hours, 24 unless given; 0 ends them at once. */
  rotateWebhookSecret: Maybe<RotatedWebhookSecret>;
  /** Sends a body that says that it is a test. */
  testWebhook: Maybe<QueuedDelivery>;
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


export type MutationTriggerDinoaiAgentRunArgs = {
  agent?: InputMaybe<Scalars['String']['input']>;
  message?: InputMaybe<Scalars['String']['input']>;
  slack?: InputMaybe<DinoAiAgentSlackInput>;
  baseBranch?: InputMaybe<Scalars['String']['input']>;
  modelFamily?: InputMaybe<Scalars['String']['input']>;
};


export type MutationSendDinoaiAgentMessageArgs = {
  agentSessionId: Scalars['String']['input'];
  message: Scalars['String']['input'];
};


export type MutationStopDinoaiAgentRunArgs = {
  agentSessionId: Scalars['String']['input'];
};


export type MutationTriggerBoltRunArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
  commands?: InputMaybe<Array<Scalars['String']['input']>>;
  branch?: InputMaybe<Scalars['String']['input']>;
  prNumber?: InputMaybe<Scalars['Int']['input']>;
  reason?: InputMaybe<Scalars['String']['input']>;
  commandConfigs?: InputMaybe<Array<BoltCommandInput>>;
  continueOnError?: InputMaybe<Scalars['Boolean']['input']>;
};


export type MutationCancelBoltRunArgs = {
  scheduleRunId: Scalars['Int']['input'];
};


export type MutationRetryBoltRunFromFailureArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
};


export type MutationRetryBoltRunArgs = {
  scheduleRunId: Scalars['Int']['input'];
};


export type MutationRetryAllBoltRunArgs = {
  scheduleRunId: Scalars['Int']['input'];
};


export type MutationCreateBoltScheduleArgs = {
  schedule: BoltScheduleInput;
};


export type MutationCreateScheduleSlugsArgs = {
  displayNames: Array<Scalars['String']['input']>;
};


export type MutationDeleteBoltScheduleArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
};


export type MutationSuspendBoltScheduleArgs = {
  slug?: InputMaybe<Scalars['String']['input']>;
  scheduleName?: InputMaybe<Scalars['String']['input']>;
  suspend?: InputMaybe<Scalars['Boolean']['input']>;
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


export type MutationSetModelFamilyArgs = {
  name: Scalars['String']['input'];
  provider?: InputMaybe<ModelProvider>;
  model?: InputMaybe<Scalars['String']['input']>;
  isDefault?: InputMaybe<Scalars['Boolean']['input']>;
  settings?: InputMaybe<Array<IntegrationSettingInput>>;
  secrets?: InputMaybe<Array<IntegrationSettingInput>>;
};


export type MutationRemoveModelFamilyArgs = {
  name: Scalars['String']['input'];
};


export type MutationTestModelFamilyArgs = {
  name: Scalars['String']['input'];
};


export type MutationSetAgentPolicyArgs = {
  policy: AgentPolicyInput;
};


export type MutationSetMcpServerArgs = {
  name: Scalars['String']['input'];
  url?: InputMaybe<Scalars['String']['input']>;
  tools?: InputMaybe<Array<Scalars['String']['input']>>;
  allTools?: InputMaybe<Scalars['Boolean']['input']>;
  headers?: InputMaybe<Array<IntegrationSettingInput>>;
};


export type MutationRemoveMcpServerArgs = {
  name: Scalars['String']['input'];
};


export type MutationSendDeliveryAgainArgs = {
  id: Scalars['String']['input'];
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


export type MutationCreateIntegrationArgs = {
  kind: IntegrationKind;
  name?: InputMaybe<Scalars['String']['input']>;
  settings?: InputMaybe<Array<IntegrationSettingInput>>;
  secrets?: InputMaybe<Array<IntegrationSettingInput>>;
};


export type MutationUpdateIntegrationArgs = {
  id: Scalars['Int']['input'];
  settings?: InputMaybe<Array<IntegrationSettingInput>>;
  secrets?: InputMaybe<Array<IntegrationSettingInput>>;
};


export type MutationRemoveIntegrationArgs = {
  id: Scalars['Int']['input'];
};


export type MutationTestIntegrationArgs = {
  id: Scalars['Int']['input'];
  address?: InputMaybe<Scalars['String']['input']>;
};


export type MutationTestMailArgs = {
  address: Scalars['String']['input'];
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


export type MutationCreateMessageTemplateArgs = {
  channel: MessageChannel;
  name: Scalars['String']['input'];
  slug?: InputMaybe<Scalars['String']['input']>;
  subject?: InputMaybe<Scalars['String']['input']>;
  text: Scalars['String']['input'];
};


export type MutationUpdateMessageTemplateArgs = {
  slug: Scalars['String']['input'];
  name?: InputMaybe<Scalars['String']['input']>;
  subject?: InputMaybe<Scalars['String']['input']>;
  text?: InputMaybe<Scalars['String']['input']>;
};


export type MutationDeleteMessageTemplateArgs = {
  slug: Scalars['String']['input'];
};


export type MutationEndSessionArgs = {
  id: Scalars['Int']['input'];
};


export type MutationAllowPullRequestArgs = {
  id: Scalars['Int']['input'];
  commit: Scalars['String']['input'];
};


export type MutationCancelBoltRunsArgs = {
  scheduleRunIds: Array<Scalars['Int']['input']>;
};


export type MutationRetryBoltRunsArgs = {
  scheduleRunIds: Array<Scalars['Int']['input']>;
};


export type MutationUpdateBoltScheduleArgs = {
  slug: Scalars['String']['input'];
  schedule: BoltScheduleChanges;
};


export type MutationCreateWebhookArgs = {
  webhook: WebhookInput;
};


export type MutationUpdateWebhookArgs = {
  id: Scalars['Int']['input'];
  webhook: WebhookInput;
};


export type MutationDeleteWebhookArgs = {
  id: Scalars['Int']['input'];
};


export type MutationRotateWebhookSecretArgs = {
  id: Scalars['Int']['input'];
  overlapHours?: InputMaybe<Scalars['Int']['input']>;
};


export type MutationTestWebhookArgs = {
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
  /** Runs go to workers that have all of these labels. */
  workerLabels: Array<Scalars['String']['output']>;
  /** How long a canceled command may take to end by itself, in all: half of it after SIGINT, then SIGTERM, then it is killed. */
  stopSeconds: Scalars['Int']['output'];
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

export type BoltRun = {
  id: Scalars['Int']['output'];
  state: Scalars['String']['output'];
  actor: Scalars['String']['output'];
  actorEmail: Scalars['String']['output'];
  parentScheduleRunId: Maybe<Scalars['Int']['output']>;
  startDttm: Scalars['Timestamp']['output'];
  endDttm: Maybe<Scalars['Timestamp']['output']>;
  gitInfo: BoltGitInfo;
  reason: Scalars['String']['output'];
  scheduleSlug: Scalars['String']['output'];
  scheduleName: Scalars['String']['output'];
  phase: BoltRunPhase;
  /** Why it was skipped or failed, or waits for a worker that is not there, in a sentence; else empty. */
  detail: Scalars['String']['output'];
  /** From being accepted to being taken by a worker; until then, so far. */
  waitedSeconds: Scalars['Float']['output'];
  /** The run that this one is a retry of. */
  retryOf: Maybe<Scalars['Int']['output']>;
  /** How far its commands are kept apart: L0 in process groups, L1 in namespaces, L2 in containers; empty until a worker has it. */
  isolation: Scalars['String']['output'];
};

export type BoltGitInfo = {
  branch: Scalars['String']['output'];
  commitHash: Scalars['String']['output'];
  pullRequestId: Maybe<Scalars['String']['output']>;
};

export type BoltRuns = {
  ok: Scalars['Boolean']['output'];
  runs: Array<BoltRun>;
};

export type BoltRunStatus = {
  ok: Scalars['Boolean']['output'];
  state: Scalars['String']['output'];
  commands: Array<BoltRunCommand>;
};

export type BoltRunCommand = {
  id: Scalars['Int']['output'];
  command: Scalars['String']['output'];
  /** empty until it starts */
  startDttm: Scalars['String']['output'];
  /** empty until it ends */
  endDttm: Scalars['String']['output'];
  stdout: Scalars['String']['output'];
  stderr: Scalars['String']['output'];
  returnCode: Maybe<Scalars['Int']['output']>;
};

export type BoltCommand = {
  ok: Scalars['Boolean']['output'];
  id: Scalars['Int']['output'];
  command: Scalars['String']['output'];
  startDttm: Scalars['String']['output'];
  endDttm: Scalars['String']['output'];
  stdout: Scalars['String']['output'];
  stderr: Scalars['String']['output'];
  returnCode: Maybe<Scalars['Int']['output']>;
  scheduleRunId: Scalars['Int']['output'];
  resources: Array<BoltResource>;
};

export type BoltResource = {
  id: Scalars['Int']['output'];
  path: Scalars['String']['output'];
};

export type BoltLogStream =
  | 'STDOUT'
  | 'STDERR';

export type BoltLogLine = {
  stream: BoltLogStream;
  line: Scalars['String']['output'];
};

export type BoltCommandLogs = {
  lines: Array<BoltLogLine>;
  cursor: Scalars['String']['output'];
  finished: Scalars['Boolean']['output'];
};

export type BoltResourceUrl = {
  ok: Scalars['Boolean']['output'];
  url: Scalars['String']['output'];
};

export type BoltCommandInput = {
  command: Scalars['String']['input'];
  continueOnError?: InputMaybe<Scalars['Boolean']['input']>;
};

export type TriggerBoltRun = {
  ok: Scalars['Boolean']['output'];
  runId: Scalars['Int']['output'];
};

export type RetryBoltRun = {
  ok: Scalars['Boolean']['output'];
  runId: Scalars['Int']['output'];
};

export type BoltSchedule = {
  id: Scalars['Int']['output'];
  uuid: Scalars['String']['output'];
  slug: Scalars['String']['output'];
  name: Scalars['String']['output'];
  /** A cron expression, or the literal OFF. */
  schedule: Scalars['String']['output'];
  timezone: Scalars['String']['output'];
  description: Scalars['String']['output'];
  environment: Scalars['String']['output'];
  owner: Scalars['String']['output'];
  lastRunAt: Maybe<Scalars['Timestamp']['output']>;
  lastRunState: Maybe<Scalars['String']['output']>;
  nextRunAt: Maybe<Scalars['Timestamp']['output']>;
  /** ui or yaml. What the API creates is ui. */
  source: Scalars['String']['output'];
  suspended: Scalars['Boolean']['output'];
  turboCi: Maybe<BoltDeferredSchedule>;
  deferredSchedule: Maybe<BoltDeferredSchedule>;
  commands: Array<Scalars['String']['output']>;
  gitBranch: Scalars['String']['output'];
  notifications: BoltNotifications;
  /** alias: the events of the first Slack entry; [""] when there is none */
  slackOn: Array<Scalars['String']['output']>;
  /** alias: the channels of the Slack entries; [""] when there is none */
  slackNotify: Array<Scalars['String']['output']>;
  /** alias, the same for e-mail */
  emailOn: Array<Scalars['String']['output']>;
  /** alias, the same for e-mail */
  emailNotify: Array<Scalars['String']['output']>;
  /** False for one that was deleted, or that is gone from its file. */
  active: Scalars['Boolean']['output'];
  /** What is kept although something is odd about it, such as an owner who is no user of the workspace. */
  warnings: Array<Scalars['String']['output']>;
  overlap: BoltOverlap;
  catchUp: BoltCatchUp;
  catchUpWindowSeconds: Scalars['Int']['output'];
  /** How long a run may take; null is the service's own limit. */
  timeLimitSeconds: Maybe<Scalars['Int']['output']>;
  slaSeconds: Maybe<Scalars['Int']['output']>;
  continueOnError: Scalars['Boolean']['output'];
  triggerOnMerge: Scalars['Boolean']['output'];
  labels: Array<Scalars['String']['output']>;
  /** Names of the schedule's variables; their values are never served. */
  envVarNames: Array<Scalars['String']['output']>;
  /** The file that holds it; empty for what the API made. */
  sourceFile: Scalars['String']['output'];
};

export type BoltDeferredSchedule = {
  enabled: Scalars['Boolean']['output'];
  deferredScheduleSlug: Maybe<Scalars['String']['output']>;
  /** alias of deferredScheduleSlug */
  deferredScheduleName: Maybe<Scalars['String']['output']>;
  successfulRunOnly: Scalars['Boolean']['output'];
};

export type BoltNotifications = {
  slackNotifications: Array<BoltNotification>;
  emailNotifications: Array<BoltNotification>;
  msTeamsNotifications: Array<BoltNotification>;
};

export type BoltNotification = {
  channel: Scalars['String']['output'];
  /** failed, passed, sla; lower case */
  events: Array<Scalars['String']['output']>;
  templateSlug: Maybe<Scalars['String']['output']>;
  templateName: Maybe<Scalars['String']['output']>;
};

export type BoltSchedules = {
  schedules: Array<BoltSchedule>;
  totalCount: Scalars['Int']['output'];
};

export type BoltScheduleFilter = {
  suspended?: InputMaybe<Scalars['Boolean']['input']>;
};

export type BoltScheduleNameEntry = {
  name: Scalars['String']['output'];
  slug: Scalars['String']['output'];
  workspaceName: Scalars['String']['output'];
  workspaceUid: Scalars['String']['output'];
};

export type AllScheduleNames = {
  ok: Scalars['Boolean']['output'];
  schedules: Array<BoltScheduleNameEntry>;
};

export type BoltScheduleSummary = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
  name: Scalars['String']['output'];
  latestRunId: Maybe<Scalars['Int']['output']>;
  commands: Array<Scalars['String']['output']>;
  owner: Scalars['String']['output'];
  schedule: Scalars['String']['output'];
  uuid: Scalars['String']['output'];
  source: Scalars['String']['output'];
  suspended: Scalars['Boolean']['output'];
};

export type BoltScheduleInput = {
  name: Scalars['String']['input'];
  schedule: Scalars['String']['input'];
  environment: Scalars['String']['input'];
  commands: Array<Scalars['String']['input']>;
  gitBranch?: InputMaybe<Scalars['String']['input']>;
  description?: InputMaybe<Scalars['String']['input']>;
  timezone?: InputMaybe<Scalars['String']['input']>;
  ownerEmail?: InputMaybe<Scalars['String']['input']>;
  suspended?: InputMaybe<Scalars['Boolean']['input']>;
  slaSeconds?: InputMaybe<Scalars['Int']['input']>;
  triggerOnMerge?: InputMaybe<Scalars['Boolean']['input']>;
  continueOnError?: InputMaybe<Scalars['Boolean']['input']>;
  notifications?: InputMaybe<BoltNotificationsInput>;
  selfHealing?: InputMaybe<BoltSelfHealingInput>;
  envVars?: InputMaybe<Array<BoltEnvVarInput>>;
  integrations?: InputMaybe<BoltIntegrationsInput>;
  turboCi?: InputMaybe<BoltDeferredScheduleInput>;
  deferredSchedule?: InputMaybe<BoltDeferredScheduleInput>;
  scheduleTrigger?: InputMaybe<BoltScheduleTriggerInput>;
  overlap?: InputMaybe<BoltOverlap>;
  catchUp?: InputMaybe<BoltCatchUp>;
  catchUpWindowSeconds?: InputMaybe<Scalars['Int']['input']>;
  timeLimitSeconds?: InputMaybe<Scalars['Int']['input']>;
  labels?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type BoltNotificationsInput = {
  slackNotifications?: InputMaybe<Array<BoltNotificationInput>>;
  emailNotifications?: InputMaybe<Array<BoltNotificationInput>>;
  teamsNotifications?: InputMaybe<Array<BoltNotificationInput>>;
};

export type BoltNotificationInput = {
  channel: Scalars['String']['input'];
  /** any case in, lower case out */
  events: Array<Scalars['String']['input']>;
  templateSlug?: InputMaybe<Scalars['String']['input']>;
};

export type BoltSelfHealingInput = {
  enabled: Scalars['Boolean']['input'];
  slackChannel?: InputMaybe<Scalars['String']['input']>;
  agentName?: InputMaybe<Scalars['String']['input']>;
};

export type BoltEnvVarInput = {
  key: Scalars['String']['input'];
  value: Scalars['String']['input'];
};

export type BoltDeferredScheduleInput = {
  enabled: Scalars['Boolean']['input'];
  successfulRunOnly?: InputMaybe<Scalars['Boolean']['input']>;
  deferredScheduleSlug?: InputMaybe<Scalars['String']['input']>;
  /** alias of deferredScheduleSlug, which wins */
  deferredScheduleName?: InputMaybe<Scalars['String']['input']>;
};

export type BoltScheduleTriggerInput = {
  enabled: Scalars['Boolean']['input'];
  /** name or slug of the parent */
  scheduleName?: InputMaybe<Scalars['String']['input']>;
  workspaceName?: InputMaybe<Scalars['String']['input']>;
  /** subset of failed, passed, sla */
  triggerOn?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type BoltIntegrationsInput = {
  incidentIo?: InputMaybe<Array<BoltIncidentIoInput>>;
  pagerduty?: InputMaybe<Array<BoltPagerDutyInput>>;
  datadog?: InputMaybe<Array<BoltDatadogInput>>;
  newRelic?: InputMaybe<Array<BoltNewRelicInput>>;
};

export type BoltIncidentIoInput = {
  visibility: Scalars['String']['input'];
  statusId?: InputMaybe<Scalars['String']['input']>;
  status?: InputMaybe<Scalars['String']['input']>;
  typeId?: InputMaybe<Scalars['String']['input']>;
  type?: InputMaybe<Scalars['String']['input']>;
  mode?: InputMaybe<Scalars['String']['input']>;
  severityId?: InputMaybe<Scalars['String']['input']>;
  severity?: InputMaybe<Scalars['String']['input']>;
};

export type BoltPagerDutyInput = {
  fromEmail: Scalars['String']['input'];
  serviceId: Scalars['String']['input'];
  serviceName: Scalars['String']['input'];
  incidentTypeDisplayName: Scalars['String']['input'];
  incidentTypeName: Scalars['String']['input'];
  priorityId?: InputMaybe<Scalars['String']['input']>;
  priorityName?: InputMaybe<Scalars['String']['input']>;
  urgency?: InputMaybe<Scalars['String']['input']>;
  escalationPolicyId?: InputMaybe<Scalars['String']['input']>;
  escalationPolicyName?: InputMaybe<Scalars['String']['input']>;
  assigneeIds?: InputMaybe<Array<Scalars['String']['input']>>;
  assigneeNames?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type BoltDatadogInput = {
  severity: Scalars['String']['input'];
  severityName: Scalars['String']['input'];
  customerImpacted: Scalars['Boolean']['input'];
  state?: InputMaybe<Scalars['String']['input']>;
  stateName?: InputMaybe<Scalars['String']['input']>;
  commanderUserId?: InputMaybe<Scalars['String']['input']>;
  commanderUserName?: InputMaybe<Scalars['String']['input']>;
  notificationHandles?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type BoltNewRelicInput = {
  environment: Scalars['String']['input'];
};

export type CreateBoltSchedule = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
  name: Scalars['String']['output'];
};

export type ScheduleSlugs = {
  ok: Scalars['Boolean']['output'];
  slugs: Array<Scalars['String']['output']>;
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

export type ModelProvider =
  | 'ANTHROPIC'
  | 'OPENAI'
  | 'GOOGLE'
  | 'BEDROCK'
  /** Any server that speaks OpenAI's dialect, such as Ollama, llama.cpp, LM Studio or vLLM. */
  | 'OPENAI_COMPATIBLE';

export type ModelFamily = {
  name: Scalars['String']['output'];
  provider: ModelProvider;
  model: Scalars['String']['output'];
  /** Answers where an agent names no family, or one that there is not. */
  isDefault: Scalars['Boolean']['output'];
  settings: Array<IntegrationSetting>;
  secretNames: Array<Scalars['String']['output']>;
};

export type ModelFamilies = {
  ok: Scalars['Boolean']['output'];
  families: Array<ModelFamily>;
};

export type ModelFamilyTest = {
  /** Whether the model answered with the tool call that it was asked for. */
  ok: Scalars['Boolean']['output'];
  text: Scalars['String']['output'];
};

export type AgentPolicy = {
  ok: Scalars['Boolean']['output'];
  /** Null: every tool. Otherwise these alone, whatever a file says. */
  tools: Maybe<Array<Scalars['String']['output']>>;
  /** Every tool that there is, for choosing. */
  knownTools: Array<Scalars['String']['output']>;
  /** Hosts that the shell's sandbox reaches; none: no network. */
  egressHosts: Array<Scalars['String']['output']>;
  /** Of one turn; null is the deployment's limit. */
  maxSteps: Maybe<Scalars['Int']['output']>;
  maxSeconds: Maybe<Scalars['Int']['output']>;
  /** Of a session with all that it calls. */
  maxTokens: Maybe<Scalars['Float']['output']>;
  maxCostDollars: Maybe<Scalars['Float']['output']>;
  /** Who the commits are by; empty is the service. */
  commitName: Scalars['String']['output'];
  commitEmail: Scalars['String']['output'];
};

export type AgentPolicyInput = {
  /** An empty list is no tool at all. To allow every tool again: allTools. */
  tools?: InputMaybe<Array<Scalars['String']['input']>>;
  allTools?: InputMaybe<Scalars['Boolean']['input']>;
  egressHosts?: InputMaybe<Array<Scalars['String']['input']>>;
  /** 0 takes the workspace's own limit away; here and below. */
  maxSteps?: InputMaybe<Scalars['Int']['input']>;
  maxSeconds?: InputMaybe<Scalars['Int']['input']>;
  maxTokens?: InputMaybe<Scalars['Float']['input']>;
  maxCostDollars?: InputMaybe<Scalars['Float']['input']>;
  commitName?: InputMaybe<Scalars['String']['input']>;
  commitEmail?: InputMaybe<Scalars['String']['input']>;
};

export type McpServer = {
  name: Scalars['String']['output'];
  url: Scalars['String']['output'];
  /** Null: every tool that it offers. */
  tools: Maybe<Array<Scalars['String']['output']>>;
  headerNames: Array<Scalars['String']['output']>;
};

export type McpServers = {
  ok: Scalars['Boolean']['output'];
  servers: Array<McpServer>;
};

export type DinoAiAgentUsage = {
  /** Model calls of the present turn. */
  steps: Scalars['Int']['output'];
  /** Of the whole session. A Float because there may be more than an Int holds. */
  tokensIn: Scalars['Float']['output'];
  tokensOut: Scalars['Float']['output'];
  /** By the prices of the model family; 0 where none are given. */
  costDollars: Scalars['Float']['output'];
};

export type DinoAiAgentStepKind =
  /** What a person, a parent or the service wrote. */
  | 'MESSAGE'
  /** One answer of the model. */
  | 'MODEL'
  | 'TOOL'
  /** A session of another agent that was called. */
  | 'CHILD'
  | 'STATUS'
  | 'BUDGET'
  /** From here on a summary stands for what was before. */
  | 'COMPACTION'
  | 'NOTE';

export type DinoAiAgentStep = {
  id: Scalars['Int']['output'];
  /** Give the largest one as `after` to read what came since; a tool that was running comes again when it has ended. */
  seq: Scalars['Int']['output'];
  /** Unix epoch seconds with fraction, as for messages. */
  ts: Scalars['Float']['output'];
  /** Null while it goes on, and for what takes no time. */
  seconds: Maybe<Scalars['Float']['output']>;
  turn: Scalars['Int']['output'];
  kind: DinoAiAgentStepKind;
  title: Scalars['String']['output'];
  text: Scalars['String']['output'];
  /** Empty unless it is a tool. */
  tool: Scalars['String']['output'];
  /** Names the call in dinoaiAgentToolOutput. */
  call: Scalars['String']['output'];
  /** The arguments, as JSON; empty unless includeToolIo. */
  input: Scalars['String']['output'];
  /** Empty unless includeToolIo. */
  output: Scalars['String']['output'];
  /** How long the whole output is. */
  outputChars: Scalars['Int']['output'];
  isRunning: Scalars['Boolean']['output'];
  isError: Scalars['Boolean']['output'];
  childSessionId: Maybe<Scalars['String']['output']>;
  /** Empty unless a model answered. */
  model: Scalars['String']['output'];
  tokensIn: Scalars['Int']['output'];
  tokensOut: Scalars['Int']['output'];
};

export type DinoAiAgentSession = {
  agentSessionId: Scalars['String']['output'];
  agent: Scalars['String']['output'];
  status: DinoAiAgentRunStatus;
  reason: Scalars['String']['output'];
  turn: Scalars['Int']['output'];
  model: Scalars['String']['output'];
  startedBy: Scalars['String']['output'];
  parentSessionId: Maybe<Scalars['String']['output']>;
  rootSessionId: Scalars['String']['output'];
  branch: Scalars['String']['output'];
  pullRequest: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  startDttm: Maybe<Scalars['Timestamp']['output']>;
  endDttm: Maybe<Scalars['Timestamp']['output']>;
  usage: DinoAiAgentUsage;
};

export type DinoAiAgentSessions = {
  ok: Scalars['Boolean']['output'];
  sessions: Array<DinoAiAgentSession>;
  totalCount: Scalars['Int']['output'];
};

export type DinoAiAgentSessionFilter = {
  agent?: InputMaybe<Scalars['String']['input']>;
  status?: InputMaybe<DinoAiAgentRunStatus>;
  parentSessionId?: InputMaybe<Scalars['String']['input']>;
};

export type DinoAiAgentToolOutput = {
  ok: Scalars['Boolean']['output'];
  text: Scalars['String']['output'];
};

export type DinoAiAgentToolMode =
  | 'ALLOWLIST'
  | 'DENYLIST';

export type DinoAiAgentFinding = {
  /** A fault keeps the agent from being run; a warning stops nothing. */
  isFault: Scalars['Boolean']['output'];
  line: Maybe<Scalars['Int']['output']>;
  column: Maybe<Scalars['Int']['output']>;
  message: Scalars['String']['output'];
};

export type DinoAiAgentDefinition = {
  name: Scalars['String']['output'];
  /** Empty for a built-in agent. */
  file: Scalars['String']['output'];
  builtIn: Scalars['Boolean']['output'];
  /** False when the file has faults: then it cannot be run, and the texts below are empty. */
  ok: Scalars['Boolean']['output'];
  version: Scalars['String']['output'];
  role: Scalars['String']['output'];
  goal: Scalars['String']['output'];
  backstory: Scalars['String']['output'];
  modelFamily: Scalars['String']['output'];
  environment: Scalars['String']['output'];
  /** Null without a `tools` block. */
  toolMode: Maybe<DinoAiAgentToolMode>;
  tools: Array<Scalars['String']['output']>;
  slackChannel: Scalars['String']['output'];
  squad: Array<Scalars['String']['output']>;
  findings: Array<DinoAiAgentFinding>;
};

export type DinoAiAgentDefinitions = {
  ok: Scalars['Boolean']['output'];
  /** The commit that the files were read at; empty when there are none. */
  commitHash: Scalars['String']['output'];
  /** Why the files could not be read, or may be old; empty when all is well. */
  warning: Scalars['String']['output'];
  agents: Array<DinoAiAgentDefinition>;
};

export type DinoAiAgentChange = {
  agentSessionId: Scalars['String']['output'];
  status: DinoAiAgentRunStatus;
  reason: Scalars['String']['output'];
  /** Those that came since the last change; all of them in the first. */
  messages: Array<DinoAiAgentMessage>;
  childSessionIds: Array<Scalars['String']['output']>;
  usage: DinoAiAgentUsage;
};

export type HealingState =
  | 'WAITING'
  | 'STARTED'
  /** A branch is pushed, or a pull request open. */
  | 'PROPOSED'
  | 'ENDED'
  | 'REFUSED';

export type HealingRequest = {
  id: Scalars['Int']['output'];
  scheduleSlug: Scalars['String']['output'];
  scheduleName: Scalars['String']['output'];
  runId: Scalars['Int']['output'];
  /** Empty is the usual one. */
  agent: Scalars['String']['output'];
  state: HealingState;
  /** Empty until it is started. */
  agentSessionId: Scalars['String']['output'];
  /** Why it was refused, or how it ended. */
  reason: Scalars['String']['output'];
  /** What was pushed; empty when nothing was. */
  branch: Scalars['String']['output'];
  /** Its address; empty when there is none. */
  pullRequest: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  proposedDttm: Maybe<Scalars['Timestamp']['output']>;
  endDttm: Maybe<Scalars['Timestamp']['output']>;
};

export type HealingRequests = {
  ok: Scalars['Boolean']['output'];
  requests: Array<HealingRequest>;
  totalCount: Scalars['Int']['output'];
};

export type DeliveryState =
  | 'WAITING'
  | 'DELIVERED'
  /** Given up: refused, or tried for a day in vain. It can be sent again. */
  | 'DEAD';

export type DeliveryChannel =
  | 'WEBHOOK'
  | 'SLACK'
  | 'MAIL'
  | 'TEAMS'
  | 'PAGERDUTY'
  | 'INCIDENT_IO'
  | 'DATADOG'
  | 'NEW_RELIC'
  | 'GITHUB'
  | 'GITLAB';

export type DeliveryOutcome =
  | 'DELIVERED'
  /** It may pass: it is tried again, unless that was the last time. */
  | 'AGAIN'
  | 'REFUSED';

export type Delivery = {
  /** The same over all tries; a webhook's receiver finds it in webhook-id. */
  id: Scalars['String']['output'];
  channel: DeliveryChannel;
  webhookId: Maybe<Scalars['Int']['output']>;
  integrationId: Maybe<Scalars['Int']['output']>;
  /** A mail address or a channel; empty where the webhook or integration says it all. */
  address: Scalars['String']['output'];
  event: Scalars['String']['output'];
  runId: Maybe<Scalars['Int']['output']>;
  /** Empty when it is about no schedule. */
  scheduleSlug: Scalars['String']['output'];
  state: DeliveryState;
  tries: Scalars['Int']['output'];
  /** Null when it is due at once, or has ended. */
  nextTryDttm: Maybe<Scalars['Timestamp']['output']>;
  createdDttm: Scalars['Timestamp']['output'];
  endDttm: Maybe<Scalars['Timestamp']['output']>;
};

export type DeliveryTry = {
  number: Scalars['Int']['output'];
  startDttm: Scalars['Timestamp']['output'];
  durationMs: Scalars['Int']['output'];
  /** Of the answer; null when there was none. */
  status: Maybe<Scalars['Int']['output']>;
  outcome: DeliveryOutcome;
  /** The beginning of the answer, or why there was none. */
  answer: Scalars['String']['output'];
};

export type Deliveries = {
  ok: Scalars['Boolean']['output'];
  deliveries: Array<Delivery>;
};

export type DeliveryDetail = {
  ok: Scalars['Boolean']['output'];
  delivery: Delivery;
  /** What the message was made from, as JSON. */
  bodyJson: Scalars['String']['output'];
  each: Array<DeliveryTry>;
};

export type DeliveryFilter = {
  state?: InputMaybe<DeliveryState>;
  channel?: InputMaybe<DeliveryChannel>;
  webhookId?: InputMaybe<Scalars['Int']['input']>;
  runId?: InputMaybe<Scalars['Int']['input']>;
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
  workerLabels?: InputMaybe<Array<Scalars['String']['input']>>;
  /** 5 to 3600; 5 unless set. */
  stopSeconds?: InputMaybe<Scalars['Int']['input']>;
};

export type EnvironmentSaved = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
};

export type IntegrationKind =
  | 'SLACK'
  | 'TEAMS'
  | 'PAGERDUTY'
  | 'INCIDENT_IO'
  | 'DATADOG'
  | 'NEW_RELIC'
  | 'GITHUB'
  | 'GITLAB';

export type IntegrationSetting = {
  name: Scalars['String']['output'];
  value: Scalars['String']['output'];
};

export type Integration = {
  id: Scalars['Int']['output'];
  kind: IntegrationKind;
  /** Of a Teams channel, as schedules name it; empty for the kinds of which a workspace has one. */
  name: Scalars['String']['output'];
  settings: Array<IntegrationSetting>;
  /** Which secrets are stored. */
  secretNames: Array<Scalars['String']['output']>;
  createdDttm: Scalars['Timestamp']['output'];
  updatedDttm: Scalars['Timestamp']['output'];
};

export type Integrations = {
  ok: Scalars['Boolean']['output'];
  integrations: Array<Integration>;
};

export type SavedIntegration = {
  ok: Scalars['Boolean']['output'];
  id: Scalars['Int']['output'];
};

export type IntegrationSettingInput = {
  name: Scalars['String']['input'];
  value: Scalars['String']['input'];
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

export type BoltRunChange = {
  run: BoltRun;
  commands: Array<BoltRunStep>;
};

export type Subscription = {
  /** The run as it is, then after each change; ends with the run. */
  boltRunState: Maybe<BoltRunChange>;
  /** The batches of boltCommandLogs from the cursor on, as they come; ends with the log. */
  boltCommandLog: Maybe<BoltCommandLogs>;
  /** The session as it is, then after each change; ends with the turn. */
  dinoaiAgentRunState: Maybe<DinoAiAgentChange>;
};


export type SubscriptionBoltRunStateArgs = {
  runId: Scalars['Int']['input'];
};


export type SubscriptionBoltCommandLogArgs = {
  commandId: Scalars['Int']['input'];
  cursor?: InputMaybe<Scalars['String']['input']>;
};


export type SubscriptionDinoaiAgentRunStateArgs = {
  agentSessionId: Scalars['String']['input'];
};

export type BoltLogMatch = {
  stream: BoltLogStream;
  /** The number of the line in its stream, from 1. */
  lineNumber: Scalars['Int']['output'];
  /** The line, or of a long one the part that begins at the match. */
  line: Scalars['String']['output'];
  /** Where the line begins in its stream, in bytes: that half of a cursor. A Float because a log may be larger than an Int. */
  offset: Scalars['Float']['output'];
};

export type BoltLogMatches = {
  ok: Scalars['Boolean']['output'];
  matches: Array<BoltLogMatch>;
  /** True when the search stopped before the end of the log: there may be more. */
  more: Scalars['Boolean']['output'];
};

export type CommandLogUrl = {
  ok: Scalars['Boolean']['output'];
  /** Works with a bare GET until it expires. */
  url: Scalars['String']['output'];
};

export type MessageChannel =
  | 'SLACK'
  | 'EMAIL'
  | 'TEAMS';

export type MessageTemplate = {
  slug: Scalars['String']['output'];
  name: Scalars['String']['output'];
  channel: MessageChannel;
  /** Of a mail; empty is the built-in one. */
  subject: Scalars['String']['output'];
  /** With placeholders such as {{run.state}}. */
  text: Scalars['String']['output'];
  createdDttm: Scalars['Timestamp']['output'];
  updatedDttm: Scalars['Timestamp']['output'];
};

export type MessageTemplates = {
  ok: Scalars['Boolean']['output'];
  templates: Array<MessageTemplate>;
  /** Every placeholder that a template may hold. */
  placeholders: Array<Scalars['String']['output']>;
};

export type SavedMessageTemplate = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
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

export type PullRequestState =
  | 'OPEN'
  | 'CLOSED'
  | 'MERGED';

export type PullRequest = {
  id: Scalars['Int']['output'];
  /** github or gitlab */
  provider: Scalars['String']['output'];
  /** host and path, such as github.com/acme/shop */
  repository: Scalars['String']['output'];
  number: Scalars['Int']['output'];
  title: Scalars['String']['output'];
  url: Scalars['String']['output'];
  author: Scalars['String']['output'];
  headCommit: Scalars['String']['output'];
  headBranch: Scalars['String']['output'];
  baseBranch: Scalars['String']['output'];
  /** Its changes come from another repository: it runs once a member has allowed the commit. */
  isFork: Scalars['Boolean']['output'];
  state: PullRequestState;
  /** Its present commit waits to be allowed. */
  waits: Scalars['Boolean']['output'];
  /** Who allowed the present commit; empty otherwise. */
  allowedBy: Scalars['String']['output'];
  updatedDttm: Scalars['Timestamp']['output'];
};

export type PullRequests = {
  ok: Scalars['Boolean']['output'];
  pullRequests: Array<PullRequest>;
};

export type AllowedPullRequest = {
  ok: Scalars['Boolean']['output'];
  runIds: Array<Scalars['Int']['output']>;
};

export type BoltRunPhase =
  /** for its turn, or for a worker */
  | 'WAITING'
  /** its repository and what it needs are being fetched */
  | 'STARTING'
  | 'RUNNING'
  /** its commands are being stopped */
  | 'ENDING'
  | 'ENDED';

export type BoltCommandKind =
  /** the service's own: the clone and the install step */
  | 'INFRASTRUCTURE'
  | 'USER';

export type BoltCommandState =
  | 'WAITING'
  | 'RUNNING'
  | 'SUCCEEDED'
  | 'FAILED'
  /** by a cancel, a time limit or the loss of its worker */
  | 'STOPPED'
  | 'NOT_RUN';

export type BoltRunStep = {
  id: Scalars['Int']['output'];
  kind: BoltCommandKind;
  state: BoltCommandState;
  command: Scalars['String']['output'];
  /** What the user wrote, where a retry runs `dbt retry` in its place. */
  originalCommand: Scalars['String']['output'];
  startDttm: Scalars['String']['output'];
  endDttm: Scalars['String']['output'];
  returnCode: Maybe<Scalars['Int']['output']>;
  /** Bytes of its output; a Float because a log may be larger than an Int. */
  stdoutBytes: Scalars['Float']['output'];
  stderrBytes: Scalars['Float']['output'];
  resources: Array<BoltResource>;
};

/** One node of a dbt command, from run_results.json or sources.json, and what manifest.json says about it. */
export type BoltDbtResult = {
  commandId: Scalars['Int']['output'];
  uniqueId: Scalars['String']['output'];
  status: Scalars['String']['output'];
  message: Scalars['String']['output'];
  startDttm: Maybe<Scalars['Timestamp']['output']>;
  seconds: Maybe<Scalars['Float']['output']>;
  failures: Maybe<Scalars['Int']['output']>;
  /** model, test, seed, snapshot, source, … */
  resourceType: Scalars['String']['output'];
  name: Scalars['String']['output'];
  /** Its file, relative to the dbt project; empty where dbt left no manifest. */
  path: Scalars['String']['output'];
  /** The table or view, as dbt writes it; empty for what has none. */
  relation: Scalars['String']['output'];
};

export type BoltRunDetail = {
  ok: Scalars['Boolean']['output'];
  run: BoltRun;
  commands: Array<BoltRunStep>;
  dbtResults: Array<BoltDbtResult>;
  /** Ids of the runs that are retries of this one. */
  retries: Array<Scalars['Int']['output']>;
};

export type BoltRunFilter = {
  slug?: InputMaybe<Scalars['String']['input']>;
  /** RUNNING, SUCCESS, ERROR, FAILED, CANCELED, SKIPPED */
  states?: InputMaybe<Array<Scalars['String']['input']>>;
  branch?: InputMaybe<Scalars['String']['input']>;
  prNumber?: InputMaybe<Scalars['Int']['input']>;
  actorEmail?: InputMaybe<Scalars['String']['input']>;
};

export type BoltRunPage = {
  ok: Scalars['Boolean']['output'];
  runs: Array<BoltRun>;
  /** What to give as `after` for the next page; null at the end. */
  next: Maybe<Scalars['Int']['output']>;
};

export type BoltRunAnswer = {
  id: Scalars['Int']['output'];
  ok: Scalars['Boolean']['output'];
  /** The new run of a retry. */
  runId: Maybe<Scalars['Int']['output']>;
  /** Why not: the code and the sentence; empty when it worked. */
  code: Scalars['String']['output'];
  message: Scalars['String']['output'];
};

export type BoltRunAnswers = {
  /** True when every one of them worked. */
  ok: Scalars['Boolean']['output'];
  results: Array<BoltRunAnswer>;
};

/** Something about a file that holds schedules. */
export type BoltScheduleFinding = {
  file: Scalars['String']['output'];
  /** Null where it is about the file as a whole. */
  line: Maybe<Scalars['Int']['output']>;
  column: Maybe<Scalars['Int']['output']>;
  message: Scalars['String']['output'];
};

export type BoltScheduleFile = {
  path: Scalars['String']['output'];
  /** How many active schedules it holds. */
  schedules: Scalars['Int']['output'];
  /** False when it has faults: then its schedules stay as they were. */
  ok: Scalars['Boolean']['output'];
};

export type BoltScheduleFiles = {
  ok: Scalars['Boolean']['output'];
  repositoryUrl: Scalars['String']['output'];
  /** The deployment branch of the default scheduler environment, else its default branch. */
  branch: Scalars['String']['output'];
  /** The commit that the schedules stand at; empty before the first. */
  commitHash: Scalars['String']['output'];
  /** When the schedules were brought in line with that commit. */
  syncedAt: Maybe<Scalars['Timestamp']['output']>;
  /** When the files were last looked at; not before the requestedAt of a request that was done. */
  checkedAt: Maybe<Scalars['Timestamp']['output']>;
  /** Why the files could not be read, or may be old; empty when all is well. */
  warning: Scalars['String']['output'];
  files: Array<BoltScheduleFile>;
  /** Each keeps its file from being taken. */
  faults: Array<BoltScheduleFinding>;
  /** What is odd but stops nothing, such as an owner who is no user of the workspace. */
  warnings: Array<BoltScheduleFinding>;
};

export type SyncBoltScheduleFiles = {
  ok: Scalars['Boolean']['output'];
  requestedAt: Scalars['Timestamp']['output'];
};

/** What happens at a due time while a run of the schedule is going. */
export type BoltOverlap =
  /** it waits, one at most; later ones are skipped */
  | 'QUEUE_ONE'
  | 'SKIP'
  /** it runs beside the other */
  | 'ALLOW'
  | 'CANCEL_PREVIOUS';

/** What happens to due times that were missed while nothing ran. */
export type BoltCatchUp =
  /** the latest, if it is younger than the window; the rest are skipped */
  | 'LATEST'
  | 'ALL'
  | 'NONE';

export type BoltScheduleChanges = {
  name?: InputMaybe<Scalars['String']['input']>;
  schedule?: InputMaybe<Scalars['String']['input']>;
  environment?: InputMaybe<Scalars['String']['input']>;
  commands?: InputMaybe<Array<Scalars['String']['input']>>;
  gitBranch?: InputMaybe<Scalars['String']['input']>;
  description?: InputMaybe<Scalars['String']['input']>;
  timezone?: InputMaybe<Scalars['String']['input']>;
  ownerEmail?: InputMaybe<Scalars['String']['input']>;
  suspended?: InputMaybe<Scalars['Boolean']['input']>;
  slaSeconds?: InputMaybe<Scalars['Int']['input']>;
  triggerOnMerge?: InputMaybe<Scalars['Boolean']['input']>;
  continueOnError?: InputMaybe<Scalars['Boolean']['input']>;
  notifications?: InputMaybe<BoltNotificationsInput>;
  selfHealing?: InputMaybe<BoltSelfHealingInput>;
  envVars?: InputMaybe<Array<BoltEnvVarInput>>;
  integrations?: InputMaybe<BoltIntegrationsInput>;
  turboCi?: InputMaybe<BoltDeferredScheduleInput>;
  deferredSchedule?: InputMaybe<BoltDeferredScheduleInput>;
  scheduleTrigger?: InputMaybe<BoltScheduleTriggerInput>;
  overlap?: InputMaybe<BoltOverlap>;
  catchUp?: InputMaybe<BoltCatchUp>;
  catchUpWindowSeconds?: InputMaybe<Scalars['Int']['input']>;
  timeLimitSeconds?: InputMaybe<Scalars['Int']['input']>;
  labels?: InputMaybe<Array<Scalars['String']['input']>>;
};

export type BoltScheduleDetail = {
  ok: Scalars['Boolean']['output'];
  schedule: BoltSchedule;
};

export type UpdateBoltSchedule = {
  ok: Scalars['Boolean']['output'];
  slug: Scalars['String']['output'];
  name: Scalars['String']['output'];
};

export type NextFireTimes = {
  ok: Scalars['Boolean']['output'];
  /** Empty for OFF. */
  times: Array<Scalars['Timestamp']['output']>;
};

export type Webhook = {
  id: Scalars['Int']['output'];
  url: Scalars['String']['output'];
  description: Scalars['String']['output'];
  /** bolt.run.started, bolt.run.completed, dinoai.run.completed */
  events: Array<Scalars['String']['output']>;
  enabled: Scalars['Boolean']['output'];
  /** How many secrets each delivery is signed with: two while one is being exchanged. */
  secretCount: Scalars['Int']['output'];
  createdDttm: Scalars['Timestamp']['output'];
};

export type Webhooks = {
  ok: Scalars['Boolean']['output'];
  webhooks: Array<Webhook>;
};

export type CreatedWebhook = {
  ok: Scalars['Boolean']['output'];
  id: Scalars['Int']['output'];
  /** Shown this once. */
  secret: Scalars['String']['output'];
};

export type RotatedWebhookSecret = {
  ok: Scalars['Boolean']['output'];
  /** Shown this once. */
  secret: Scalars['String']['output'];
};

/** A delivery that was queued: what became of it is told by `delivery`. */
export type QueuedDelivery = {
  ok: Scalars['Boolean']['output'];
  deliveryId: Scalars['String']['output'];
};

export type WebhookInput = {
  /** Needed for a new one; https:// unless the operator allowed more. */
  url?: InputMaybe<Scalars['String']['input']>;
  description?: InputMaybe<Scalars['String']['input']>;
  /** Needed for a new one, at least one. */
  events?: InputMaybe<Array<Scalars['String']['input']>>;
  enabled?: InputMaybe<Scalars['Boolean']['input']>;
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
