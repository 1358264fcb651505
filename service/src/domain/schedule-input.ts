// From what somebody sent to what a schedule is. Every refusal begins with the field and says what is allowed. Null
// means "not given", everywhere.
import { CATCH_UPS, OVERLAPS } from './due.ts'
import { parseBranch, parseValue, parseVariableName } from './environment.ts'
import { AppError, invalidInput } from './errors.ts'
import { parseSchedule, parseTimetable } from './occurrence.ts'
import type {
  Deferral,
  EnvVar,
  Notification,
  NotificationEvent,
  ScheduleCommand,
  ScheduleFields,
  ScheduleTrigger,
  SelfHealing,
} from './schedule.ts'
import { NOTIFICATION_EVENTS, OFF } from './schedule.ts'
import type { IntegrationsInput } from './schedule-integrations.ts'
import { parseIntegrations } from './schedule-integrations.ts'
import { parseEmail, parseName, quoted, refuseNul } from './text.ts'
import { findZone } from './timezone.ts'

export type Given<T> = T | null | undefined

export interface NotificationInput {
  readonly channel: string
  readonly events: readonly string[]
  readonly templateSlug?: Given<string>
}

/** A command that says for itself whether the run goes on when it fails. */
export interface CommandInput {
  readonly command: string
  readonly continueOnError?: Given<boolean>
}

export interface DeferralInput {
  readonly enabled: boolean
  readonly successfulRunOnly?: Given<boolean>
  readonly deferredScheduleSlug?: Given<string>
  readonly deferredScheduleName?: Given<string>
}

export interface ScheduleInput {
  readonly name?: Given<string>
  readonly schedule?: Given<string>
  readonly environment?: Given<string>
  readonly commands?: Given<readonly (string | CommandInput)[]>
  readonly gitBranch?: Given<string>
  readonly description?: Given<string>
  readonly timezone?: Given<string>
  readonly ownerEmail?: Given<string>
  readonly suspended?: Given<boolean>
  readonly slaSeconds?: Given<number>
  readonly triggerOnMerge?: Given<boolean>
  readonly continueOnError?: Given<boolean>
  readonly notifications?: Given<{
    readonly slackNotifications?: Given<readonly NotificationInput[]>
    readonly emailNotifications?: Given<readonly NotificationInput[]>
    readonly teamsNotifications?: Given<readonly NotificationInput[]>
  }>
  readonly selfHealing?: Given<{
    readonly enabled: boolean
    readonly slackChannel?: Given<string>
    readonly agentName?: Given<string>
  }>
  readonly envVars?: Given<readonly EnvVar[]>
  readonly integrations?: Given<IntegrationsInput>
  readonly turboCi?: Given<DeferralInput>
  readonly deferredSchedule?: Given<DeferralInput>
  readonly scheduleTrigger?: Given<{
    readonly enabled: boolean
    readonly scheduleName?: Given<string>
    readonly workspaceName?: Given<string>
    readonly triggerOn?: Given<readonly string[]>
  }>
  readonly overlap?: Given<string>
  readonly catchUp?: Given<string>
  readonly catchUpWindowSeconds?: Given<number>
  readonly timeLimitSeconds?: Given<number>
  readonly labels?: Given<readonly string[]>
}

const MOST_COMMANDS = 1000
// A shell takes no single argument of 128 KiB or more.
const MOST_COMMAND_BYTES = 100_000
const LONGEST_DESCRIPTION = 10_000
const MOST_ENTRIES = 100
const MOST_ENV_VARS = 500
const LONGEST_WINDOW = 2_592_000
const LONGEST_SECONDS = 2_147_483_647

/**
 * Reads what was given. The expression and the zone are judged together, so a change of one alone needs the other as it
 * is: `present`.
 */
