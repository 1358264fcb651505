// The shape of the database for Kysely. The migrations are the truth; a test compares the two.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'

/** Written by the database's own clock, or as a text that it parses; read back as a Date. */
type Time = ColumnType<Date, string | undefined, string>
type NullableTime = ColumnType<Date | null, string | null | undefined, string | null>

export interface AccountTable {
  id: Generated<number>
  name: string
  scheduling: Generated<boolean>
  user_management: Generated<boolean>
  workspace_management: Generated<boolean>
  audit_logs: Generated<boolean>
  created_at: Time
}

export interface WorkspaceTable {
  id: GeneratedAlways<number>
  uid: string
  name: string
  agents: Generated<boolean>
  created_at: Time
  archived_at: NullableTime
}

export interface EnvironmentTable {
  id: GeneratedAlways<number>
  workspace_id: number
  slug: string
  display_name: string
  type: string
  is_default: Generated<boolean>
  repository_url: Generated<string>
  default_branch: Generated<string>
  deployment_branch: string | null
  install_step: string | null
  python_packages: Generated<string[]>
  excluded_files: string[] | null
  created_at: Time
  archived_at: NullableTime
  worker_labels: Generated<string[]>
  stop_seconds: Generated<number>
}

export interface VariableTable {
  workspace_id: number
  environment_id: number | null
  name: string
  value: string
  updated_at: Time
}

export interface SecretTable {
  id: GeneratedAlways<number>
  workspace_id: number
  environment_id: number | null
  kind: string
  name: string
  version: Generated<number>
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
  updated_at: Time
}

export interface MasterKeyTable {
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
  created_at: Time
}

export interface PersonTable {
  id: GeneratedAlways<number>
  uid: string
  email: string
  name: string
  password_hash: string | null
  created_at: Time
}

export interface MembershipTable {
  workspace_id: number
  person_id: number
  account_type: string
  created_at: Time
  disabled_at: NullableTime
}

export interface InvitationTable {
  id: GeneratedAlways<number>
  workspace_id: number
  email: string
  account_type: string
  token_hash: Buffer
  created_at: Time
  expires_at: ColumnType<Date, string, string>
  accepted_at: NullableTime
  revoked_at: NullableTime
}

export interface SessionTable {
  id: GeneratedAlways<number>
  person_id: number
  token_hash: Buffer
  address: string
  user_agent: string
  created_at: Time
  last_seen_at: Time
  expires_at: ColumnType<Date, string, string>
  ended_at: NullableTime
}

export interface OneTimeLinkTable {
  id: GeneratedAlways<number>
  person_id: number
  purpose: string
  token_hash: Buffer
  created_at: Time
  expires_at: ColumnType<Date, string, string>
  used_at: NullableTime
}

export interface ApiKeyTable {
  id: GeneratedAlways<number>
  public_id: string
  kind: string
  name: string
  client: string | null
  workspace_id: number | null
  person_id: number | null
  capabilities: string[]
  kid: string
  secret_hash: Buffer
  created_by: number | null
  created_at: Time
  expires_at: NullableTime
  last_used_at: NullableTime
  revoked_at: NullableTime
}

export interface IdempotentAnswerTable {
  scope: string
  key: string
  position: number
  body_hash: Buffer
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
  created_at: Time
}

export interface AuditLogTable {
  id: number
  created_at: ColumnType<Date, string, never>
  workspace_id: number
  workspace_name: string
  actor_type: string
  actor_user_id: number
  actor_email: string
  event_source_id: number
  event_source: string
  event_id: number
  event_type: string
  metadata: string
  kid: string
  mac: Buffer
}

export interface AuditHeadTable {
  id: Generated<number>
  last_id: number
  last_mac: Buffer
}

export interface AuditRefusalTable {
  principal: string
  event_id: number
  hour: ColumnType<Date, string, string>
  audit_id: number
  count: number
  updated_at: ColumnType<Date, string, string>
  mac: Buffer
}

export interface NodeTable {
  id: string
  host: string
  pid: number
  roles: string[]
  kids: string[]
  version: string
  started_at: Time
  seen_at: Time
  labels: Generated<string[]>
}

export interface ScheduleTable {
  id: GeneratedAlways<number>
  uuid: Generated<string>
  workspace_id: number
  environment_id: number
  slug: string
  name: string
  cron: string
  timezone: Generated<string>
  description: Generated<string>
  owner_email: Generated<string>
  source: Generated<string>
  source_file: string | null
  suspended: Generated<boolean>
  deleted_at: NullableTime
  commands: unknown
  git_branch: string | null
  continue_on_error: Generated<boolean>
  sla_seconds: number | null
  time_limit_seconds: number | null
  trigger_on_merge: Generated<boolean>
  notifications: Generated<unknown>
  self_healing: unknown | null
  integrations: unknown | null
  turbo_ci: unknown | null
  deferred_schedule: unknown | null
  schedule_trigger: unknown | null
  labels: Generated<string[]>
  overlap: Generated<string>
  catch_up: Generated<string>
  catch_up_window_seconds: Generated<number>
  next_due_at: NullableTime
  created_at: Time
  updated_at: Time
}

