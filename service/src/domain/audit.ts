// The words of the audit log. Ids are fixed for ever: clients may store them, so a retired event keeps its number.
export const EVENT_SOURCES = {
  account: 1,
  workspaces: 2,
  environments: 3,
  users: 4,
  keys: 5,
  sign_in: 6,
  gate: 7,
  schedules: 8,
  runs: 9,
  deliveries: 10,
  integrations: 11,
  agents: 12,
} as const

export type EventSource = keyof typeof EVENT_SOURCES

export const EVENTS = {
  account_created: { id: 1, source: 'account' },
  account_feature_switched: { id: 2, source: 'account' },
  master_key_rotated: { id: 3, source: 'account' },
  workspace_created: { id: 10, source: 'workspaces' },
  workspace_renamed: { id: 11, source: 'workspaces' },
  workspace_archived: { id: 12, source: 'workspaces' },
  workspace_feature_switched: { id: 13, source: 'workspaces' },
  environment_created: { id: 20, source: 'environments' },
  environment_updated: { id: 21, source: 'environments' },
  environment_archived: { id: 22, source: 'environments' },
  variable_set: { id: 23, source: 'environments' },
  variable_deleted: { id: 24, source: 'environments' },
  secret_set: { id: 25, source: 'environments' },
  secret_deleted: { id: 26, source: 'environments' },
  user_invited: { id: 30, source: 'users' },
  user_account_type_updated: { id: 31, source: 'users' },
  user_disabled: { id: 32, source: 'users' },
  invitation_accepted: { id: 33, source: 'users' },
  user_created: { id: 34, source: 'users' },
  password_changed: { id: 35, source: 'users' },
  password_reset_requested: { id: 36, source: 'users' },
  api_key_created: { id: 40, source: 'keys' },
  api_key_revoked: { id: 41, source: 'keys' },
  signed_in: { id: 50, source: 'sign_in' },
  sign_in_refused: { id: 51, source: 'sign_in' },
  signed_out: { id: 52, source: 'sign_in' },
  session_ended: { id: 53, source: 'sign_in' },
  mutation_denied: { id: 60, source: 'gate' },
  schedule_created: { id: 70, source: 'schedules' },
  schedule_updated: { id: 71, source: 'schedules' },
  schedule_deleted: { id: 72, source: 'schedules' },
  schedule_suspended: { id: 73, source: 'schedules' },
  schedule_resumed: { id: 74, source: 'schedules' },
  schedule_sync_requested: { id: 75, source: 'schedules' },
  schedule_files_synced: { id: 76, source: 'schedules' },
  run_triggered: { id: 80, source: 'runs' },
  run_canceled: { id: 81, source: 'runs' },
  run_retried: { id: 82, source: 'runs' },
  run_ended: { id: 83, source: 'runs' },
  webhook_created: { id: 90, source: 'deliveries' },
  webhook_updated: { id: 91, source: 'deliveries' },
  webhook_deleted: { id: 92, source: 'deliveries' },
  webhook_secret_rotated: { id: 93, source: 'deliveries' },
  webhook_tested: { id: 94, source: 'deliveries' },
  delivery_sent_again: { id: 95, source: 'deliveries' },
  integration_created: { id: 100, source: 'integrations' },
  integration_updated: { id: 101, source: 'integrations' },
  integration_removed: { id: 102, source: 'integrations' },
  integration_tested: { id: 103, source: 'integrations' },
  message_template_created: { id: 104, source: 'integrations' },
  message_template_updated: { id: 105, source: 'integrations' },
  message_template_deleted: { id: 106, source: 'integrations' },
  pull_request_allowed: { id: 110, source: 'runs' },
  agent_triggered: { id: 120, source: 'agents' },
  agent_message_sent: { id: 121, source: 'agents' },
  agent_stopped: { id: 122, source: 'agents' },
  agent_tool_used: { id: 123, source: 'agents' },
  agent_policy_changed: { id: 130, source: 'agents' },
  model_family_set: { id: 131, source: 'agents' },
  model_family_removed: { id: 132, source: 'agents' },
  model_family_tested: { id: 133, source: 'agents' },
  mcp_server_set: { id: 135, source: 'agents' },
  mcp_server_removed: { id: 136, source: 'agents' },
} as const satisfies Readonly<Record<string, { id: number; source: EventSource }>>

export type EventType = keyof typeof EVENTS

/** Refusals: one record an hour for each principal, with a count beside it. */
export const COUNTED_EVENTS = ['sign_in_refused', 'mutation_denied'] as const satisfies readonly EventType[]

export type CountedEvent = (typeof COUNTED_EVENTS)[number]

export const isCounted = (event: string): boolean => (COUNTED_EVENTS as readonly string[]).includes(event)

export type ActorType = 'user' | 'api_key' | 'system'

/** A record before the log gives it its id, time and mac. */
export interface AuditEntry {
  readonly workspaceId: number
  readonly workspaceName: string
  readonly actorType: ActorType
  readonly actorUserId: number
  readonly actorEmail: string
  readonly eventType: EventType
  readonly metadata: Readonly<Record<string, unknown>>
}

/** A record as it stands in the database, with the very texts that its mac covers. */
export interface AuditRow {
  readonly id: number
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC. */
  readonly createdAt: string
  readonly workspaceId: number
  readonly workspaceName: string
  readonly actorType: string
  readonly actorUserId: number
  readonly actorEmail: string
  readonly eventSourceId: number
  readonly eventSource: string
  readonly eventId: number
  readonly eventType: string
  readonly metadata: string
  readonly kid: string
}

/** What the mac of a row is made over: the mac before it and every column, in a form with one reading only. */
export function chainInput(previousMac: Buffer, row: AuditRow): string {
  return JSON.stringify([
    previousMac.toString('hex'),
    row.id,
    row.createdAt,
    row.workspaceId,
    row.workspaceName,
    row.actorType,
    row.actorUserId,
    row.actorEmail,
    row.eventSourceId,
    row.eventSource,
    row.eventId,
    row.eventType,
    row.metadata,
    row.kid,
  ])
}
