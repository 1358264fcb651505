// Requests of Datadog's incidents API, version 2 (JSON:API). Further failures go into the summary, which is written whole.
import type { DatadogIntegration } from '../schedule.ts'
import type { Further, IncidentNews } from './incident.ts'
import { closingText, incidentDetails, incidentTitle, NO_FURTHER, runningDetails } from './incident.ts'
import { headline } from './words.ts'

const MOST_TITLE = 255
const MOST_SUMMARY = 8000

const dropdown = (value: string): object => ({ type: 'dropdown', value })
const textbox = (value: string): object => ({ type: 'textbox', value })

export const datadogFirst = ({ report }: IncidentNews): string => incidentDetails(report, MOST_SUMMARY - 3000)

export const datadogSummary = (first: string, further: Further): string => runningDetails(first, further, MOST_SUMMARY)

export function datadogIncident(news: IncidentNews<DatadogIntegration>): object {
  const { entry, report } = news
  return {
    data: {
      type: 'incidents',
      attributes: {
        title: incidentTitle(report, MOST_TITLE),
        customer_impacted: entry.customerImpacted,
        ...(entry.customerImpacted && { customer_impact_scope: headline(report, 'failed') }),
        fields: {
          severity: dropdown(entry.severity.toUpperCase()),
          state: dropdown((entry.state ?? 'active').toLowerCase()),
          summary: textbox(datadogSummary(datadogFirst(news), NO_FURTHER)),
        },
        ...(entry.notificationHandles.length > 0 && {
          notification_handles: entry.notificationHandles.map((handle) => ({
            display_name: handle.replace(/^@/, ''),
            handle,
          })),
        }),
      },
      ...(entry.commanderUserId !== null && {
        relationships: { commander_user: { data: { type: 'users', id: entry.commanderUserId } } },
      }),
    },
  }
}

const change = (id: string, fields: object): object => ({ data: { id, type: 'incidents', attributes: { fields } } })

export const datadogFurther = (id: string, summary: string): object => change(id, { summary: textbox(summary) })

export const datadogClosing = (id: string, news: IncidentNews, summary: string): object =>
  change(id, { state: dropdown('resolved'), summary: textbox(`${summary}\n\n${closingText(news.report)}`) })
