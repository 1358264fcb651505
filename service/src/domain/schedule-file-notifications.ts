// Whom to tell of a schedule's runs: the block `notifications`, and the older keys slack_notify with slack_on and
// email_notify with email_on. Both may stand in one schedule; a channel that is in both is told once.
import type { Draft } from './schedule-file-draft.ts'
import type { Entries, Entry } from './schedule-file-yaml.ts'
import type { NotificationInput } from './schedule-input.ts'

const CHANNELS = [
  { field: 'slackNotifications', key: 'slack_channels', older: { notify: 'slack_notify', on: 'slack_on' } },
  { field: 'emailNotifications', key: 'emails', older: { notify: 'email_notify', on: 'email_on' } },
  { field: 'teamsNotifications', key: 'microsoft_teams', older: null },
] as const

export const OLDER_KEYS = CHANNELS.flatMap(({ older }) => (older === null ? [] : [older.notify, older.on]))

export function readNotifications(draft: Draft, all: Entries): void {
  const entry = all.get('notifications')
  const keys = CHANNELS.map((one) => one.key)
  const block = entry === undefined ? null : draft.reader.map(entry, keys)
  const read = CHANNELS.map(({ field, key, older }) => {
    const items: Told[] = []
    const given = block?.get(key)
    for (const item of given === undefined ? [] : (draft.reader.list(given) ?? [])) readItem(draft, item, items)
    if (older !== null) readOlder(draft, all, older, items)
    return [field, items.map((item, index) => placed(draft, `notifications.${field}[${index}]`, item))] as const
  })
  if (entry !== undefined) draft.places.set('notifications', entry)
  if (entry !== undefined || read.some(([, items]) => items.length > 0)) {
    draft.input.notifications = Object.fromEntries(read)
  }
}

/** An entry with where its parts stand. */
interface Told extends NotificationInput {
  readonly at: { readonly channel: Entry; readonly events: Entry; readonly templateSlug: Entry | undefined }
}

function placed({ places }: Draft, field: string, { at, ...item }: Told): NotificationInput {
  for (const [part, entry] of Object.entries(at)) if (entry !== undefined) places.set(`${field}.${part}`, entry)
  return item
}

function readItem(draft: Draft, item: Entry, items: Told[]): void {
  const { reader } = draft
  const keys = reader.map(item, ['channel', 'address', 'events', 'template_slug'])
  if (keys === null) return
  const [channel, events] = [keys.get('channel') ?? keys.get('address'), keys.get('events')]
  if (channel === undefined) reader.fault(item.place, `${item.path}.channel: needed: a channel, or an address.`)
  if (events === undefined) reader.fault(item.place, `${item.path}.events: needed: a list of failed, passed, sla.`)
  if (channel === undefined || events === undefined) return
  const [text, words] = [reader.text(channel), reader.texts(events)]
  if (text === null || words === null) return
  const template = keys.get('template_slug')
  items.push({
    channel: text,
    events: words.map((one) => one.text),
    templateSlug: template === undefined ? null : reader.text(template),
    at: { channel, events, templateSlug: template },
  })
}

/** Blank texts are what an older client writes for nothing. */
function readOlder(draft: Draft, all: Entries, older: { notify: string; on: string }, items: Told[]): void {
  const { reader } = draft
  const [notify, on] = [all.get(older.notify), all.get(older.on)]
  const filled = (entry: Entry | undefined) =>
    entry === undefined ? [] : (reader.texts(entry) ?? []).filter((one) => one.text.trim() !== '')
  const [channels, events] = [filled(notify), filled(on)]
  if (channels.length > 0 && events.length === 0)
    reader.warn(notify!.place, `${older.notify}: nobody is told without ${older.on} (failed, passed, sla).`)
  if (events.length > 0 && channels.length === 0)
    reader.warn(on!.place, `${older.on}: nobody is told without ${older.notify}.`)
  if (events.length === 0) return
  for (const { text, entry } of channels) {
    if (items.some((one) => one.channel.trim().toLowerCase() === text.trim().toLowerCase())) continue
    const words = events.map((one) => one.text)
    items.push({
      channel: text,
      events: words,
      templateSlug: null,
      at: { channel: entry, events: on!, templateSlug: undefined },
    })
  }
}
