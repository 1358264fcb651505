// Datadog's incidents. Changes write whole fields, so they may be repeated. Creating may not: Datadog has no key for it, and
// when its answer is lost, the next try opens a second incident.
import {
  datadogClosing,
  datadogFirst,
  datadogFurther,
  datadogIncident,
  datadogSummary,
} from '../../domain/messages/datadog.ts'
import { NO_FURTHER } from '../../domain/messages/incident.ts'
import type { DatadogIntegration } from '../../domain/schedule.ts'
import type { Channel, Outgoing } from '../../ports/channel.ts'
import type { Api, ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, Ended, openApi, secretOf, settled, textAt } from './api.ts'
import type { IncidentService } from './incident.ts'
import { tell } from './incident.ts'

const OVER = new Set(['resolved', 'completed'])

export function datadogChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'datadog',
    send: (out, signal) => settled(async () => await tell(serviceOf(openApi(deps, out, signal), out), out)),
  }
}

function serviceOf(api: Api, out: Outgoing): IncidentService<DatadogIntegration> {
  const headers = {
    'dd-api-key': secretOf(out, 'apiKey', 'Datadog'),
    'dd-application-key': secretOf(out, 'applicationKey', 'Datadog'),
    accept: 'application/json',
  }
  const base = apiBase(out, 'https://api.datadoghq.com')
  const call = (
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    json?: object,
    expect?: readonly number[],
  ): Promise<ApiAnswer> => api.call({ method, url: base + path, headers, ...(json !== undefined && { json }) }, expect)
  const at = (id: string): string => `/api/v2/incidents/${encodeURIComponent(id)}`

  return {
    test: () => call('GET', '/api/v2/validate_keys'),
    isOpen: async (id) => {
      const found = await call('GET', at(id), undefined, [404])
      const state =
        textAt(found.json, 'data', 'attributes', 'state') ??
        textAt(found.json, 'data', 'attributes', 'fields', 'state', 'value')
      return found.status !== 404 && !OVER.has(state ?? '')
    },
    open: async (news) => {
      const answer = await call('POST', '/api/v2/incidents', datadogIncident(news))
      const id = textAt(answer.json, 'data', 'id')
      if (id === undefined) throw new Ended({ kind: 'again', status: answer.status, answer: answer.text })
      return { answer, incident: { id, first: datadogFirst(news), further: NO_FURTHER } }
    },
    add: ({ id, first, further }) => call('PATCH', at(id), datadogFurther(id, datadogSummary(first, further))),
    close: ({ id, first, further }, news) =>
      call('PATCH', at(id), datadogClosing(id, news, datadogSummary(first, further))),
  }
}
