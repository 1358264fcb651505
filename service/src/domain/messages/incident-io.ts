// Requests of incident.io's API, version 2. It knows things by id; the names that a schedule may give instead are looked up
// before. It has no notes: further failures are written into the summary.
import type { IncidentIoIntegration } from '../schedule.ts'
import type { Further, IncidentNews } from './incident.ts'
import { closingText, incidentDetails, incidentTitle, NO_FURTHER, runningDetails } from './incident.ts'

const MOST_NAME = 250
const MOST_SUMMARY = 10_000

export interface IncidentIoIds {
  readonly severityId: string | null
  readonly statusId: string | null
  readonly typeId: string | null
}

export const incidentIoSummary = (first: string, further: Further): string =>
  runningDetails(first, further, MOST_SUMMARY)

export const incidentIoFirst = ({ report }: IncidentNews): string => incidentDetails(report, MOST_SUMMARY - 3000)

export function incidentIoIncident(
  news: IncidentNews<IncidentIoIntegration>,
  idempotencyKey: string,
  ids: IncidentIoIds,
): object {
  const { entry, report } = news
  return {
    idempotency_key: idempotencyKey,
    name: incidentTitle(report, MOST_NAME),
    summary: incidentIoSummary(incidentIoFirst(news), NO_FURTHER),
    visibility: entry.visibility.toLowerCase(),
    ...(entry.mode !== null && { mode: entry.mode.toLowerCase() }),
    ...(ids.severityId !== null && { severity_id: ids.severityId }),
    ...(ids.statusId !== null && { incident_status_id: ids.statusId }),
    ...(ids.typeId !== null && { incident_type_id: ids.typeId }),
  }
}

export const incidentIoFurther = (summary: string): object => ({
  incident: { summary },
  notify_incident_channel: true,
})

/** @param statusId null: the service has no status that means closed, so only the summary says it */
export const incidentIoClosing = (news: IncidentNews, summary: string, statusId: string | null): object => ({
  incident: {
    summary: `${summary}\n\n${closingText(news.report)}`,
    ...(statusId !== null && { incident_status_id: statusId }),
  },
  notify_incident_channel: true,
})
