import type { Context } from '../../../app/context.ts'
import * as keys from '../../../app/keys.ts'
import { invalidInput } from '../../../domain/errors.ts'
import { parseKind, presentCreatedKey, presentKey } from '../present/key.ts'
import type {
  ApiKeyIdentity,
  ApiKeys,
  CreatedApiKey,
  MutationCreateApiKeyArgs,
  MutationCreatePersonalKeyArgs,
  MutationRevokeApiKeyArgs,
  MutationRevokePersonalKeyArgs,
  Ok,
} from '../wire-types.ts'

export const keyResolvers = {
  apiKeyIdentity(ctx: Context): ApiKeyIdentity {
    const { isValid, capabilities } = keys.identify(ctx.actor)
    return { isValid, capabilities: [...capabilities] }
  },
  async listApiKeys(ctx: Context): Promise<ApiKeys> {
    return { ok: true, keys: (await keys.listApiKeys(ctx)).map(presentKey) }
  },
  async createApiKey(ctx: Context, { key }: MutationCreateApiKeyArgs): Promise<CreatedApiKey> {
    const kind = parseKind(key.kind)
    if (kind === 'personal') throw invalidInput('kind: a personal key is made with createPersonalKey.')
    const created = await keys.createApiKey(ctx, {
      name: key.name,
      kind,
      workspaceUid: key.workspaceUid ?? null,
      capabilities: key.capabilities ?? null,
      client: key.client ?? null,
      expiresDays: key.expiresDays ?? null,
    })
    return presentCreatedKey(created)
  },
  async revokeApiKey(ctx: Context, args: MutationRevokeApiKeyArgs): Promise<Ok> {
    await keys.revokeApiKey(ctx, args.id)
    return { ok: true }
  },
  async listPersonalKeys(ctx: Context): Promise<ApiKeys> {
    return { ok: true, keys: (await keys.listPersonalKeys(ctx)).map(presentKey) }
  },
  async createPersonalKey(ctx: Context, { key }: MutationCreatePersonalKeyArgs): Promise<CreatedApiKey> {
    const created = await keys.createPersonalKey(ctx, {
      name: key.name,
      capabilities: key.capabilities ?? null,
      expiresDays: key.expiresDays ?? null,
    })
    return presentCreatedKey(created)
  },
  async revokePersonalKey(ctx: Context, args: MutationRevokePersonalKeyArgs): Promise<Ok> {
    await keys.revokePersonalKey(ctx, args.id)
    return { ok: true }
  },
}
