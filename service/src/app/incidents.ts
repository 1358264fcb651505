// One open incident for a schedule and an entry: the first failed run opens it, the next ones are added to it, the first that
// passes closes it. Here it is only said that a run failed or passed; what that means at the service is decided when it is
// sent, from what became of the deliveries before it. A run of a pull request is about a proposal: it opens and closes nothing.
import { followedBy } from '../domain/chain.ts'
import { incidentEntries } from '../domain/incident-entry.ts'
import type { IncidentNews } from '../domain/messages/incident.ts'
import * as incidents from '../store/incidents.ts'
import * as integrations from '../store/integrations.ts'
import * as schedules from '../store/schedules.ts'
import type { App } from './context.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { readRunReport } from './run-report.ts'

const NAME = 'incidents'

export const incidentHandler = (app: App): RunEventHandler => ({
  name: NAME,
  handle: async (unit, event) => {
    if (event.kind !== 'ended' || event.prNumber !== null) return
    const outcome = followedBy(event.kind, event.state)
    if (outcome === 'failed') await failed(app, unit, event)
    if (outcome === 'passed') await passed(app, unit, event)
  },
})

async function failed(app: App, unit: Unit, event: RunEvent): Promise<void> {
  const schedule = await schedules.find(unit.db, event.workspaceId, event.scheduleSlug, 'any')
  const entries = incidentEntries(schedule?.integrations ?? null)
  if (entries.length === 0) return
  await incidents.lockSchedule(unit.db, event.scheduleId)
  if (await incidents.hasPassedSince(unit.db, { runId: event.runId, handler: NAME })) return
  const report = await readRunReport(app, unit.db, event)
  for (const { kind, entry, mark } of entries) {
    const integration = await integrations.findByName(unit.db, event.workspaceId, kind)
    const body: IncidentNews = { report, entry, key: `yardmaster-${report.schedule.uuid}-${mark}` }
    await queueDelivery(unit, {
      ...whatItIsFor(event, 'failed'),
      channel: kind,
      integrationId: integration?.id ?? null,
      line: `incident ${event.scheduleId} ${kind} ${mark}`,
      causeKey: `incident failed ${event.runId} ${kind} ${mark}`,
      body,
    })
  }
}

/** Every line that is open, also of an entry that is gone from the schedule by now: otherwise nobody would close it. */
async function passed(app: App, unit: Unit, event: RunEvent): Promise<void> {
  await incidents.lockSchedule(unit.db, event.scheduleId)
  const open = await incidents.listOpenLines(unit.db, event.scheduleId, event.runId)
  if (open.length === 0) return
  const report = await readRunReport(app, unit.db, event)
  for (const { line, channel, integrationId, body } of open) {
    const { entry, key } = body as IncidentNews
    await queueDelivery(unit, {
      ...whatItIsFor(event, 'passed'),
      channel,
      integrationId,
      line,
      causeKey: `incident passed ${event.runId} ${line}`,
      body: { report, entry, key } satisfies IncidentNews,
    })
  }
}

const whatItIsFor = ({ workspaceId, runId, scheduleId }: RunEvent, outcome: 'failed' | 'passed') => ({
  workspaceId,
  runId,
  scheduleId,
  event: outcome,
})
