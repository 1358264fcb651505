// Webhooks of a workspace, and what is sent to them. A secret is shown once, when it is made.
import { randomUUID } from 'node:crypto'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import type { WebhookEvent, WebhookTest } from '../domain/messages/webhook.ts'
import { asStarted } from '../domain/run-report.ts'
import { newWebhookSecret, parseWebhookDescription, parseWebhookEvents, parseWebhookUrl } from '../domain/webhook.ts'
import type { Webhook } from '../store/webhooks.ts'
import * as webhooks from '../store/webhooks.ts'
import type { App, Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { readRunReport } from './run-report.ts'

export type { Webhook } from '../store/webhooks.ts'

const MOST_WEBHOOKS = 50
const OVERLAP_HOURS = 24
const MOST_OVERLAP_HOURS = 30 * 24

export const listWebhooks = (ctx: Context): Promise<Webhook[]> => webhooks.list(ctx.db, workspaceOf(ctx).id)

export interface WebhookFields {
  readonly url?: string | undefined
  readonly description?: string | undefined
  readonly events?: readonly string[] | undefined
  readonly enabled?: boolean | undefined
}

export async function createWebhook(ctx: Context, input: WebhookFields): Promise<{ id: number; secret: string }> {
  const workspace = workspaceOf(ctx)
  if (input.url === undefined) throw invalidInput('url: needed for a new webhook.')
  const values = {
    url: parseWebhookUrl(input.url),
    description: parseWebhookDescription(input.description ?? ''),
    events: parseWebhookEvents(input.events ?? []),
    enabled: input.enabled ?? true,
  }
  const secret = newWebhookSecret()
  return await mutate(ctx, async (unit) => {
    if ((await webhooks.list(unit.db, workspace.id)).length >= MOST_WEBHOOKS)
      throw conflict(`A workspace has at most ${MOST_WEBHOOKS} webhooks: delete one first.`)
    const id = await webhooks.insert(unit.db, workspace.id, values)
    await webhooks.addSecret(
      unit.db,
      ctx.vault,
      { workspaceId: workspace.id, webhookId: id },
      { value: secret, overlapHours: 0 },
    )
    unit.record('webhook_created', { webhook: id, host: hostOf(values.url), events: values.events })
    return { id, secret }
  })
}

export async function updateWebhook(ctx: Context, id: number, input: WebhookFields): Promise<void> {
  await mutate(ctx, async (unit) => {
    const old = await lock(ctx, unit, id)
    const values = {
      url: input.url === undefined ? old.url : parseWebhookUrl(input.url),
      description: input.description === undefined ? old.description : parseWebhookDescription(input.description),
      events: input.events === undefined ? old.events : parseWebhookEvents(input.events),
      enabled: input.enabled ?? old.enabled,
    }
    await webhooks.update(unit.db, workspaceOf(ctx).id, id, values)
    const fields = Object.keys(input).filter((key) => input[key as keyof WebhookFields] !== undefined)
    unit.record('webhook_updated', { webhook: id, host: hostOf(values.url), fields })
  })
}

export async function deleteWebhook(ctx: Context, id: number): Promise<void> {
  await mutate(ctx, async (unit) => {
    const { url } = await lock(ctx, unit, id)
    await webhooks.remove(unit.db, workspaceOf(ctx).id, id)
    unit.record('webhook_deleted', { webhook: id, host: hostOf(url) })
  })
}

/** A new secret signs at once; the old ones go on beside it, so that the receiver can be told in its own time. */
export async function rotateWebhookSecret(
  ctx: Context,
  input: { readonly id: number; readonly overlapHours?: number | null },
): Promise<{ secret: string }> {
  const overlapHours = input.overlapHours ?? OVERLAP_HOURS
  if (overlapHours < 0 || overlapHours > MOST_OVERLAP_HOURS)
    throw invalidInput(`overlapHours: 0 to ${MOST_OVERLAP_HOURS}.`)
  const secret = newWebhookSecret()
  return await mutate(ctx, async (unit) => {
    await lock(ctx, unit, input.id)
    const place = { workspaceId: workspaceOf(ctx).id, webhookId: input.id }
    await webhooks.addSecret(unit.db, ctx.vault, place, { value: secret, overlapHours })
    unit.record('webhook_secret_rotated', { webhook: input.id, overlap_hours: overlapHours })
    return { secret }
  })
}

/** Queues a delivery that says that it is a test. */
export async function testWebhook(ctx: Context, id: number): Promise<{ deliveryId: string }> {
  const workspace = workspaceOf(ctx)
  return await mutate(ctx, async (unit) => {
    const webhook = await lock(ctx, unit, id)
    if (!webhook.enabled) throw conflict('The webhook is switched off: switch it on first.')
    const body: WebhookTest = {
      apiUrl: `${ctx.settings.publicUrl}/graphql`,
      workspace: { uid: workspace.uid, name: workspace.name },
    }
    const deliveryId = await queueDelivery(unit, {
      workspaceId: workspace.id,
      channel: 'webhook',
      webhookId: id,
      event: 'test',
      causeKey: `test ${randomUUID()}`,
      body,
    })
    unit.record('webhook_tested', { webhook: id, delivery: deliveryId })
    return { deliveryId: deliveryId! }
  })
}

async function lock(ctx: Context, unit: Unit, id: number): Promise<Webhook> {
  const found = await webhooks.lock(unit.db, workspaceOf(ctx).id, id)
  if (found === null) throw notFound(`No webhook ${id} in this workspace.`)
  return found
}

/** The path may hold a token of the receiver: the audit log names the host alone. */
const hostOf = (url: string): string => new URL(url).host

const EVENTS: Readonly<Partial<Record<RunEvent['kind'], WebhookEvent>>> = {
  started: 'bolt.run.started',
  ended: 'bolt.run.completed',
}

export const webhookHandler = (app: App): RunEventHandler => ({
  name: 'webhooks',
  handle: async (unit, event) => {
    const name = EVENTS[event.kind]
    if (name === undefined || event.state === 'skipped') return
    const wanted = await webhooks.listFor(unit.db, event.workspaceId, name)
    if (wanted.length === 0) return
    const report = await readRunReport(app, unit.db, event)
    const body = event.kind === 'started' ? asStarted(report) : report
    for (const { id } of wanted) {
      await queueDelivery(unit, {
        workspaceId: event.workspaceId,
        channel: 'webhook',
        webhookId: id,
        event: name,
        causeKey: `webhook ${id} ${name} ${event.runId}`,
        runId: event.runId,
        scheduleId: event.scheduleId,
        body,
      })
    }
  },
})
