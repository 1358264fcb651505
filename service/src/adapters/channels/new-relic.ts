// New Relic's Event API. It takes whatever comes and knows no repetitions; each event carries the id of its delivery.
import type { IncidentNews } from '../../domain/messages/incident.ts'
import { NO_FURTHER } from '../../domain/messages/incident.ts'
import type { NewRelicAction } from '../../domain/messages/new-relic.ts'
import { newRelicEvents } from '../../domain/messages/new-relic.ts'
import type { TestBody } from '../../domain/messages/notice.ts'
import { testReport } from '../../domain/messages/notice.ts'
import type { NewRelicIntegration } from '../../domain/schedule.ts'
import type { Channel, Outgoing } from '../../ports/channel.ts'
import type { Api, ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, Ended, openApi, secretOf, settled } from './api.ts'
import type { IncidentService } from './incident.ts'
import { tell } from './incident.ts'

export function newRelicChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'new_relic',
    send: (out, signal) => settled(async () => await tell(serviceOf(openApi(deps, out, signal), out), out)),
  }
}

function serviceOf(api: Api, out: Outgoing): IncidentService<NewRelicIntegration> {
  const key = secretOf(out, 'licenseKey', 'New Relic')
  const base = apiBase(out, 'https://insights-collector.newrelic.com')
  const url = `${base}/v1/accounts/${encodeURIComponent(String(out.settings.accountId ?? ''))}/events`
  const post = async (news: IncidentNews<NewRelicIntegration>, action: NewRelicAction): Promise<ApiAnswer> => {
    const json = newRelicEvents(news, action, out.id)
    const answer = await api.call({ method: 'POST', url, headers: { 'api-key': key }, json })
    const { success } = (answer.json ?? {}) as { success?: unknown }
    if (success === false) throw new Ended({ kind: 'refused', status: answer.status, answer: answer.text })
    return answer
  }
  return {
    test: () => post(testNews(out.body as TestBody), 'test'),
    // There is nothing to ask: what an event led to is decided over there.
    isOpen: async () => true,
    open: async (news) => ({
      answer: await post(news, 'open'),
      incident: { id: news.key, first: '', further: NO_FURTHER },
    }),
    add: (_, news) => post(news, 'add'),
    close: (_, news) => post(news, 'close'),
  }
}

const testNews = (body: TestBody): IncidentNews<NewRelicIntegration> => ({
  report: testReport(body),
  entry: { environment: 'test' },
  key: 'yardmaster-test',
})
