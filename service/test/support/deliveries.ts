// Deliveries without what they are about: a channel that a test holds in its hands, and a unit to queue with.
import { systemContext } from '../../src/app/context.ts'
import { type NewDelivery, queueDelivery } from '../../src/app/deliveries.ts'
import { mutate, type Unit } from '../../src/app/mutate.ts'
import type { WorkspaceRef } from '../../src/domain/actor.ts'
import type { DeliverySender, DeliverySenderOptions } from '../../src/engine/delivery-sender.ts'
import { deliverySender } from '../../src/engine/delivery-sender.ts'
import type { Channel, Outgoing, SendResult } from '../../src/ports/channel.ts'
import type { Delivery, DeliveryTry } from '../../src/store/deliveries.ts'
import * as deliveries from '../../src/store/deliveries.ts'
import type { TestApp } from './app.ts'

export interface TestChannel extends Channel {
  /** What was sent, in order. */
  readonly sent: readonly Outgoing[]
}

/** Answers as the function says; delivered when it says nothing. */
export function testChannel(
  answer: (out: Outgoing, signal: AbortSignal) => Promise<SendResult | undefined> | SendResult | undefined = () =>
    undefined,
  kind: Channel['kind'] = 'mail',
): TestChannel {
  const sent: Outgoing[] = []
  return {
    kind,
    sent,
    send: async (out, signal) => {
      sent.push(out)
      return (await answer(out, signal)) ?? { kind: 'delivered', status: 200, answer: 'ok' }
    },
  }
}

export const again = (status: number | null = 500, afterSeconds?: number): SendResult => ({
  kind: 'again',
  status,
  answer: 'later',
  ...(afterSeconds !== undefined && { afterSeconds }),
})

export const senderOf = (t: TestApp, ...channels: Channel[]): DeliverySender => senderWith(t, { channels })

export const senderWith = (t: TestApp, options: DeliverySenderOptions): DeliverySender =>
  deliverySender(t.app, { random: () => 0.5, ...options })

export const inUnit = <T>(t: TestApp, work: (unit: Unit) => Promise<T>): Promise<T> =>
  mutate(systemContext(t.app, 'test'), work)

let made = 0

/** Queues one; each has its own cause unless it is given. */
export const queued = (t: TestApp, workspace: WorkspaceRef, one: Partial<NewDelivery> = {}): Promise<string | null> =>
  inUnit(t, (unit) =>
    queueDelivery(unit, {
      workspaceId: workspace.id,
      channel: 'mail',
      event: 'test',
      causeKey: `cause ${++made}`,
      body: {},
      ...one,
    }),
  )

export async function deliveryOf(
  t: TestApp,
  workspace: WorkspaceRef,
  id: string,
): Promise<Delivery & { readonly each: readonly DeliveryTry[] }> {
  const found = await deliveries.find(t.app.db, workspace.id, id)
  return { ...found!, each: await deliveries.listTries(t.app.db, workspace.id, id) }
}
