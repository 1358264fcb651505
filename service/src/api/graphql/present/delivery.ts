import type { Delivery, DeliveryDetail } from '../../../app/deliveries.ts'
import type { DeliveryState } from '../../../domain/delivery.ts'
import type { ChannelKind } from '../../../ports/channel.ts'
import type {
  DeliveryChannel,
  DeliveryOutcome,
  Delivery as WireDelivery,
  DeliveryDetail as WireDetail,
  DeliveryState as WireState,
} from '../wire-types.ts'

const upper = (word: string): string => word.toUpperCase()

export const parseDeliveryState = (word: WireState): DeliveryState => word.toLowerCase() as DeliveryState
export const parseChannel = (word: DeliveryChannel): ChannelKind => word.toLowerCase() as ChannelKind

export const presentDelivery = (one: Delivery): WireDelivery => ({
  id: one.id,
  channel: upper(one.channel) as DeliveryChannel,
  webhookId: one.webhookId,
  integrationId: one.integrationId,
  address: one.address,
  event: one.event,
  runId: one.runId,
  scheduleSlug: one.scheduleSlug ?? '',
  state: upper(one.state) as WireState,
  tries: one.tries,
  nextTryDttm: one.nextTryAt,
  createdDttm: one.createdAt,
  endDttm: one.endedAt,
})

export const presentDeliveryDetail = (one: DeliveryDetail): WireDetail => ({
  ok: true,
  delivery: presentDelivery(one),
  bodyJson: JSON.stringify(one.body),
  each: one.each.map(({ number, startedAt, durationMs, status, outcome, answer }) => ({
    number,
    startDttm: startedAt,
    durationMs,
    status,
    outcome: upper(outcome) as DeliveryOutcome,
    answer,
  })),
})
