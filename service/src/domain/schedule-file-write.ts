// Schedules as a file that reads back to the same. What is as it would be without being said is left out. Words that
// YAML 1.1 takes for something else (OFF, yes) are in quotes, because the existing product reads that.
import { Document, isSeq } from 'yaml'
import type { Deferral, Notification } from './schedule.ts'
import { snake } from './schedule-file-draft.ts'
import type { NewScheduleFields } from './schedule-input.ts'

export interface WritableSchedule {
  readonly slug: string
  readonly fields: NewScheduleFields
  /** The slug of the schedule that it waits for. */
  readonly parentSlug: string | null
  /** Names of variables whose values are not given out. */
  readonly hiddenVariables: readonly string[]
}

export function writeScheduleFile(schedules: readonly WritableSchedule[]): string {
  const document = new Document({ version: 1, schedules: schedules.map(entryOf) }, { version: '1.1' })
  const list = document.get('schedules')
  for (const [index, { hiddenVariables }] of schedules.entries()) {
    const node = isSeq(list) ? (list.items[index] as { commentBefore?: string }) : null
    if (node === null || hiddenVariables.length === 0) continue
    node.commentBefore = ` env_overrides: give the values of ${hiddenVariables.join(', ')}; they are not exported.`
  }
  return document.toString({ lineWidth: 0, directives: false })
}

function entryOf({ slug, fields, parentSlug }: WritableSchedule): object {
  const { scheduleTrigger: trigger, notifications, selfHealing, integrations } = fields
  return given({
    name: fields.name,
    slug,
    schedule: fields.cron,
    timezone: fields.timezone === 'UTC' ? null : fields.timezone,
    environment: fields.environment,
    commands: fields.commands.map(({ command, continueOnError }) =>
      continueOnError === null ? command : { command, continue_on_error: continueOnError },
    ),
    description: fields.description || null,
    owner_email: fields.ownerEmail || null,
    git_branch: fields.gitBranch,
    suspended: fields.suspended || null,
    continue_on_error: fields.continueOnError || null,
    trigger_on_merge: fields.triggerOnMerge || null,
    ...seconds('sla', fields.slaSeconds ?? null),
    time_limit_seconds: fields.timeLimitSeconds,
    overlap: fields.overlap === 'queue_one' ? null : fields.overlap,
    catch_up: fields.catchUp === 'latest' ? null : fields.catchUp,
    catch_up_window_seconds: fields.catchUpWindowSeconds === 3600 ? null : fields.catchUpWindowSeconds,
    labels: filled(fields.labels),
    env_overrides: filled(fields.envVars?.map(({ key, value }) => ({ key, value }))),
    notifications: givenOrNull({
      slack_channels: filled(notifications?.slack.map(told('channel'))),
      emails: filled(notifications?.email.map(told('address'))),
      microsoft_teams: filled(notifications?.teams.map(told('channel'))),
    }),
    turbo_ci: deferral(fields.turboCi),
    deferred_schedule: deferral(fields.deferredSchedule),
    schedule_trigger:
      trigger &&
      given({
        enabled: trigger.enabled,
        schedule_slug: parentSlug ?? trigger.scheduleName,
        workspace_name: trigger.workspaceName,
        trigger_on: trigger.triggerOn,
      }),
    self_healing: selfHealing && inSnake({ ...selfHealing }),
    integrations:
      integrations &&
      givenOrNull(
        Object.fromEntries(
          Object.entries<readonly object[]>({ ...integrations }).map(([name, all]) => [
            snake(name),
            filled(all.map((one) => inSnake({ ...one }))),
          ]),
        ),
      ),
  })
}

const told =
  (key: 'channel' | 'address') =>
  ({ channel, events, templateSlug }: Notification): object =>
    given({ [key]: channel, events, template_slug: templateSlug })

const deferral = (one: Deferral | undefined): object | null =>
  one === undefined || one === null
    ? null
    : given({ enabled: one.enabled, deferred_schedule_slug: one.slug, successful_runs_only: one.successfulRunOnly })

/** Whole minutes are what people write. */
const seconds = (what: string, value: number | null): object =>
  value !== null && value % 60 === 0 ? { [`${what}_minutes`]: value / 60 } : { [`${what}_seconds`]: value }

const filled = <T>(list: readonly T[] | undefined): readonly T[] | null =>
  list === undefined || list.length === 0 ? null : list

const given = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const givenOrNull = (fields: Readonly<Record<string, unknown>>): object | null => {
  const some = given(fields)
  return Object.keys(some).length === 0 ? null : some
}

const inSnake = (fields: Readonly<Record<string, unknown>>): object =>
  given(Object.fromEntries(Object.entries(fields).map(([name, value]) => [snake(name), value])))
