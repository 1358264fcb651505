// Accounts at other services that a workspace uses. Secrets are written and never read back.
import { randomUUID } from 'node:crypto'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import type { IntegrationKind, Values } from '../domain/integration.ts'
import { parseIntegrationName, parseKind, parseSecrets, parseSettings } from '../domain/integration.ts'
import type { TestBody } from '../domain/messages/notice.ts'
import { hasControl, parseEmail } from '../domain/text.ts'
import type { Integration } from '../store/integrations.ts'
import * as integrations from '../store/integrations.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export type { Integration } from '../store/integrations.ts'

export const listIntegrations = (ctx: Context): Promise<Integration[]> => integrations.list(ctx.db, workspaceOf(ctx).id)

export interface IntegrationInput {
  readonly kind: string
  readonly name: string
  readonly settings: Values
  readonly secrets: Values
}

export async function createIntegration(ctx: Context, input: IntegrationInput): Promise<{ id: number }> {
  const workspace = workspaceOf(ctx)
  const kind = parseKind(input.kind)
  const name = parseIntegrationName(kind, input.name)
  const settings = parseSettings(kind, input.settings)
  const secrets = parseSecrets(kind, input.secrets)
  return await mutate(ctx, async (unit) => {
    const id = await integrations.insert(unit.db, workspace.id, { kind, name, settings })
    if (id === null) {
      throw conflict(
        name === ''
          ? `The workspace has a ${kind} integration already: update it instead.`
          : `There is a ${kind} integration of that name already: update it, or choose another name.`,
      )
    }
    await integrations.setSecrets(unit.db, ctx.vault, { workspaceId: workspace.id, integrationId: id }, secrets)
    unit.record('integration_created', { integration: id, kind, ...(name !== '' && { name }) })
    return { id }
  })
}

/** What is not given stays as it is; kind and name never change. */
export async function updateIntegration(
  ctx: Context,
  id: number,
  input: { readonly settings: Values; readonly secrets: Values },
): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const old = await lock(ctx, unit, id)
    const settings = parseSettings(old.kind, input.settings, old.settings)
    const secrets = parseSecrets(old.kind, input.secrets, old.secretNames)
    if (settings.apiUrl !== old.settings.apiUrl) refuseKept(old, secrets)
    await integrations.update(unit.db, workspace.id, id, settings)
    await integrations.setSecrets(unit.db, ctx.vault, { workspaceId: workspace.id, integrationId: id }, secrets)
    const changed = { settings: Object.keys(input.settings), secrets: Object.keys(secrets) }
    unit.record('integration_updated', { integration: id, kind: old.kind, ...changed })
  })
}

/** What comes in is checked by these; they are never sent anywhere. */
const STAY = ['webhookSecret', 'signingSecret']

/** Otherwise whoever may change an address, and may not read secrets, could have them sent to himself. */
function refuseKept(old: Integration, given: Values): void {
  const kept = old.secretNames.filter((name) => !STAY.includes(name) && !Object.hasOwn(given, name))
  if (kept.length > 0)
    throw invalidInput(
      `secrets: give them again for another apiUrl, they were meant for the old one: ${kept.join(', ')}.`,
    )
}

export async function removeIntegration(ctx: Context, id: number): Promise<void> {
  await mutate(ctx, async (unit) => {
    const { kind, name } = await lock(ctx, unit, id)
    await integrations.remove(unit.db, workspaceOf(ctx).id, id)
    unit.record('integration_removed', { integration: id, kind, ...(name !== '' && { name }) })
  })
}

/** Queues something harmless that says that it is a test: a message, or, for incidents, a question about the account. */
export async function testIntegration(
  ctx: Context,
  input: { readonly id: number; readonly address: string },
): Promise<{ deliveryId: string }> {
  return await mutate(ctx, async (unit) => {
    const { kind, name } = await lock(ctx, unit, input.id)
    if (kind === 'github' || kind === 'gitlab') throw invalidInput(`A ${kind} integration sends nothing by itself.`)
    const address = input.address.trim() || name
    if (address.length > 254 || hasControl(address)) throw invalidInput('address: one line of up to 254 characters.')
    const deliveryId = await queueTest(ctx, unit, { channel: kind, integrationId: input.id, address })
    unit.record('integration_tested', { integration: input.id, kind, delivery: deliveryId })
    return { deliveryId }
  })
}

/** Queues a mail that says that it is a test: mail is set up by the operator, for all workspaces. */
export async function testMail(ctx: Context, text: string): Promise<{ deliveryId: string }> {
  const address = parseEmail(text, 'address')
  return await mutate(ctx, async (unit) => {
    const deliveryId = await queueTest(ctx, unit, { channel: 'mail', address })
    unit.record('integration_tested', { kind: 'mail', delivery: deliveryId })
    return { deliveryId }
  })
}

async function queueTest(
  ctx: Context,
  unit: Unit,
  to: { readonly channel: IntegrationKind | 'mail'; readonly integrationId?: number; readonly address: string },
): Promise<string> {
  const workspace = workspaceOf(ctx)
  const body: TestBody = {
    workspace: { uid: workspace.uid, name: workspace.name },
    url: `${ctx.settings.publicUrl}/workspaces/${workspace.uid}`,
  }
  const id = await queueDelivery(unit, {
    workspaceId: workspace.id,
    channel: to.channel,
    ...(to.integrationId !== undefined && { integrationId: to.integrationId }),
    address: to.address,
    event: 'test',
    causeKey: `test ${randomUUID()}`,
    body,
  })
  return id!
}

async function lock(ctx: Context, unit: Unit, id: number): Promise<Integration> {
  const found = await integrations.lock(unit.db, workspaceOf(ctx).id, id)
  if (found === null) throw notFound(`No integration ${id} in this workspace.`)
  return found
}