export function parseScheduleInput(
  input: ScheduleInput,
  present: { readonly cron: string; readonly timezone: string } = { cron: OFF, timezone: 'UTC' },
): ScheduleFields {
  const fields: { -readonly [Field in keyof ScheduleFields]: ScheduleFields[Field] } = {}
  const { name, schedule, timezone, environment, commands, gitBranch, description, ownerEmail } = input
  if (given(name)) fields.name = parseName(name, 'name')
  if (given(schedule) || given(timezone)) {
    const timing = parseTiming(schedule ?? present.cron, timezone ?? present.timezone)
    if (given(schedule)) fields.cron = timing.cron
    if (given(timezone)) fields.timezone = timing.timezone
  }
  if (given(environment)) {
    if (environment.trim() === '') throw invalidInput('environment: must not be empty. Name an environment.')
    fields.environment = environment.trim()
  }
  if (given(commands)) fields.commands = parseCommands(commands)
  if (given(gitBranch)) fields.gitBranch = gitBranch.trim() === '' ? null : parseBranch(gitBranch.trim(), 'gitBranch')
  if (given(description)) {
    if (description.length > LONGEST_DESCRIPTION)
      throw invalidInput(`description: at most ${LONGEST_DESCRIPTION} characters, not ${description.length}.`)
    fields.description = refuseNul(description, 'description')
  }
  if (given(ownerEmail) && ownerEmail.trim() !== '') fields.ownerEmail = parseEmail(ownerEmail, 'ownerEmail')
  for (const flag of ['suspended', 'triggerOnMerge', 'continueOnError'] as const) {
    const value = input[flag]
    if (given(value)) fields[flag] = value
  }
  // 0 takes the limit away again, since null says nothing.
  for (const limit of ['slaSeconds', 'timeLimitSeconds'] as const) {
    const value = input[limit]
    if (given(value)) fields[limit] = parseWhole(value, limit, 0, LONGEST_SECONDS) || null
  }
  if (given(input.notifications)) {
    const { slackNotifications, emailNotifications, teamsNotifications } = input.notifications
    fields.notifications = {
      slack: parseNotifications(slackNotifications, 'notifications.slackNotifications'),
      email: parseNotifications(emailNotifications, 'notifications.emailNotifications', true),
      teams: parseNotifications(teamsNotifications, 'notifications.teamsNotifications'),
    }
  }
  if (given(input.selfHealing)) fields.selfHealing = parseSelfHealing(input.selfHealing)
  if (given(input.envVars)) fields.envVars = parseEnvVars(input.envVars)
  if (given(input.integrations)) fields.integrations = parseIntegrations(input.integrations)
  if (given(input.turboCi)) fields.turboCi = parseDeferral(input.turboCi, 'turboCi')
  if (given(input.deferredSchedule)) fields.deferredSchedule = parseDeferral(input.deferredSchedule, 'deferredSchedule')
  if (given(input.scheduleTrigger)) fields.scheduleTrigger = parseTrigger(input.scheduleTrigger)
  if (given(input.overlap)) fields.overlap = parseWord(input.overlap, OVERLAPS, 'overlap')
  if (given(input.catchUp)) fields.catchUp = parseWord(input.catchUp, CATCH_UPS, 'catchUp')
  if (given(input.catchUpWindowSeconds))
    fields.catchUpWindowSeconds = parseWhole(input.catchUpWindowSeconds, 'catchUpWindowSeconds', 0, LONGEST_WINDOW)
  if (given(input.labels)) fields.labels = parseLabels(input.labels)
  return fields
}

export type NewScheduleFields = ScheduleFields &
  Required<Pick<ScheduleFields, 'name' | 'cron' | 'environment' | 'commands'>>

/** The same for a new schedule, which needs the first four. */
export function parseNewSchedule(input: ScheduleInput): NewScheduleFields {
  const fields = parseScheduleInput(input)
  const { name, cron, environment, commands } = fields
  if (name === undefined) throw invalidInput('name: needed, 1 to 128 characters on one line.')
  if (cron === undefined) throw invalidInput('schedule: needed, a cron expression or OFF.')
  if (environment === undefined) throw invalidInput('environment: needed, the slug of an environment.')
  if (commands === undefined) throw invalidInput('commands: needed, at least one.')
  return { ...fields, name, cron, environment, commands }
}

const given = <T>(value: Given<T>): value is T => value !== null && value !== undefined

export function parseTiming(schedule: string, timezone: string): { cron: string; timezone: string } {
  const zone = timezone.trim() === '' ? 'UTC' : timezone.trim()
  if (findZone(zone) === null)
    throw invalidInput(`timezone: ${quoted(zone)} is no time zone. Use an IANA name such as Europe/Berlin.`)
  const cron = parseSchedule(schedule) ?? OFF
  if (cron !== OFF) parseTimetable(cron, zone)
  return { cron, timezone: zone }
}

function parseCommands(commands: readonly (string | CommandInput)[]): ScheduleCommand[] {
  if (commands.length === 0) throw invalidInput('commands: at least one is needed.')
  if (commands.length > MOST_COMMANDS) throw invalidInput(`commands: at most ${MOST_COMMANDS}, not ${commands.length}.`)
  return commands.map((given, index) => {
    const { command, continueOnError = null } = typeof given === 'string' ? { command: given } : given
    return { command: parseCommand(command, `commands[${index}]`), continueOnError }
  })
}

function parseCommand(command: string, field: string): string {
  if (command.trim() === '') throw invalidInput(`${field}: must not be empty. Give a shell command.`)
  if (Buffer.byteLength(command) > MOST_COMMAND_BYTES)
    throw invalidInput(`${field}: at most ${MOST_COMMAND_BYTES} bytes; put longer scripts into the repository.`)
  return refuseNul(command, field)
}

function parseWhole(value: number, field: string, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw invalidInput(`${field}: a whole number of seconds from ${least} to ${most}, not ${value}.`)
  return value
}