export interface ScheduleVariableTable {
  workspace_id: number
  schedule_id: number
  name: string
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
}

export interface RunTable {
  id: GeneratedAlways<number>
  workspace_id: number
  schedule_id: number
  environment_id: number
  cause: string
  due_at: NullableTime
  state: string
  detail: Generated<string>
  skipped_count: number | null
  skipped_until: NullableTime
  actor: string
  actor_email: Generated<string>
  reason: Generated<string>
  branch: string
  commit_hash: Generated<string>
  isolation: Generated<string>
  pr_number: number | null
  parent_run_id: number | null
  retry_of: number | null
  continue_on_error: Generated<boolean>
  time_limit_seconds: number | null
  attempt: Generated<number>
  worker_id: string | null
  lease_until: NullableTime
  cancel_requested_at: NullableTime
  cancel_by: Generated<string>
  accepted_at: Time
  released_at: NullableTime
  started_at: NullableTime
  ended_at: NullableTime
  late_at: NullableTime
  wanted_commit: string | null
}

export interface CommandTable {
  id: GeneratedAlways<number>
  workspace_id: number
  run_id: number
  position: number
  kind: string
  text: string
  original_text: string
  state_from: number | null
  continue_on_error: boolean
  state: Generated<string>
  started_at: NullableTime
  ended_at: NullableTime
  return_code: number | null
  stdout_bytes: Generated<number>
  stderr_bytes: Generated<number>
  log_finished: Generated<boolean>
  log_day: string | null
}

export interface LogChunkTable {
  day: string
  command_id: number
  stream: number
  start: number
  length: number
  bytes: Buffer
}

export interface ArtifactTable {
  id: GeneratedAlways<number>
  workspace_id: number
  run_id: number
  command_id: number
  path: string
  size: number
  sha256: Buffer
  listed: Generated<boolean>
  created_at: Time
  removed_at: NullableTime
}

export interface DbtResultTable {
  workspace_id: number
  run_id: number
  command_id: number
  unique_id: string
  status: string
  message: string
  started_at: NullableTime
  seconds: number | null
  failures: number | null
  resource_type: Generated<string>
  name: Generated<string>
  path: Generated<string>
  relation: Generated<string>
}

export interface IntegrationTable {
  id: GeneratedAlways<number>
  workspace_id: number
  kind: string
  name: Generated<string>
  settings: Generated<unknown>
  created_at: Time
  updated_at: Time
  removed_at: NullableTime
}

export interface IntegrationSecretTable {
  workspace_id: number
  integration_id: number
  name: string
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
}

export interface WebhookTable {
  id: GeneratedAlways<number>
  workspace_id: number
  url: string
  description: Generated<string>
  events: string[]
  enabled: Generated<boolean>
  created_at: Time
  removed_at: NullableTime
}

export interface WebhookSecretTable {
  id: GeneratedAlways<number>
  workspace_id: number
  webhook_id: number
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
  created_at: Time
  retires_at: NullableTime
}

export interface RunEventTable {
  id: GeneratedAlways<number>
  workspace_id: number
  run_id: number
  kind: string
  created_at: Time
  handled_at: NullableTime
  tries: Generated<number>
  next_try_at: Time
  done: Generated<string[]>
}

export interface DeliveryTable {
  id: Generated<string>
  workspace_id: number
  channel: string
  webhook_id: number | null
  integration_id: number | null
  address: Generated<string>
  event: string
  cause_key: string
  run_id: number | null
  schedule_id: number | null
  line: string | null
  target: string
  body: unknown
  state: Generated<string>
  tries: Generated<number>
  earlier_tries: Generated<number>
  series_at: NullableTime
  claimed_until: NullableTime
  next_try_at: Time
  created_at: Time
  ended_at: NullableTime
  result: unknown | null
}

export interface DeliveryTryTable {
  delivery_id: string
  number: number
  started_at: ColumnType<Date, string, string>
  duration_ms: number
  status: number | null
  outcome: string
  answer: Generated<string>
}

export interface HealingRequestTable {
  id: GeneratedAlways<number>
  workspace_id: number
  schedule_id: number
  run_id: number
  cause: string
  agent: Generated<string>
  slack_channel: Generated<string>
  state: Generated<string>
  session: Generated<string>
  reason: Generated<string>
  created_at: Time
  ended_at: NullableTime
  branch: Generated<string>
  pull_request: Generated<string>
  proposed_at: NullableTime
}

export interface ScheduleSyncTable {
  workspace_id: number
  repository_url: string
  branch: string
  commit_hash: Generated<string>
  fetched_at: NullableTime
  synced_at: NullableTime
  checked_at: ColumnType<Date, string, string>
  warning: Generated<string>
  settings: Generated<string>
  files: Generated<unknown>
  findings: Generated<unknown>
}

