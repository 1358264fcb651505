// What a schedule is. How one is read from what somebody sent is in schedule-input.ts; when it fires in due.ts.
import type { CatchUp, DuePolicy, Overlap } from './due.ts'
import { conflict, invalidInput } from './errors.ts'
import type { Timetable } from './occurrence.ts'
import { parseTimetable } from './occurrence.ts'

export const NOTIFICATION_EVENTS = ['failed', 'passed', 'sla'] as const
export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number]

export type ScheduleSource = 'ui' | 'yaml'

export interface ScheduleCommand {
  readonly command: string
  /** Null: as the run, else the schedule, says. */
  readonly continueOnError: boolean | null
}

export interface Notification {
  /** A Slack or Teams channel, or an e-mail address. */
  readonly channel: string
  readonly events: readonly NotificationEvent[]
  readonly templateSlug: string | null
}

export interface Notifications {
  readonly slack: readonly Notification[]
  readonly email: readonly Notification[]
  readonly teams: readonly Notification[]
}

export const NO_NOTIFICATIONS: Notifications = { slack: [], email: [], teams: [] }

export interface SelfHealing {
  readonly enabled: boolean
  readonly slackChannel: string | null
  readonly agentName: string | null
}

/** Whose results dbt defers to: another schedule of the workspace, or the schedule itself. */
export interface Deferral {
  readonly enabled: boolean
  readonly slug: string | null
  readonly successfulRunOnly: boolean
}

/** The parent as it was named, and as it was found when that was done: the id holds, whatever is renamed later. */
export interface ScheduleTrigger {
  readonly enabled: boolean
  readonly parentId: number | null
  readonly scheduleName: string | null
  readonly workspaceName: string | null
  readonly triggerOn: readonly NotificationEvent[]
}

export interface IncidentIoIntegration {
  readonly visibility: string
  readonly statusId: string | null
  readonly status: string | null
  readonly typeId: string | null
  readonly type: string | null
  readonly mode: string | null
  readonly severityId: string | null
  readonly severity: string | null
}

export interface PagerDutyIntegration {
  readonly fromEmail: string
  readonly serviceId: string
  readonly serviceName: string
  readonly incidentTypeDisplayName: string
  readonly incidentTypeName: string
  readonly priorityId: string | null
  readonly priorityName: string | null
  readonly urgency: string | null
  readonly escalationPolicyId: string | null
  readonly escalationPolicyName: string | null
  readonly assigneeIds: readonly string[]
  readonly assigneeNames: readonly string[]
}

export interface DatadogIntegration {
  readonly severity: string
  readonly severityName: string
  readonly customerImpacted: boolean
  readonly state: string | null
  readonly stateName: string | null
  readonly commanderUserId: string | null
  readonly commanderUserName: string | null
  readonly notificationHandles: readonly string[]
}

export interface NewRelicIntegration {
  readonly environment: string
}

export interface Integrations {
  readonly incidentIo: readonly IncidentIoIntegration[]
  readonly pagerduty: readonly PagerDutyIntegration[]
  readonly datadog: readonly DatadogIntegration[]
  readonly newRelic: readonly NewRelicIntegration[]
}

export interface EnvVar {
  readonly key: string
  readonly value: string
}

/** What somebody may say about a schedule, after reading; `undefined` was not said. */
export interface ScheduleFields {
  readonly name?: string
  /** A cron expression as it was written, or OFF. */
  readonly cron?: string
  readonly timezone?: string
  /** Slug or display name; looked up by the use case. */
  readonly environment?: string
  readonly commands?: readonly ScheduleCommand[]
  /** Null is the environment's. */
  readonly gitBranch?: string | null
  readonly description?: string
  readonly ownerEmail?: string
  readonly suspended?: boolean
  readonly slaSeconds?: number | null
  readonly timeLimitSeconds?: number | null
  readonly triggerOnMerge?: boolean
  readonly continueOnError?: boolean
  readonly notifications?: Notifications
  readonly selfHealing?: SelfHealing
  /** All of them: a list takes the place of the one before. */
  readonly envVars?: readonly EnvVar[]
  readonly integrations?: Integrations
  readonly turboCi?: Deferral
  readonly deferredSchedule?: Deferral
  readonly scheduleTrigger?: ScheduleTrigger
  readonly labels?: readonly string[]
  readonly overlap?: Overlap
  readonly catchUp?: CatchUp
  readonly catchUpWindowSeconds?: number
}

export const OFF = 'OFF'

/** When a schedule fires; null when it never does by itself. */
export function timetableOf(schedule: { readonly cron: string; readonly timezone: string }): Timetable | null {
  return schedule.cron === OFF ? null : parseTimetable(schedule.cron, schedule.timezone)
}

export interface DueState extends DuePolicy {
  readonly cron: string
  readonly timezone: string
  readonly suspended: boolean
}

/** Whether times that lay ahead under the old words must be reckoned anew, from now on. */
export const isReanchored = (old: DueState, fresh: DueState): boolean =>
  (['cron', 'timezone', 'suspended', 'overlap', 'catchUp', 'catchUpWindowSeconds'] as const).some(
    (field) => old[field] !== fresh[field],
  )

/** The first time after `now`; null for OFF and while suspended. */
export const nextDue = (schedule: Pick<DueState, 'cron' | 'timezone' | 'suspended'>, now: Date): Date | null =>
  schedule.suspended ? null : (timetableOf(schedule)?.next(now) ?? null)

/** Schedules are asked for by `slug`, or by the older name of the same argument. */
export function parseScheduleRef(given: { slug?: string | null; scheduleName?: string | null }): string {
  const slug = given.slug ?? null
  const alias = given.scheduleName ?? null
  if ((slug === null) === (alias === null)) {
    const which = slug === null ? 'neither was given' : 'both were given'
    throw invalidInput(`slug: give exactly one of slug and scheduleName (they mean the same); ${which}.`)
  }
  return (slug ?? alias)!
}

/** A schedule that stands in a file is changed there. */
export function refuseFromFile(
  schedule: { readonly source: ScheduleSource; readonly sourceFile: string | null; readonly name: string },
  what: string,
): void {
  if (schedule.source !== 'yaml') return
  throw conflict(
    `"${schedule.name}" comes from the file ${schedule.sourceFile ?? 'of its repository'}: ` +
      `it cannot be ${what} here. Change that file instead.`,
  )
}

export const ownerWarning = (email: string): string => `ownerEmail: ${email} is no user of this workspace.`
