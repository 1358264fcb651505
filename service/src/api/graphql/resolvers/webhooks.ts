import type { Context } from '../../../app/context.ts'
import type { WebhookFields } from '../../../app/webhooks.ts'
import * as webhooks from '../../../app/webhooks.ts'
import type {
  CreatedWebhook,
  MutationCreateWebhookArgs,
  MutationDeleteWebhookArgs,
  MutationRotateWebhookSecretArgs,
  MutationTestWebhookArgs,
  MutationUpdateWebhookArgs,
  Ok,
  QueuedDelivery,
  RotatedWebhookSecret,
  WebhookInput,
  Webhooks,
} from '../wire-types.ts'

/** Null is "not given", everywhere. */
const fieldsOf = (input: WebhookInput): WebhookFields => ({
  url: input.url ?? undefined,
  description: input.description ?? undefined,
  events: input.events ?? undefined,
  enabled: input.enabled ?? undefined,
})

export const webhookResolvers = {
  async listWebhooks(ctx: Context): Promise<Webhooks> {
    const all = await webhooks.listWebhooks(ctx)
    return {
      ok: true,
      webhooks: all.map((one) => ({
        id: one.id,
        url: one.url,
        description: one.description,
        events: [...one.events],
        enabled: one.enabled,
        secretCount: one.secrets,
        createdDttm: one.createdAt,
      })),
    }
  },
  async createWebhook(ctx: Context, args: MutationCreateWebhookArgs): Promise<CreatedWebhook> {
    return { ok: true, ...(await webhooks.createWebhook(ctx, fieldsOf(args.webhook))) }
  },
  async updateWebhook(ctx: Context, args: MutationUpdateWebhookArgs): Promise<Ok> {
    await webhooks.updateWebhook(ctx, args.id, fieldsOf(args.webhook))
    return { ok: true }
  },
  async deleteWebhook(ctx: Context, args: MutationDeleteWebhookArgs): Promise<Ok> {
    await webhooks.deleteWebhook(ctx, args.id)
    return { ok: true }
  },
  async rotateWebhookSecret(ctx: Context, args: MutationRotateWebhookSecretArgs): Promise<RotatedWebhookSecret> {
    const overlapHours = args.overlapHours ?? null
    return { ok: true, ...(await webhooks.rotateWebhookSecret(ctx, { id: args.id, overlapHours })) }
  },
  async testWebhook(ctx: Context, args: MutationTestWebhookArgs): Promise<QueuedDelivery> {
    return { ok: true, ...(await webhooks.testWebhook(ctx, args.id)) }
  },
}
