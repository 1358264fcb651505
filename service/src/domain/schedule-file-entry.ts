// One schedule of a file: from the keys that people write to the input that schedule-input.ts judges. What a value may
// be is decided there alone; here each field is remembered with its key and its line, so that its refusals come back
// under the words of the file.
//
// A schedule is named in one of three forms: by `name` alone, which is its slug too where it can be one; by `name` as
// the slug beside `display_name`; by `name` as the label beside `slug`.
import { AppError } from './errors.ts'
import {
  readDeferral,
  readIntegrations,
  readRunAfter,
  readScheduleTrigger,
  readSelfHealing,
} from './schedule-file-blocks.ts'
import type { Draft, FieldPlaces } from './schedule-file-draft.ts'
import { setField, translated } from './schedule-file-draft.ts'
import { OLDER_KEYS, readNotifications } from './schedule-file-notifications.ts'
import { readCommands, readConcurrency, readLabels, readSlaMinutes, readVariables } from './schedule-file-values.ts'
import type { Entries, Entry, Place, YamlReader } from './schedule-file-yaml.ts'
import type { NewScheduleFields, ScheduleInput } from './schedule-input.ts'
import { parseNewSchedule, parseScheduleInput } from './schedule-input.ts'
import { isSlug, slugOfFile } from './slug.ts'
import { quoted } from './text.ts'

export interface FileSchedule {
  readonly file: string
  readonly place: Place
  readonly slug: string
  /** What others may call it besides its slug. */
  readonly names: readonly string[]
  readonly fields: NewScheduleFields
  readonly places: FieldPlaces
}

/** A key that becomes a field as it is. */
interface PlainKey {
  readonly field: keyof ScheduleInput
  readonly kind: 'text' | 'flag' | 'whole'
}

const PLAIN: Readonly<Record<string, PlainKey>> = {
  schedule: { field: 'schedule', kind: 'text' },
  timezone: { field: 'timezone', kind: 'text' },
  environment: { field: 'environment', kind: 'text' },
  git_branch: { field: 'gitBranch', kind: 'text' },
  owner_email: { field: 'ownerEmail', kind: 'text' },
  description: { field: 'description', kind: 'text' },
  suspended: { field: 'suspended', kind: 'flag' },
  trigger_on_merge: { field: 'triggerOnMerge', kind: 'flag' },
  continue_on_error: { field: 'continueOnError', kind: 'flag' },
  sla_seconds: { field: 'slaSeconds', kind: 'whole' },
  time_limit_seconds: { field: 'timeLimitSeconds', kind: 'whole' },
  overlap: { field: 'overlap', kind: 'text' },
  catch_up: { field: 'catchUp', kind: 'text' },
  catch_up_window_seconds: { field: 'catchUpWindowSeconds', kind: 'whole' },
}

const BLOCKS: Readonly<Record<string, (draft: Draft, entry: Entry, all: Entries) => void>> = {
  commands: readCommands,
  env_overrides: readVariables,
  labels: readLabels,
  sla_minutes: readSlaMinutes,
  concurrency: readConcurrency,
  turbo_ci: (draft, entry) => readDeferral(draft, entry, 'turboCi'),
  deferred_schedule: (draft, entry) => readDeferral(draft, entry, 'deferredSchedule'),
  schedule_trigger: readScheduleTrigger,
  run_after: readRunAfter,
  self_healing: readSelfHealing,
  integrations: readIntegrations,
  hightouch: ({ reader }, entry) => reader.warn(entry.place, 'hightouch: is taken and not used; call it in a command.'),
}

const KEYS = [
  ...['name', 'slug', 'display_name'],
  ...Object.keys(PLAIN),
  ...Object.keys(BLOCKS),
  ...['command_settings', 'notifications', ...OLDER_KEYS],
]

/** Null where something is wrong with it: the reader has the faults. */
export function readEntry(reader: YamlReader, entry: Entry): FileSchedule | null {
  const before = reader.findings.length
  const all = reader.map(entry, KEYS)
  if (all === null) return null
  const draft: Draft = { reader, input: {}, places: new Map(), unreadable: new Set() }
  const naming = readNaming(draft, entry, all)
  for (const [key, { field, kind }] of Object.entries(PLAIN)) {
    const given = all.get(key)
    if (given !== undefined) setField(draft, field, given, reader[kind](given))
  }
  for (const [key, read] of Object.entries(BLOCKS)) {
    const given = all.get(key)
    if (given !== undefined) read(draft, given, all)
  }
  readNotifications(draft, all)
  const fields = judge(draft, entry)
  const isGood = reader.findings.slice(before).every((one) => one.severity !== 'fault')
  if (naming === null || fields === null || !isGood) return null
  return { file: reader.file, place: entry.place, ...naming, fields, places: draft.places }
}

function readNaming(draft: Draft, entry: Entry, all: Entries): { slug: string; names: string[] } | null {
  const { reader } = draft
  const read = (key: string): string | null => {
    const given = all.get(key)
    return given === undefined ? null : (reader.text(given)?.trim() ?? null)
  }
  const [name, slug, label] = [read('name'), read('slug'), read('display_name')]
  const nameEntry = all.get('name')
  if (name === null || nameEntry === undefined) {
    draft.unreadable.add('name')
    if (nameEntry === undefined) reader.fault(entry.place, `${entry.path}.name: needed, the name of the schedule.`)
    return null
  }
  const shown = slug === null && label !== null && label !== '' ? all.get('display_name')! : nameEntry
  setField(draft, 'name', shown, shown === nameEntry ? name : label)
  if (slug !== null) {
    const place = all.get('slug')!.place
    if (label !== null)
      reader.warn(all.get('display_name')!.place, 'display_name: is not used beside slug; name is shown.')
    if (!isSlug(slug)) {
      const rule = 'lower-case letters and digits in groups joined by single hyphens, at most 80 characters'
      reader.fault(place, `slug: ${quoted(slug)} is no slug (${rule}). ${quoted(slugOfFile(name))} would be one.`)
      return null
    }
    return { slug, names: [name] }
  }
  return { slug: isSlug(name) ? name : slugOfFile(name), names: shown === nameEntry ? [name] : [name, label!] }
}

/** The judgement of schedule-input.ts. Only when it says no, field by field, for all faults and not only the first. */
function judge(draft: Draft, entry: Entry): NewScheduleFields | null {
  const { input, unreadable } = draft
  if (unreadable.size === 0) {
    try {
      return parseNewSchedule(input)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
  }
  const { schedule, timezone, ...rest } = input
  const parts: ScheduleInput[] = [
    { schedule, timezone },
    ...Object.entries(rest).map(([key, value]) => ({ [key]: value })),
  ]
  for (const part of parts) complain(draft, entry, () => parseScheduleInput(part))
  // What was read has been judged; whether all that is needed is there is asked with stand-ins for the rest.
  const needed = { name: 'x', schedule: 'OFF', environment: 'x', commands: ['x'] }
  for (const key of Object.keys(needed) as (keyof typeof needed)[]) {
    if (input[key] !== undefined || unreadable.has(key)) continue
    complain(draft, entry, () => parseNewSchedule({ ...needed, [key]: undefined }))
  }
  return null
}

function complain(draft: Draft, entry: Entry, parse: () => void): void {
  try {
    parse()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { place, message } = translated(error.message, draft.places, { path: entry.path, place: entry.place })
    draft.reader.fault(place, message)
  }
}
