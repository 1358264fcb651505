// A webhook: one POST, signed. Everything but a 2xx may pass, save 410, by which a receiver says that it is gone for good:
// a receiver that is being deployed answers 404 for a while.
import { parseRetryAfter } from '../../domain/delivery.ts'
import type { AgentReport } from '../../domain/messages/agent.ts'
import { agentWebhook } from '../../domain/messages/agent.ts'
import type { WebhookTest } from '../../domain/messages/webhook.ts'
import { runWebhook, testWebhook } from '../../domain/messages/webhook.ts'
import type { RunReport } from '../../domain/run-report.ts'
import { webhookSignature } from '../../domain/webhook.ts'
import type { Channel, Outgoing, SendResult } from '../../ports/channel.ts'
import type { OutgoingAnswer, OutgoingHttp } from '../../ports/outgoing-http.ts'
import { OutgoingFault } from '../../ports/outgoing-http.ts'
import type { Clock } from '../../ports/runtime.ts'

export function webhookChannel(deps: { readonly http: OutgoingHttp; readonly clock: Clock }): Channel {
  const { http, clock } = deps
  return {
    kind: 'webhook',
    send: async (out, signal) => {
      const body = bodyOf(out)
      // Of this try: receivers refuse what is older than five minutes.
      const timestamp = Math.floor(clock.now().getTime() / 1000)
      const signature = webhookSignature(Object.values(out.secrets), { id: out.id, timestamp, body })
      const headers = {
        'content-type': 'application/json',
        'webhook-id': out.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signature,
      }
      try {
        const request = { method: 'POST', url: String(out.settings.url), headers, body } as const
        return resultOf(await http.call(request, signal), clock.now())
      } catch (error) {
        if (!(error instanceof OutgoingFault)) throw error
        return { kind: error.refused ? 'refused' : 'again', status: null, answer: error.message }
      }
    },
  }
}

function bodyOf({ event, body }: Outgoing): string {
  if (event === 'test') return testWebhook(body as WebhookTest)
  if (event === 'dinoai.run.completed') return agentWebhook(event, body as AgentReport)
  return runWebhook(event, body as RunReport)
}

function resultOf(answer: OutgoingAnswer, now: Date): SendResult {
  const { status, body } = answer
  if (status >= 200 && status < 300) return { kind: 'delivered', status, answer: body }
  if (status === 410) return { kind: 'refused', status, answer: body }
  const moved = status >= 300 && status < 400 ? 'A redirect, which is not followed. ' : ''
  const afterSeconds = parseRetryAfter(answer.headers['retry-after'], now)
  return {
    kind: 'again',
    status,
    answer: moved + body,
    ...(afterSeconds !== undefined && { afterSeconds }),
  }
}
