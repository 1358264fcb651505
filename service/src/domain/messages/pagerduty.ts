// Requests of PagerDuty's REST API, version 2. The fields of a schedule's entry are its fields.
import type { PagerDutyIntegration } from '../schedule.ts'
import type { IncidentNews } from './incident.ts'
import { closingText, incidentDetails, incidentTitle, noteText } from './incident.ts'
import { cut } from './words.ts'

const MOST_TITLE = 255
const MOST_DETAILS = 60_000
const MOST_NOTE = 25_000

const reference = (id: string, type: string): object => ({ id, type: `${type}_reference` })

export const pagerDutyTitle = ({ report }: IncidentNews): string => incidentTitle(report, MOST_TITLE)

export function pagerDutyIncident(news: IncidentNews<PagerDutyIntegration>): object {
  const { entry, report, key } = news
  // An incident takes either people or an escalation policy; the people are named more closely.
  const toPeople = entry.assigneeIds.length > 0
  return {
    incident: {
      type: 'incident',
      title: pagerDutyTitle(news),
      service: reference(entry.serviceId, 'service'),
      incident_key: key,
      incident_type: { name: entry.incidentTypeName },
      body: { type: 'incident_body', details: incidentDetails(report, MOST_DETAILS) },
      ...(entry.priorityId !== null && { priority: reference(entry.priorityId, 'priority') }),
      ...(entry.urgency !== null && { urgency: entry.urgency.toLowerCase() }),
      ...(toPeople && { assignments: entry.assigneeIds.map((id) => ({ assignee: reference(id, 'user') })) }),
      ...(!toPeople &&
        entry.escalationPolicyId !== null && {
          escalation_policy: reference(entry.escalationPolicyId, 'escalation_policy'),
        }),
    },
  }
}

export const pagerDutyNote = ({ report }: IncidentNews): object => ({
  note: { content: cut(noteText(report), MOST_NOTE) },
})

export const pagerDutyResolution = ({ report }: IncidentNews): object => ({
  incident: { type: 'incident', status: 'resolved', resolution: closingText(report) },
})
