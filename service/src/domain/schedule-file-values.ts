// Fields of a schedule that are lists, or that have more than one way to be written.
import type { Draft } from './schedule-file-draft.ts'
import { setField } from './schedule-file-draft.ts'
import type { Entries, Entry } from './schedule-file-yaml.ts'

const COMMAND_KEYS = ['command', 'continue_on_error']

export function readCommands(draft: Draft, entry: Entry, all: Entries): void {
  const { reader, places } = draft
  const settings = readCommandSettings(draft, all)
  const items = reader.list(entry)
  if (items === null || settings === null) {
    setField(draft, 'commands', entry, null)
    return
  }
  const commands = items.map((item, index) => {
    const asMap = reader.isMap(item) ? reader.map(item, COMMAND_KEYS) : null
    const command = asMap === null ? item : asMap.get('command')
    const flag = asMap?.get('continue_on_error') ?? settings[index]
    if (command === undefined) reader.fault(item.place, `${item.path}.command: needed beside continue_on_error.`)
    places.set(`commands[${index}]`, command ?? item)
    const text = command === undefined ? null : reader.text(command)
    return text === null ? null : { command: text, continueOnError: flag === undefined ? null : reader.flag(flag) }
  })
  setField(draft, 'commands', entry, commands.includes(null) ? null : commands)
  if (settings.length > 0 && settings.length !== items.length) {
    reader.fault(
      all.get('command_settings')!.place,
      `command_settings: ${items.length} commands need as many settings.`,
    )
  }
}

/** The older way: a list beside the commands. */
function readCommandSettings({ reader }: Draft, all: Entries): (Entry | undefined)[] | null {
  const entry = all.get('command_settings')
  if (entry === undefined) return []
  const items = reader.list(entry)
  if (items === null) return null
  return items.map((item) => reader.map(item, ['continue_on_error'])?.get('continue_on_error'))
}

/** `- key: A` with `value: 1`, or simply `A: 1`. */
export function readVariables(draft: Draft, entry: Entry): void {
  const { reader, places } = draft
  const items = reader.isMap(entry) ? reader.pairs(entry) : reader.list(entry)?.map((item) => pairOf(draft, item))
  if (items === undefined || items.includes(null)) {
    setField(draft, 'envVars', entry, null)
    return
  }
  const read = items.map((item, index) => {
    const { key, value, at } = item!
    places.set(`envVars[${index}].key`, at)
    places.set(`envVars[${index}].value`, value)
    return { key, value: reader.text(value) }
  })
  setField(draft, 'envVars', entry, read.every((one) => one.value !== null) ? read : null)
}

function pairOf({ reader }: Draft, item: Entry): { key: string; value: Entry; at: Entry } | null {
  const both = reader.map(item, ['key', 'value'])
  const [key, value] = [both?.get('key'), both?.get('value')]
  if (both !== null && (key === undefined || value === undefined)) {
    reader.fault(item.place, `${item.path}: needs a key and a value.`)
  }
  const text = key === undefined ? null : reader.text(key)
  return text === null || key === undefined || value === undefined ? null : { key: text, value, at: key }
}

export function readLabels(draft: Draft, entry: Entry): void {
  const labels = draft.reader.texts(entry)
  labels?.forEach((one, index) => {
    draft.places.set(`labels[${index}]`, one.entry)
  })
  setField(draft, 'labels', entry, labels?.map((one) => one.text) ?? null)
}

export function readSlaMinutes(draft: Draft, entry: Entry, all: Entries): void {
  if (all.has('sla_seconds')) draft.reader.fault(entry.place, 'sla_minutes: give this or sla_seconds, not both.')
  const minutes = draft.reader.whole(entry)
  setField(draft, 'slaSeconds', entry, minutes === null ? null : minutes * 60)
}

/** The existing product's word for what happens to runs that meet. */
export function readConcurrency(draft: Draft, entry: Entry, all: Entries): void {
  const word = draft.reader.text(entry)
  const overlap = word === 'queue' ? 'queue_one' : word === 'parallel' ? 'allow' : null
  if (all.has('overlap')) draft.reader.fault(entry.place, 'concurrency: give this or overlap, not both.')
  else if (overlap === null) draft.reader.fault(entry.place, 'concurrency: must be queue or parallel.')
  else setField(draft, 'overlap', entry, overlap)
}
