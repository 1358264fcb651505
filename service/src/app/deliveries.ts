// What goes out: queued in the transaction that causes it, sent by engine/delivery-sender.ts.
import type { ChannelKind } from '../ports/channel.ts'
import * as deliveries from '../store/deliveries.ts'
import type { Unit } from './mutate.ts'

export interface NewDelivery {
  readonly workspaceId: number
  readonly channel: ChannelKind
  readonly webhookId?: number | null
  readonly integrationId?: number | null
  /** A mail address, a Slack channel; left out where the integration says it all. */
  readonly address?: string
  /** What happened, in the channel's own words, such as bolt.run.completed. */
  readonly event: string
  /** What it is sent for: a second delivery with the same key in the workspace is the same delivery. */
  readonly causeKey: string
  readonly runId?: number | null
  readonly scheduleId?: number | null
  /** Deliveries of one line go out one after the other, in the order in which they were queued. */
  readonly line?: string | null
  /** Everything that the message needs, with no secret in it. */
  readonly body: unknown
}

/** The id, or null when it was queued before. */
export async function queueDelivery(unit: Unit, delivery: NewDelivery): Promise<string | null> {
  const id = await deliveries.insert(unit.db, { ...delivery, target: targetOf(delivery) })
  if (id !== null) await unit.queue.send(unit.db, 'delivery', {})
  return id
}

/** All that one slow receiver can hold up. */
function targetOf({ channel, webhookId, integrationId }: NewDelivery): string {
  if (webhookId != null) return `webhook ${webhookId}`
  return integrationId == null ? channel : `${channel} ${integrationId}`
}