function parseWord<Word extends string>(text: string, words: readonly Word[], field: string): Word {
  const wanted = text.trim().toLowerCase()
  const word = words.find((one) => one === wanted)
  if (word === undefined) throw invalidInput(`${field}: ${quoted(text)} is not one of ${words.join(', ')}.`)
  return word
}

function parseEvents(events: readonly string[], field: string): NotificationEvent[] {
  return [...new Set(events.map((one) => parseWord(one, NOTIFICATION_EVENTS, field)))]
}

function parseNotifications(
  entries: Given<readonly NotificationInput[]>,
  field: string,
  areAddresses = false,
): Notification[] {
  if (entries && entries.length > MOST_ENTRIES)
    throw invalidInput(`${field}: at most ${MOST_ENTRIES} entries, not ${entries.length}.`)
  return (entries ?? []).map((entry, index) => {
    const at = `${field}[${index}]`
    return {
      channel: areAddresses
        ? parseEmail(entry.channel, `${at}.channel`)
        : parseLine(entry.channel, `${at}.channel`, 'the name of a channel'),
      events: parseEvents(entry.events, `${at}.events`),
      templateSlug: parseOptionalLine(entry.templateSlug, `${at}.templateSlug`),
    }
  })
}

const LONGEST_LINE = 512

function parseLine(text: string, field: string, what: string): string {
  if (text.trim() === '') throw invalidInput(`${field}: must not be empty. Give ${what}.`)
  return parseOptionalLine(text, field)!
}

/** One line of text, or null for nothing. */
function parseOptionalLine(text: Given<string>, field: string): string | null {
  if (!given(text) || text.trim() === '') return null
  if (text.length > LONGEST_LINE || /[\r\n\0]/.test(text))
    throw invalidInput(`${field}: one line of up to ${LONGEST_LINE} characters.`)
  return text.trim()
}

function parseSelfHealing(input: NonNullable<ScheduleInput['selfHealing']>): SelfHealing {
  return {
    enabled: input.enabled,
    slackChannel: parseOptionalLine(input.slackChannel, 'selfHealing.slackChannel'),
    agentName: parseOptionalLine(input.agentName, 'selfHealing.agentName'),
  }
}

function parseEnvVars(vars: readonly EnvVar[]): EnvVar[] {
  if (vars.length > MOST_ENV_VARS) throw invalidInput(`envVars: at most ${MOST_ENV_VARS}, not ${vars.length}.`)
  const seen = new Set<string>()
  return vars.map(({ key, value }, index) => {
    if (seen.has(key)) throw invalidInput(`envVars[${index}].key: ${quoted(key)} is given twice.`)
    seen.add(key)
    return {
      key: within(`envVars[${index}].key`, () => parseVariableName(key)),
      value: within(`envVars[${index}].value`, () => parseValue(value)),
    }
  })
}

/** The rules of an environment's variables, with the name of this field. */
function within<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (error instanceof AppError) throw invalidInput(error.message.replace(/^\w+/, field))
    throw error
  }
}

function parseDeferral(input: DeferralInput, field: string): Deferral {
  const slug =
    parseOptionalLine(input.deferredScheduleSlug, `${field}.deferredScheduleSlug`) ??
    parseOptionalLine(input.deferredScheduleName, `${field}.deferredScheduleName`)
  if (input.enabled && slug === null)
    throw invalidInput(`${field}.deferredScheduleSlug: needed when enabled, the slug of a schedule of the workspace.`)
  return { enabled: input.enabled, slug, successfulRunOnly: input.successfulRunOnly ?? true }
}

function parseTrigger(input: NonNullable<ScheduleInput['scheduleTrigger']>): ScheduleTrigger {
  const scheduleName = parseOptionalLine(input.scheduleName, 'scheduleTrigger.scheduleName')
  if (input.enabled && scheduleName === null)
    throw invalidInput('scheduleTrigger.scheduleName: needed when enabled, the name or slug of the parent schedule.')
  const events = given(input.triggerOn) ? parseEvents(input.triggerOn, 'scheduleTrigger.triggerOn') : []
  return {
    enabled: input.enabled,
    parentId: null,
    scheduleName,
    workspaceName: parseOptionalLine(input.workspaceName, 'scheduleTrigger.workspaceName'),
    // A child that waits for no event would never run: without one it waits for its parent to pass.
    triggerOn: events.length > 0 ? events : ['passed'],
  }
}

function parseLabels(labels: readonly string[]): string[] {
  if (labels.length > 20) throw invalidInput(`labels: at most 20, not ${labels.length}.`)
  return [
    ...new Set(
      labels.map((label, index) => {
        if (!/^[A-Za-z0-9][A-Za-z0-9._=-]{0,62}$/.test(label))
          throw invalidInput(`labels[${index}]: up to 63 letters, digits, dots, hyphens, underscores and equals signs.`)
        return label
      }),
    ),
  ]
}
