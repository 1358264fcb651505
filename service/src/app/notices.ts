// Messages to people: who of a schedule's Slack, mail and Teams entries wants to hear what became of a run. One delivery for
// each address, so that one that is refused does not hold up or repeat the others.
import { followedBy } from '../domain/chain.ts'
import type { Notice, NoticeChannel, TemplateText } from '../domain/messages/notice.ts'
import type { Notification, NotificationEvent } from '../domain/schedule.ts'
import * as integrations from '../store/integrations.ts'
import * as templates from '../store/message-templates.ts'
import * as schedules from '../store/schedules.ts'
import type { App } from './context.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { readRunReport } from './run-report.ts'

export const noticeHandler = (app: App): RunEventHandler => ({
  name: 'notices',
  handle: async (unit, event) => {
    const what = followedBy(event.kind, event.state)
    if (what === null) return
    const schedule = await schedules.find(unit.db, event.workspaceId, event.scheduleSlug, 'any')
    if (schedule === null) return
    const { slack, email, teams } = schedule.notifications
    const wanted = [
      ...wanting('slack', slack, what),
      ...wanting('email', email, what),
      ...wanting('teams', teams, what),
    ]
    if (wanted.length === 0) return
    const report = await readRunReport(app, unit.db, event)
    for (const { channel, entry } of wanted) {
      const template = await templateOf(unit, event, channel, entry)
      const notice: Notice = { event: what, report, template }
      await queueDelivery(unit, {
        workspaceId: event.workspaceId,
        channel: channel === 'email' ? 'mail' : channel,
        integrationId: await integrationOf(unit, event, channel, entry),
        address: entry.channel,
        event: what,
        causeKey: `notice ${what} ${event.runId} ${channel} ${sameAddress(entry)}`,
        runId: event.runId,
        scheduleId: event.scheduleId,
        // How a late run ended is told in the thread of the notice that it is late, so that one goes first.
        line: channel === 'slack' ? `slack ${event.runId} ${sameAddress(entry)}` : null,
        body: notice,
      })
    }
  },
})

interface Wanted {
  readonly channel: NoticeChannel
  readonly entry: Notification
}

/** Each address once; of two entries for it that want the event, the first counts. */
function wanting(channel: NoticeChannel, entries: readonly Notification[], what: NotificationEvent): Wanted[] {
  const asking = entries.filter((one) => one.events.includes(what)).toReversed()
  const byAddress = new Map(asking.map((entry) => [sameAddress(entry), { channel, entry }]))
  return [...byAddress.values()].toReversed()
}

const sameAddress = ({ channel }: Notification): string => channel.replace(/^#/, '').toLowerCase()

/** Gone, or made for another channel: the built-in words. */
async function templateOf(
  unit: Unit,
  event: RunEvent,
  channel: NoticeChannel,
  { templateSlug }: Notification,
): Promise<TemplateText | null> {
  if (templateSlug === null) return null
  const found = await templates.find(unit.db, event.workspaceId, templateSlug)
  if (found === null || found.channel !== channel) return null
  const { slug, name, subject, text } = found
  return { slug, name, subject, text }
}

/** Null where nothing is set up: the delivery is written all the same, and says so to whoever looks for it. */
async function integrationOf(
  unit: Unit,
  event: RunEvent,
  channel: NoticeChannel,
  entry: Notification,
): Promise<number | null> {
  if (channel === 'email') return null
  const name = channel === 'teams' ? entry.channel : ''
  return (await integrations.findByName(unit.db, event.workspaceId, channel, name))?.id ?? null
}
