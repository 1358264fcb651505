import type { Context } from '../../../app/context.ts'
import * as integrations from '../../../app/integrations.ts'
import { presentIntegration, valuesOf } from '../present/integration.ts'
import type {
  Integrations,
  MutationCreateIntegrationArgs,
  MutationRemoveIntegrationArgs,
  MutationTestIntegrationArgs,
  MutationTestMailArgs,
  MutationUpdateIntegrationArgs,
  Ok,
  QueuedDelivery,
  SavedIntegration,
} from '../wire-types.ts'

export const integrationResolvers = {
  async listIntegrations(ctx: Context): Promise<Integrations> {
    return { ok: true, integrations: (await integrations.listIntegrations(ctx)).map(presentIntegration) }
  },
  async createIntegration(ctx: Context, args: MutationCreateIntegrationArgs): Promise<SavedIntegration> {
    const made = await integrations.createIntegration(ctx, {
      kind: args.kind,
      name: args.name ?? '',
      settings: valuesOf(args.settings),
      secrets: valuesOf(args.secrets),
    })
    return { ok: true, ...made }
  },
  async updateIntegration(ctx: Context, args: MutationUpdateIntegrationArgs): Promise<Ok> {
    const given = { settings: valuesOf(args.settings), secrets: valuesOf(args.secrets) }
    await integrations.updateIntegration(ctx, args.id, given)
    return { ok: true }
  },
  async removeIntegration(ctx: Context, args: MutationRemoveIntegrationArgs): Promise<Ok> {
    await integrations.removeIntegration(ctx, args.id)
    return { ok: true }
  },
  async testIntegration(ctx: Context, args: MutationTestIntegrationArgs): Promise<QueuedDelivery> {
    return { ok: true, ...(await integrations.testIntegration(ctx, { id: args.id, address: args.address ?? '' })) }
  },
  async testMail(ctx: Context, args: MutationTestMailArgs): Promise<QueuedDelivery> {
    return { ok: true, ...(await integrations.testMail(ctx, args.address)) }
  },
}
