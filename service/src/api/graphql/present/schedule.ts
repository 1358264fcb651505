// Schedules in the words of the interface, with the fields that older clients read.
import type { ListedSchedule } from '../../../app/schedules.ts'
import type { Deferral, Notification } from '../../../domain/schedule.ts'
import type {
  BoltCatchUp,
  BoltDeferredSchedule,
  BoltNotification,
  BoltOverlap,
  BoltSchedule,
  BoltScheduleSummary,
} from '../wire-types.ts'
import { presentState } from './run.ts'

const OVERLAPS = {
  queue_one: 'QUEUE_ONE',
  skip: 'SKIP',
  allow: 'ALLOW',
  cancel_previous: 'CANCEL_PREVIOUS',
} as const satisfies Record<ListedSchedule['overlap'], BoltOverlap>

const CATCH_UPS = { latest: 'LATEST', all: 'ALL', none: 'NONE' } as const satisfies Record<
  ListedSchedule['catchUp'],
  BoltCatchUp
>

const presentNotification =
  (names: ListedSchedule['templateNames']) =>
  (one: Notification): BoltNotification => ({
    channel: one.channel,
    events: [...one.events],
    templateSlug: one.templateSlug,
    // Null also for one that is gone: the built-in words are sent then.
    templateName: one.templateSlug === null ? null : (names.get(one.templateSlug) ?? null),
  })

const presentDeferral = (deferral: Deferral | null): BoltDeferredSchedule | null =>
  deferral && {
    enabled: deferral.enabled,
    deferredScheduleSlug: deferral.slug,
    deferredScheduleName: deferral.slug,
    successfulRunOnly: deferral.successfulRunOnly,
  }

/** Older clients expect a list with one empty text where there is nothing. */
const orBlank = (list: readonly string[] | undefined): string[] =>
  list === undefined || list.length === 0 ? [''] : [...list]

const channels = (entries: readonly Notification[]): string[] => entries.map((one) => one.channel)

export function presentSchedule(schedule: ListedSchedule): BoltSchedule {
  const { slack, email, teams } = schedule.notifications
  const notification = presentNotification(schedule.templateNames)
  return {
    id: schedule.id,
    uuid: schedule.uuid,
    slug: schedule.slug,
    name: schedule.name,
    schedule: schedule.cron,
    timezone: schedule.timezone,
    description: schedule.description,
    environment: schedule.environment,
    owner: schedule.ownerEmail,
    lastRunAt: schedule.lastRunAt,
    lastRunState: schedule.lastRunState === null ? null : presentState(schedule.lastRunState),
    nextRunAt: schedule.nextDueAt,
    source: schedule.source,
    suspended: schedule.suspended,
    turboCi: presentDeferral(schedule.turboCi),
    deferredSchedule: presentDeferral(schedule.deferredSchedule),
    commands: schedule.commands.map((one) => one.command),
    gitBranch: schedule.gitBranch,
    notifications: {
      slackNotifications: slack.map(notification),
      emailNotifications: email.map(notification),
      msTeamsNotifications: teams.map(notification),
    },
    slackOn: orBlank(slack[0]?.events),
    slackNotify: orBlank(channels(slack)),
    emailOn: orBlank(email[0]?.events),
    emailNotify: orBlank(channels(email)),
    active: schedule.active,
    warnings: [...schedule.warnings],
    overlap: OVERLAPS[schedule.overlap],
    catchUp: CATCH_UPS[schedule.catchUp],
    catchUpWindowSeconds: schedule.catchUpWindowSeconds,
    timeLimitSeconds: schedule.timeLimitSeconds,
    slaSeconds: schedule.slaSeconds,
    continueOnError: schedule.continueOnError,
    triggerOnMerge: schedule.triggerOnMerge,
    labels: [...schedule.labels],
    envVarNames: [...schedule.envVarNames],
    sourceFile: schedule.sourceFile ?? '',
  }
}

export const presentSummary = (schedule: ListedSchedule): BoltScheduleSummary => ({
  ok: true,
  slug: schedule.slug,
  name: schedule.name,
  latestRunId: schedule.latestRunId,
  commands: schedule.commands.map((one) => one.command),
  owner: schedule.ownerEmail,
  schedule: schedule.cron,
  uuid: schedule.uuid,
  source: schedule.source,
  suspended: schedule.suspended,
})

/** A time that was reckoned here; those of rows are written by SQL, which knows microseconds. */
export const presentTime = (time: Date): string => time.toISOString().replace('T', ' ').replace('Z', '000')
