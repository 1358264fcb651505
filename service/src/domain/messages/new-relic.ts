// Custom events of New Relic's Event API. New Relic opens and closes incidents itself, by alert conditions over what it is
// sent: each run that opens, adds to or closes an incident is one event with the schedule's environment in it.
import type { RunReport } from '../run-report.ts'
import type { NewRelicIntegration } from '../schedule.ts'
import type { IncidentNews } from './incident.ts'
import { cut, failedCommand, lastLinesWithin, nodeText, oneLine, plain, stateWord } from './words.ts'

const MOST_VALUE = 4096

export type NewRelicAction = 'open' | 'add' | 'close' | 'test'

export function newRelicEvents(
  news: IncidentNews<NewRelicIntegration>,
  action: NewRelicAction,
  deliveryId: string,
): object[] {
  const { report, entry, key } = news
  const texts: Record<string, string> = {
    action,
    incidentKey: key,
    // The same over all tries: uniqueCount(deliveryId) counts each once.
    deliveryId,
    environment: entry.environment,
    workspace: report.workspace.name,
    schedule: report.schedule.name,
    scheduleSlug: report.schedule.slug,
    state: stateWord(report),
    detail: report.run.detail,
    actor: report.run.actor,
    branch: report.run.branch,
    commit: report.run.commitHash,
    runUrl: report.links.run,
    ...failure(report),
  }
  const filled = Object.entries(texts).filter(([, value]) => value !== '')
  return [
    {
      eventType: 'YardmasterIncident',
      ...Object.fromEntries(filled.map(([name, value]) => [name, cut(value, MOST_VALUE)])),
      runId: report.run.id,
      ...(report.run.seconds !== null && { durationSeconds: report.run.seconds }),
      failedNodeCount: report.failedNodeCount,
    },
  ]
}

function failure(report: RunReport): Record<string, string> {
  const command = failedCommand(report)
  if (command === null) return {}
  return {
    command: oneLine(command.command),
    output: lastLinesWithin(command.lastLines.map(plain), MOST_VALUE),
    failedNodes: report.failedNodes.map(nodeText).join(', '),
    logUrl: report.links.failedCommand ?? '',
  }
}
