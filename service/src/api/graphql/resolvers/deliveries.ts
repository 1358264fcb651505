import type { Context } from '../../../app/context.ts'
import * as deliveries from '../../../app/deliveries.ts'
import { parseChannel, parseDeliveryState, presentDelivery, presentDeliveryDetail } from '../present/delivery.ts'
import type {
  Deliveries,
  DeliveryDetail,
  MutationSendDeliveryAgainArgs,
  Ok,
  QueryDeliveryArgs,
  QueryListDeliveriesArgs,
} from '../wire-types.ts'

export const deliveryResolvers = {
  async listDeliveries(ctx: Context, args: QueryListDeliveriesArgs): Promise<Deliveries> {
    const { state, channel, webhookId, runId } = args.filter ?? {}
    const found = await deliveries.listDeliveries(ctx, {
      state: state ? parseDeliveryState(state) : null,
      channel: channel ? parseChannel(channel) : null,
      webhookId: webhookId ?? null,
      runId: runId ?? null,
      offset: args.offset ?? null,
      limit: args.limit ?? null,
    })
    return { ok: true, deliveries: found.map(presentDelivery) }
  },
  async delivery(ctx: Context, args: QueryDeliveryArgs): Promise<DeliveryDetail> {
    return presentDeliveryDetail(await deliveries.getDelivery(ctx, args.id))
  },
  async sendDeliveryAgain(ctx: Context, args: MutationSendDeliveryAgainArgs): Promise<Ok> {
    await deliveries.sendDeliveryAgain(ctx, args.id)
    return { ok: true }
  },
}
