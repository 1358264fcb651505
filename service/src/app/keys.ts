import type { AccountType } from '../domain/account-type.ts'
import { ACCOUNT_TYPES, RIGHTS } from '../domain/account-type.ts'
import type { Actor, KeyClient, KeyKind, WorkspaceRef } from '../domain/actor.ts'
import { personOf } from '../domain/actor.ts'
import type { Capability } from '../domain/capability.ts'
import { CAPABILITIES, CAPABILITY_LABELS, isCapability } from '../domain/capability.ts'
import { AppError, forbidden, invalidInput, notFound } from '../domain/errors.ts'
import { newPublicKeyId, newSecret } from '../domain/ids.ts'
import { formatKey } from '../domain/key.ts'
import { parseName, quoted } from '../domain/text.ts'
import type { ListedKey } from '../store/keys.ts'
import * as keys from '../store/keys.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { selfOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export type { ListedKey } from '../store/keys.ts'

export interface KeyFacts {
  readonly isValid: boolean
  /** By their labels, the words of the interface. */
  readonly capabilities: readonly string[]
}

/** A person's capabilities are those of their roles; a personal key narrows them. */
export function identify(actor: Actor): KeyFacts {
  const held = capabilitiesOf(actor)
  return { isValid: actor.kind !== 'anonymous', capabilities: held.map((one) => CAPABILITY_LABELS[one]) }
}

function capabilitiesOf(actor: Actor): readonly Capability[] {
  switch (actor.kind) {
    case 'anonymous':
      return []
    case 'system':
      return CAPABILITIES
    case 'key':
      return actor.key.capabilities
    case 'person':
    case 'personal-key': {
      const byRole = new Set(actor.person.memberships.flatMap((one) => RIGHTS[one.accountType].may))
      const narrowed = actor.kind === 'personal-key' ? actor.key.capabilities : CAPABILITIES
      return CAPABILITIES.filter((one) => byRole.has(one) && narrowed.includes(one))
    }
  }
}

export interface NewKeyInput {
  readonly name: string
  readonly kind: Exclude<KeyKind, 'personal'>
  readonly workspaceUid: string | null
  readonly capabilities: readonly string[] | null
  readonly client: string | null
  readonly expiresDays: number | null
}

export interface CreatedKey {
  readonly id: number
  readonly name: string
  readonly kind: KeyKind
  readonly key: string
  readonly secret: string
  readonly capabilities: readonly Capability[]
  readonly expiresAt: string | null
}

export async function listApiKeys(ctx: Context): Promise<ListedKey[]> {
  return await keys.list(ctx.db, ctx.visible)
}

export async function createApiKey(ctx: Context, input: NewKeyInput): Promise<CreatedKey> {
  const client = parseClient(input.client)
  return await mutate(ctx, async (unit) => {
    const workspace = await boundWorkspace(ctx, unit, input)
    const capabilities = chooseCapabilities(input.capabilities, givable(ctx.actor, workspace))
    return await issue(ctx, unit, {
      ...parseCommon(input),
      kind: input.kind,
      client,
      workspace,
      personId: null,
      capabilities,
    })
  })
}

async function boundWorkspace(ctx: Context, unit: Unit, input: NewKeyInput): Promise<WorkspaceRef | null> {
  if (input.kind === 'account') {
    if (input.workspaceUid !== null) throw invalidInput('workspaceUid: an account key is not bound to a workspace.')
    if (ctx.visible !== 'all')
      throw forbidden('Only an account key, or an ADMIN of every workspace, makes account keys.')
    return null
  }
  if (input.workspaceUid === null) throw invalidInput(`workspaceUid: needed for a key of kind ${input.kind}.`)
  const workspace = await workspaces.findByUid(unit.db, input.workspaceUid)
  // The same words for "does not exist" and "not yours".
  if (workspace === null || (ctx.visible !== 'all' && !ctx.visible.includes(workspace.id))) {
    throw notFound('workspaceUid: no such workspace.')
  }
  return workspace
}

/** What the caller may do in a workspace; in any of theirs when none is named. */
export function heldIn(actor: Actor, workspace: WorkspaceRef | null): readonly Capability[] {
  if (personOf(actor) === null) return capabilitiesOf(actor)
  const roles = rolesIn(actor, workspace)
  const narrowed = actor.kind === 'personal-key' ? actor.key.capabilities : CAPABILITIES
  return CAPABILITIES.filter((one) => narrowed.includes(one) && roles.some((role) => RIGHTS[role].may.includes(one)))
}

/**
 * Nobody gives more than they hold where the key will work. A key that manages users gives and takes every account type,
 * so it is made only by whoever may do that too: otherwise an administrator of security, say, would make one and with it
 * themselves an ADMIN.
 */
function givable(actor: Actor, workspace: WorkspaceRef | null): readonly Capability[] {
  const held = heldIn(actor, workspace)
  if (personOf(actor) === null) return held
  const grants = new Set(rolesIn(actor, workspace).flatMap((role) => RIGHTS[role].grants))
  return ACCOUNT_TYPES.every((type) => grants.has(type)) ? held : held.filter((one) => one !== 'users:admin')
}