export interface MessageTemplateTable {
  id: GeneratedAlways<number>
  workspace_id: number
  slug: string
  name: string
  channel: string
  subject: Generated<string>
  text: string
  created_at: Time
  updated_at: Time
}

export interface PullRequestTable {
  id: GeneratedAlways<number>
  workspace_id: number
  provider: string
  repository: string
  number: number
  title: string
  url: string
  author: string
  head_commit: string
  head_branch: string
  base_branch: string
  is_fork: boolean
  state: string
  allowed_commit: Generated<string>
  allowed_by: Generated<string>
  created_at: Time
  updated_at: Time
}

export interface GitHookTable {
  workspace_id: number
  provider: string
  id: string
  received_at: Time
}

export interface AgentSessionTable {
  id: string
  workspace_id: number
  environment_id: number
  agent: string
  definition: unknown
  definition_commit: Generated<string>
  base_branch: string
  base_commit: Generated<string>
  model_family: string
  status: Generated<string>
  reason: Generated<string>
  turn: Generated<number>
  parent_id: string | null
  parent_call: string | null
  root_id: string
  depth: Generated<number>
  actor: unknown
  slack_channel: Generated<string>
  slack_thread_ts: Generated<string>
  healing_request_id: number | null
  created_at: Time
  queued_at: Time
  started_at: NullableTime
  ended_at: NullableTime
  last_message_at: Time
  steps: Generated<number>
  tokens_in: Generated<number>
  tokens_out: Generated<number>
  cost_microdollars: Generated<number>
  budget: unknown
  branch: Generated<string>
  pull_request: Generated<string>
  tree_key: Generated<string>
  attempt: Generated<number>
  worker_id: string | null
  lease_until: NullableTime
  stop_requested_at: NullableTime
  waits_for_child: Generated<boolean>
  last_seq: Generated<number>
  last_ts: Generated<number>
  lost_at_seq: Generated<number>
  lost_count: Generated<number>
}

export interface AgentEventTable {
  session_id: string
  workspace_id: number
  seq: number
  ts: number
  turn: number
  kind: string
  body: unknown
}

export interface AgentOutputTable {
  workspace_id: number
  session_id: string
  call: string
  text: string
}

export interface ModelFamilyTable {
  id: GeneratedAlways<number>
  workspace_id: number
  name: string
  provider: string
  model: string
  is_default: Generated<boolean>
  settings: Generated<unknown>
  created_at: Time
  updated_at: Time
}

export interface ModelFamilySecretTable {
  workspace_id: number
  family_id: number
  name: string
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
}

export interface AgentPolicyTable {
  workspace_id: number
  tools: string[] | null
  egress_hosts: Generated<string[]>
  budget: Generated<unknown>
  commit_name: Generated<string>
  commit_email: Generated<string>
  updated_at: Time
}

export interface McpServerTable {
  id: GeneratedAlways<number>
  workspace_id: number
  name: string
  url: string
  tools: string[] | null
  created_at: Time
}

export interface McpServerSecretTable {
  workspace_id: number
  server_id: number
  name: string
  kid: string
  wrapped_key: Buffer
  sealed: Buffer
}

export interface Tables {
  account: AccountTable
  workspace: WorkspaceTable
  environment: EnvironmentTable
  variable: VariableTable
  secret: SecretTable
  master_key: MasterKeyTable
  person: PersonTable
  membership: MembershipTable
  invitation: InvitationTable
  session: SessionTable
  one_time_link: OneTimeLinkTable
  api_key: ApiKeyTable
  idempotent_answer: IdempotentAnswerTable
  audit_log: AuditLogTable
  audit_head: AuditHeadTable
  audit_refusal: AuditRefusalTable
  node: NodeTable
  schedule: ScheduleTable
  schedule_variable: ScheduleVariableTable
  run: RunTable
  command: CommandTable
  log_chunk: LogChunkTable
  artifact: ArtifactTable
  dbt_result: DbtResultTable
  integration: IntegrationTable
  integration_secret: IntegrationSecretTable
  webhook: WebhookTable
  webhook_secret: WebhookSecretTable
  run_event: RunEventTable
  delivery: DeliveryTable
  delivery_try: DeliveryTryTable
  healing_request: HealingRequestTable
  schedule_sync: ScheduleSyncTable
  message_template: MessageTemplateTable
  pull_request: PullRequestTable
  git_hook: GitHookTable
  agent_session: AgentSessionTable
  agent_event: AgentEventTable
  agent_output: AgentOutputTable
  model_family: ModelFamilyTable
  model_family_secret: ModelFamilySecretTable
  agent_policy: AgentPolicyTable
  mcp_server: McpServerTable
  mcp_server_secret: McpServerSecretTable
}
