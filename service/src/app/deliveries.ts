// What goes out: queued in the transaction that causes it, sent by engine/delivery-sender.ts.
import type { DeliveryState } from '../domain/delivery.ts'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import { quoted } from '../domain/text.ts'
import type { ChannelKind } from '../ports/channel.ts'
import type { Delivery, DeliveryTry } from '../store/deliveries.ts'
import * as deliveries from '../store/deliveries.ts'
import * as runs from '../store/runs.ts'
import * as webhooks from '../store/webhooks.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export type { Delivery, DeliveryTry } from '../store/deliveries.ts'

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

const MOST_DELIVERIES = 1000
const SOME_DELIVERIES = 100

export interface DeliveryQuery {
  readonly state: DeliveryState | null
  readonly channel: ChannelKind | null
  readonly webhookId: number | null
  readonly runId: number | null
  readonly offset: number | null
  readonly limit: number | null
}

/** Newest first. */
export async function listDeliveries(ctx: Context, query: DeliveryQuery): Promise<Delivery[]> {
  const { offset, limit } = query
  if (offset !== null && offset < 0) throw invalidInput('offset: 0 or more.')
  if (limit !== null && (limit < 1 || limit > MOST_DELIVERIES)) throw invalidInput(`limit: 1 to ${MOST_DELIVERIES}.`)
  const { id: workspaceId } = workspaceOf(ctx)
  if (query.webhookId !== null && !(await webhooks.exists(ctx.db, workspaceId, query.webhookId)))
    throw notFound(`No webhook ${query.webhookId} in this workspace.`)
  if (query.runId !== null && (await runs.findScheduleOf(ctx.db, query.runId, workspaceId)) === null)
    throw notFound(`No run ${query.runId} in this workspace.`)
  const page = { offset: offset ?? 0, limit: limit ?? SOME_DELIVERIES }
  return await deliveries.list(ctx.db, workspaceId, query, page)
}

export interface DeliveryDetail extends Delivery {
  readonly body: unknown
  readonly result: unknown | null
  readonly each: readonly DeliveryTry[]
}

export async function getDelivery(ctx: Context, id: string): Promise<DeliveryDetail> {
  const { id: workspaceId } = workspaceOf(ctx)
  const found = isUuid(id) ? await deliveries.find(ctx.db, workspaceId, id) : null
  if (found === null) throw noSuchDelivery(id)
  return { ...found, each: await deliveries.listTries(ctx.db, workspaceId, id) }
}

/** A new series of tries under the same id, whatever became of it; what waits is tried at once. */
export async function sendDeliveryAgain(ctx: Context, id: string): Promise<void> {
  await mutate(ctx, async (unit) => {
    const done = isUuid(id) ? await deliveries.sendAgain(unit.db, workspaceOf(ctx).id, id) : null
    if (done === null) throw noSuchDelivery(id)
    if (done === 'under way') throw conflict('It is being sent at this moment: look again in a minute.')
    await unit.queue.send(unit.db, 'delivery', {})
    unit.record('delivery_sent_again', { delivery: id })
  })
}

const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

const noSuchDelivery = (id: string): Error => notFound(`No delivery ${quoted(id)} in this workspace.`)