function rolesIn(actor: Actor, workspace: WorkspaceRef | null): readonly AccountType[] {
  return (personOf(actor)?.memberships ?? [])
    .filter((one) => workspace === null || one.workspaceId === workspace.id)
    .map((one) => one.accountType)
}

function chooseCapabilities(asked: readonly string[] | null, held: readonly Capability[]): readonly Capability[] {
  if (asked === null) return held
  const unknown = asked.find((one) => !isCapability(one))
  if (unknown !== undefined)
    throw invalidInput(`capabilities: ${quoted(unknown)} is none of ${CAPABILITIES.join(', ')}.`)
  if (asked.length === 0) throw invalidInput('capabilities: name at least one, or leave them out for all you may give.')
  const missing = asked.filter((one) => !held.includes(one as Capability))
  if (missing.length > 0) throw forbidden(`capabilities: these are not yours to give to a key: ${missing.join(', ')}.`)
  return CAPABILITIES.filter((one) => asked.includes(one))
}

function parseClient(client: string | null): KeyClient {
  if (client === null || client === '') return null
  if (client !== 'paradime')
    throw invalidInput('client: only "paradime" is known; leave it out for every other client.')
  return client
}

function parseCommon(input: { name: string; expiresDays: number | null }): {
  name: string
  expiresDays: number | null
} {
  const { expiresDays } = input
  if (expiresDays !== null && (expiresDays < 1 || expiresDays > 3650)) {
    throw invalidInput('expiresDays: 1 to 3650, or left out for a key that does not expire.')
  }
  return { name: parseName(input.name), expiresDays }
}

interface IssueInput {
  readonly name: string
  readonly kind: KeyKind
  readonly client: KeyClient
  readonly workspace: WorkspaceRef | null
  readonly personId: number | null
  readonly capabilities: readonly Capability[]
  readonly expiresDays: number | null
}

async function issue(ctx: Context, unit: Unit, input: IssueInput): Promise<CreatedKey> {
  const publicId = newPublicKeyId()
  const secret = newSecret()
  const { id, expiresAt } = await keys.insert(unit.db, {
    publicId,
    kind: input.kind,
    name: input.name,
    client: input.client,
    workspaceId: input.workspace?.id ?? null,
    personId: input.personId,
    capabilities: input.capabilities,
    kid: ctx.vault.kid,
    secretHash: ctx.vault.hashSecret(secret),
    createdBy: personOf(ctx.actor)?.id ?? (ctx.actor.kind === 'key' ? ctx.actor.key.makerId : null),
    expiresDays: input.expiresDays,
  })
  unit.record(
    'api_key_created',
    { id, name: input.name, kind: input.kind, capabilities: input.capabilities, expires_dttm: expiresAt },
    input.workspace ?? 'account',
  )
  const shown = formatKey(input.kind, input.client, publicId, secret)
  return { id, name: input.name, kind: input.kind, ...shown, capabilities: input.capabilities, expiresAt }
}

export async function revokeApiKey(ctx: Context, id: number): Promise<void> {
  await mutate(ctx, async (unit) => {
    const revoked = await keys.revoke(unit.db, id, { visible: ctx.visible })
    if (revoked === null) throw notFound('No key with this id that is not revoked. listApiKeys shows them.')
    const all = await workspaces.list(unit.db, 'all')
    const workspace = all.find((one) => one.id === revoked.workspaceId)
    unit.record('api_key_revoked', { id, name: revoked.name, kind: revoked.kind }, workspace ?? 'account')
  })
}

// --- personal keys: made by a signed-in person, for themselves, and worth what their roles are worth that day

export async function listPersonalKeys(ctx: Context): Promise<ListedKey[]> {
  return await keys.listPersonal(ctx.db, selfOf(ctx).id)
}

export async function createPersonalKey(
  ctx: Context,
  input: { name: string; capabilities: readonly string[] | null; expiresDays: number | null },
): Promise<CreatedKey> {
  const personId = selfOf(ctx).id
  if (ctx.actor.kind !== 'person') {
    throw new AppError('FORBIDDEN', 'A personal key is made by signing in, not with another key.')
  }
  const held = capabilitiesOf(ctx.actor)
  return await mutate(ctx, async (unit) =>
    issue(ctx, unit, {
      ...parseCommon(input),
      kind: 'personal',
      client: null,
      workspace: null,
      personId,
      capabilities: chooseCapabilities(input.capabilities, held),
    }),
  )
}

export async function revokePersonalKey(ctx: Context, id: number): Promise<void> {
  const personId = selfOf(ctx).id
  await mutate(ctx, async (unit) => {
    const revoked = await keys.revoke(unit.db, id, { personId })
    if (revoked === null) throw notFound('No key of yours with this id that is not revoked.')
    unit.record('api_key_revoked', { id, name: revoked.name, kind: revoked.kind }, 'account')
  })
}
