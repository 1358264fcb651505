// The blocks of a schedule that have keys of their own: what to run after, what to defer to, who mends it.
import type { Draft } from './schedule-file-draft.ts'
import { setField, snake } from './schedule-file-draft.ts'
import type { Entries, Entry } from './schedule-file-yaml.ts'
import type { IntegrationKind, IntegrationsInput } from './schedule-integrations.ts'
import { INTEGRATION_FIELDS } from './schedule-integrations.ts'

/** The value of a key, read and remembered under the name of its field. */
function take<T>(draft: Draft, field: string, entry: Entry | undefined, read: (entry: Entry) => T | null): T | null {
  if (entry === undefined) return null
  draft.places.set(field, entry)
  return read(entry)
}

const DEFERRAL = ['deferred_schedule_slug', 'deferred_schedule_name', 'deferred_manifest_schedule']

export function readDeferral(draft: Draft, entry: Entry, field: 'turboCi' | 'deferredSchedule'): void {
  const { reader } = draft
  const keys = reader.map(entry, ['enabled', ...DEFERRAL, 'successful_runs_only', 'successful_run_only'])
  if (keys === null) {
    setField(draft, field, entry, null)
    return
  }
  const named = DEFERRAL.map((key) => keys.get(key)).find((one) => one !== undefined)
  const only = keys.get('successful_runs_only') ?? keys.get('successful_run_only')
  setField(draft, field, entry, {
    enabled: flagOr(draft, keys.get('enabled'), true),
    successfulRunOnly: flagOr(draft, only, true),
    deferredScheduleSlug: take(draft, `${field}.deferredScheduleSlug`, named, (one) => reader.text(one)),
  })
}

const flagOr = ({ reader }: Draft, entry: Entry | undefined, otherwise: boolean): boolean =>
  entry === undefined ? otherwise : (reader.flag(entry) ?? otherwise)

interface TriggerKeys {
  readonly enabled: string | null
  readonly slug: string
  readonly name: string
  readonly workspace: string
  readonly on: string
}

const SCHEDULE_TRIGGER: TriggerKeys = {
  enabled: 'enabled',
  slug: 'schedule_slug',
  name: 'schedule_name',
  workspace: 'workspace_name',
  on: 'trigger_on',
}

/** The shorter way to say the same, which is always on. */
const RUN_AFTER: TriggerKeys = {
  enabled: null,
  slug: 'schedule_slug',
  name: 'schedule',
  workspace: 'workspace',
  on: 'on',
}

export const readScheduleTrigger = (draft: Draft, entry: Entry): void => readTrigger(draft, entry, SCHEDULE_TRIGGER)

export function readRunAfter(draft: Draft, entry: Entry, all: Entries): void {
  if (all.has('schedule_trigger'))
    draft.reader.fault(entry.place, 'run_after: give this or schedule_trigger, not both.')
  else readTrigger(draft, entry, RUN_AFTER)
}

function readTrigger(draft: Draft, entry: Entry, words: TriggerKeys): void {
  const { reader, places } = draft
  const keys = reader.map(
    entry,
    Object.values(words).filter((one) => one !== null),
  )
  if (keys === null) {
    setField(draft, 'scheduleTrigger', entry, null)
    return
  }
  const text = (field: string, one: Entry | undefined) =>
    take(draft, `scheduleTrigger.${field}`, one, (given) => reader.text(given))
  const events = keys.get(words.on)
  if (events !== undefined) places.set('scheduleTrigger.triggerOn', events)
  setField(draft, 'scheduleTrigger', entry, {
    enabled: words.enabled === null || flagOr(draft, keys.get(words.enabled), true),
    scheduleName: text('scheduleName', keys.get(words.slug) ?? keys.get(words.name)),
    workspaceName: text('workspaceName', keys.get(words.workspace)),
    triggerOn: events === undefined ? null : textsOf(draft, events),
  })
}

const textsOf = ({ reader }: Draft, entry: Entry): string[] | null =>
  reader.texts(entry)?.map((one) => one.text) ?? null

export function readSelfHealing(draft: Draft, entry: Entry): void {
  const { reader } = draft
  const keys = reader.map(entry, ['enabled', 'slack_channel', 'agent_name'])
  if (keys === null) {
    setField(draft, 'selfHealing', entry, null)
    return
  }
  const text = (field: string, key: string) =>
    take(draft, `selfHealing.${field}`, keys.get(key), (given) => reader.text(given))
  setField(draft, 'selfHealing', entry, {
    enabled: flagOr(draft, keys.get('enabled'), true),
    slackChannel: text('slackChannel', 'slack_channel'),
    agentName: text('agentName', 'agent_name'),
  })
}

const INTEGRATIONS = ['incidentIo', 'pagerduty', 'datadog', 'newRelic'] as const satisfies (keyof IntegrationsInput)[]

export function readIntegrations(draft: Draft, entry: Entry): void {
  const keys = draft.reader.map(entry, INTEGRATIONS.map(snake))
  if (keys === null) {
    setField(draft, 'integrations', entry, null)
    return
  }
  const read = INTEGRATIONS.map((name) => {
    const given = keys.get(snake(name))
    const items = given === undefined ? [] : (draft.reader.list(given) ?? [])
    if (given !== undefined) draft.places.set(`integrations.${name}`, given)
    return [name, items.map((item, index) => integration(draft, name, item, index))]
  })
  setField(draft, 'integrations', entry, Object.fromEntries(read))
}

function integration(draft: Draft, name: keyof IntegrationsInput, item: Entry, index: number): object {
  const { reader, places } = draft
  const fields: Readonly<Record<string, IntegrationKind>> = INTEGRATION_FIELDS[name]
  places.set(`integrations.${name}[${index}]`, item)
  const keys = reader.map(item, Object.keys(fields).map(snake))
  return Object.fromEntries(
    Object.entries(fields).map(([field, kind]) => {
      const given = keys?.get(snake(field))
      if (given === undefined) return [field, null]
      places.set(`integrations.${name}[${index}].${field}`, given)
      if (kind === 'flag') return [field, reader.flag(given)]
      return [field, kind === 'texts' ? textsOf(draft, given) : reader.text(given)]
    }),
  )
}
