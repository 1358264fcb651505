// The incident entries of a schedule as deliveries know them. Two entries are the same when they lead to the same place: a
// changed priority or assignee goes on with the incident that is open.
import { createHash } from 'node:crypto'
import type { Integrations } from './schedule.ts'

export const INCIDENT_KINDS = ['pagerduty', 'incident_io', 'datadog', 'new_relic'] as const
export type IncidentKind = (typeof INCIDENT_KINDS)[number]

export interface IncidentEntry {
  readonly kind: IncidentKind
  readonly entry: object
  /** Of the line of deliveries and of the incident, within the schedule. */
  readonly mark: string
}

export function incidentEntries(integrations: Integrations | null): IncidentEntry[] {
  if (integrations === null) return []
  const { pagerduty, incidentIo, datadog, newRelic } = integrations
  const all: IncidentEntry[] = [
    ...pagerduty.map((entry) => of('pagerduty', entry, entry.serviceId, entry.incidentTypeName)),
    ...incidentIo.map((entry) => of('incident_io', entry, entry.typeId ?? entry.type, entry.visibility, entry.mode)),
    ...datadog.map((entry) => of('datadog', entry, entry.severity)),
    ...newRelic.map((entry) => of('new_relic', entry, entry.environment)),
  ]
  // Given twice, the first one counts.
  return [...new Map(all.toReversed().map((one) => [one.mark, one])).values()].toReversed()
}

function of(kind: IncidentKind, entry: object, ...identity: readonly (string | null)[]): IncidentEntry {
  const text = JSON.stringify([kind, ...identity.map((one) => one?.toLowerCase() ?? null)])
  return { kind, entry, mark: createHash('sha256').update(text).digest('hex').slice(0, 12) }
}
