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
}
