// PagerDuty's REST API. It refuses a second open incident with the same key: that is how a repeated call is known, and the
// incident found. A note is posted only when none with the same link is there.
import type { IncidentNews } from '../../domain/messages/incident.ts'
import { NO_FURTHER } from '../../domain/messages/incident.ts'
import {
  pagerDutyIncident,
  pagerDutyNote,
  pagerDutyResolution,
  pagerDutyTitle,
} from '../../domain/messages/pagerduty.ts'
import type { PagerDutyIntegration } from '../../domain/schedule.ts'
import type { Channel, Outgoing } from '../../ports/channel.ts'
import type { Api, ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, Ended, listAt, openApi, secretOf, settled, textAt } from './api.ts'
import type { IncidentService, KnownIncident, Opened } from './incident.ts'
import { tell } from './incident.ts'

type News = IncidentNews<PagerDutyIntegration>

export function pagerDutyChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'pagerduty',
    send: (out, signal) => settled(async () => await tell(serviceOf(openApi(deps, out, signal), out), out)),
  }
}

function serviceOf(api: Api, out: Outgoing): IncidentService<PagerDutyIntegration> {
  const token = secretOf(out, 'token', 'PagerDuty')
  const base = apiBase(out, 'https://api.pagerduty.com')
  const call = (
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    news: News | null,
    { json, expect }: { json?: object; expect?: readonly number[] } = {},
  ): Promise<ApiAnswer> =>
    api.call(
      {
        method,
        url: base + path,
        headers: {
          authorization: `Token token=${token}`,
          accept: 'application/vnd.pagerduty+json;version=2',
          ...(news !== null && { from: news.entry.fromEmail }),
        },
        ...(json !== undefined && { json }),
      },
      expect,
    )

  const addNote = async (id: string, news: News): Promise<ApiAnswer> => {
    const path = `/incidents/${encodeURIComponent(id)}/notes`
    const there = await call('GET', path, null)
    const isThere = listAt(there.json, 'notes').some((one) =>
      textAt(one, 'content')?.split('\n').includes(news.report.links.run),
    )
    return isThere ? there : await call('POST', path, news, { json: pagerDutyNote(news) })
  }

  /** Somebody has opened it: an earlier try of this delivery, or a line whose memory is gone. */
  const adopt = async (news: News, refusal: ApiAnswer): Promise<Opened> => {
    const query = new URLSearchParams([
      ['incident_key', news.key],
      ['statuses[]', 'triggered'],
      ['statuses[]', 'acknowledged'],
    ])
    const found = await call('GET', `/incidents?${query}`, null)
    const [incident] = listAt(found.json, 'incidents')
    const id = textAt(incident, 'id')
    // Closed in this moment: the next try opens a new one.
    if (id === undefined) throw new Ended({ kind: 'again', status: refusal.status, answer: refusal.text })
    const isOurs = textAt(incident, 'title') === pagerDutyTitle(news)
    return { answer: isOurs ? found : await addNote(id, news), incident: known(id) }
  }

  return {
    test: () => call('GET', '/abilities', null),
    isOpen: async (id) => {
      const found = await call('GET', `/incidents/${encodeURIComponent(id)}`, null, { expect: [404] })
      return found.status !== 404 && textAt(found.json, 'incident', 'status') !== 'resolved'
    },
    open: async (news) => {
      const answer = await call('POST', '/incidents', news, { json: pagerDutyIncident(news), expect: [400] })
      if (answer.status === 400) {
        if (isDuplicate(answer)) return await adopt(news, answer)
        throw new Ended({ kind: 'refused', status: 400, answer: answer.text })
      }
      const id = textAt(answer.json, 'incident', 'id')
      if (id === undefined) throw new Ended({ kind: 'again', status: answer.status, answer: answer.text })
      return { answer, incident: known(id) }
    },
    add: ({ id }, news) => addNote(id, news),
    close: ({ id }, news) =>
      call('PUT', `/incidents/${encodeURIComponent(id)}`, news, { json: pagerDutyResolution(news) }),
  }
}

const known = (id: string): KnownIncident => ({ id, first: '', further: NO_FURTHER })

/** Code 2002 stands for several faults of the arguments; this one is known by its words alone. */
const isDuplicate = ({ json }: ApiAnswer): boolean => {
  const error = typeof json === 'object' && json !== null ? (json as { error?: unknown }).error : null
  return listAt(error, 'errors').some(
    (one) => typeof one === 'string' && /matching dedup key already exists/i.test(one),
  )
}
