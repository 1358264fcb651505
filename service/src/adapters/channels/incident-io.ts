// incident.io. Creating is safe to repeat by its idempotency key, which is the id of the delivery; edits write the whole
// summary, so they are too.
import type { IncidentNews } from '../../domain/messages/incident.ts'
import { NO_FURTHER } from '../../domain/messages/incident.ts'
import {
  incidentIoClosing,
  incidentIoFirst,
  incidentIoFurther,
  incidentIoIncident,
  incidentIoSummary,
} from '../../domain/messages/incident-io.ts'
import type { IncidentIoIntegration } from '../../domain/schedule.ts'
import type { Channel, Outgoing } from '../../ports/channel.ts'
import type { Api, ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, Ended, listAt, openApi, refused, secretOf, settled, textAt } from './api.ts'
import type { IncidentService } from './incident.ts'
import { tell } from './incident.ts'

/** Categories of a status in which nobody works on the incident any more. */
const OVER = new Set(['closed', 'declined', 'merged', 'canceled', 'learning'])

export function incidentIoChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'incident_io',
    send: (out, signal) => settled(async () => await tell(serviceOf(openApi(deps, out, signal), out), out)),
  }
}

function serviceOf(api: Api, out: Outgoing): IncidentService<IncidentIoIntegration> {
  const token = secretOf(out, 'token', 'incident.io')
  const base = apiBase(out, 'https://api.incident.io')
  const call = (method: 'GET' | 'POST', path: string, json?: object, expect?: readonly number[]): Promise<ApiAnswer> =>
    api.call(
      {
        method,
        url: base + path,
        headers: { authorization: `Bearer ${token}` },
        ...(json !== undefined && { json }),
      },
      expect,
    )

  /** The id as given, else that of the name. */
  const find = async (id: string | null, name: string | null, path: string, list: string): Promise<string | null> => {
    if (id !== null || name === null) return id
    const all = listAt((await call('GET', path)).json, list)
    const found = all.find((one) => textAt(one, 'name')?.toLowerCase() === name.toLowerCase())
    const foundId = textAt(found, 'id')
    if (foundId !== undefined) return foundId
    const names = all.map((one) => textAt(one, 'name')).join(', ')
    throw new Ended(refused(`incident.io knows no "${name}" among its ${list.replaceAll('_', ' ')}: ${names}.`))
  }

  const idsOf = async ({ entry }: IncidentNews<IncidentIoIntegration>) => ({
    severityId: await find(entry.severityId, entry.severity, '/v1/severities', 'severities'),
    statusId: await find(entry.statusId, entry.status, '/v1/incident_statuses', 'incident_statuses'),
    typeId: await find(entry.typeId, entry.type, '/v1/incident_types', 'incident_types'),
  })

  const edit = (id: string, json: object): Promise<ApiAnswer> =>
    call('POST', `/v2/incidents/${encodeURIComponent(id)}/actions/edit`, json)

  return {
    test: () => call('GET', '/v1/identity'),
    isOpen: async (id) => {
      const found = await call('GET', `/v2/incidents/${encodeURIComponent(id)}`, undefined, [404])
      const category = textAt(found.json, 'incident', 'incident_status', 'category')
      return found.status !== 404 && !OVER.has(category ?? '')
    },
    open: async (news) => {
      const answer = await call('POST', '/v2/incidents', incidentIoIncident(news, out.id, await idsOf(news)))
      const id = textAt(answer.json, 'incident', 'id')
      if (id === undefined) throw new Ended({ kind: 'again', status: answer.status, answer: answer.text })
      return { answer, incident: { id, first: incidentIoFirst(news), further: NO_FURTHER } }
    },
    add: ({ id, first, further }) => edit(id, incidentIoFurther(incidentIoSummary(first, further))),
    close: async ({ id, first, further }, news) => {
      const statuses = listAt((await call('GET', '/v1/incident_statuses')).json, 'incident_statuses')
      const closed = statuses.find((one) => textAt(one, 'category') === 'closed')
      const summary = incidentIoSummary(first, further)
      return await edit(id, incidentIoClosing(news, summary, textAt(closed, 'id') ?? null))
    },
  }
}
