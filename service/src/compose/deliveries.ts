// What follows from runs and what leaves the service: the handlers of events, the channels, and who sends.
import { messageChannels } from '../adapters/channels/index.ts'
import { webhookChannel } from '../adapters/channels/webhook.ts'
import { outgoingHttp } from '../adapters/outgoing-http.ts'
import { agentHealer } from '../app/agent-healer.ts'
import type { AgentDeps } from '../app/agent-sessions.ts'
import { chainHandler } from '../app/chains.ts'
import type { App } from '../app/context.ts'
import { selfHealingHandler } from '../app/healing.ts'
import { incidentHandler } from '../app/incidents.ts'
import { noticeHandler } from '../app/notices.ts'
import { pullRequestHandler } from '../app/pull-request-results.ts'
import type { RunEventHandler } from '../app/run-events.ts'
import { webhookHandler } from '../app/webhooks.ts'
import type { Config } from '../config/schema.ts'
import { type DeliverySenderOptions, startDeliverySender } from '../engine/delivery-sender.ts'
import { healingKeeper, healingStarter } from '../engine/healing.ts'
import { type Service, startPeriodic } from '../engine/periodic.ts'
import { pullRequestPoll } from '../engine/pull-request-poll.ts'
import { startRunEvents } from '../engine/run-events.ts'
import type { Channel } from '../ports/channel.ts'
import type { Healer } from '../ports/healer.ts'
import type { Mailer } from '../ports/mailer.ts'
import type { OutgoingHttp } from '../ports/outgoing-http.ts'
import type { Opened } from './open.ts'

export interface DeliveryDeps {
  readonly mailer: Mailer
  /** With what sessions are started that mend runs. */
  readonly agents: AgentDeps
  readonly observe: NonNullable<DeliverySenderOptions['observe']>
}

/** In the order in which they stand; each is done by itself. */
const handlersOf = (app: App, healer: Healer): RunEventHandler[] => [
  chainHandler(app),
  webhookHandler(app),
  noticeHandler(app),
  incidentHandler(app),
  selfHealingHandler(app, healer),
  pullRequestHandler(app),
]

function channelsOf(http: OutgoingHttp, app: App, mailer: Mailer): Channel[] {
  const deps = { http, clock: app.clock }
  return [webhookChannel(deps), ...messageChannels({ ...deps, mailer })]
}

export async function startDeliveries(config: Config, opened: Opened, deps: DeliveryDeps): Promise<Service[]> {
  const { app, queue } = opened
  const http = outgoingHttp({ allow: config.outgoing.allow, allowHttp: config.outgoing.allowHttp })
  const stopping = new AbortController()
  const healer = agentHealer(app, { ...deps.agents, signal: stopping.signal })
  const healing = startPeriodic(app.log, healingStarter(app, healer))
  return [
    await startRunEvents(app, queue, handlersOf(app, healer)),
    await startDeliverySender(app, queue, { channels: channelsOf(http, app, deps.mailer), observe: deps.observe }),
    startPeriodic(app.log, pullRequestPoll(app, { http })),
    startPeriodic(app.log, healingKeeper(app)),
    {
      // A git host that does not answer is not waited for.
      stop: async () => {
        stopping.abort()
        await healing.stop()
      },
    },
  ]
}
