import type { CreatedKey, ListedKey } from '../../../app/keys.ts'
import type { KeyKind } from '../../../domain/actor.ts'
import { keyStart } from '../../../domain/key.ts'
import type { ApiKey, ApiKeyKind, CreatedApiKey } from '../wire-types.ts'

const KINDS = {
  account: 'ACCOUNT',
  workspace: 'WORKSPACE',
  pair: 'PAIR',
  personal: 'PERSONAL',
} as const satisfies Record<KeyKind, ApiKeyKind>

export const parseKind = (kind: ApiKeyKind): KeyKind => kind.toLowerCase() as KeyKind

export const presentKey = (key: ListedKey): ApiKey => ({
  id: key.id,
  name: key.name,
  kind: KINDS[key.kind],
  client: key.client ?? '',
  workspaceUid: key.workspaceUid,
  capabilities: [...key.capabilities],
  start: keyStart(key.kind, key.client, key.publicId),
  createdByEmail: key.createdByEmail,
  createdDttm: key.createdAt,
  expiresDttm: key.expiresAt,
  lastUsedDttm: key.lastUsedAt,
  revokedDttm: key.revokedAt,
})

export const presentCreatedKey = ({ id, key, secret }: CreatedKey): CreatedApiKey => ({ ok: true, id, key, secret })
