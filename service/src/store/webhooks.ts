// Rows of webhooks and their secrets. While a secret is being exchanged there are two, and each delivery is signed with
// both: the old one is gone at its time.
import { sql } from 'kysely'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

export interface WebhookValues {
  readonly url: string
  readonly description: string
  readonly events: readonly string[]
  readonly enabled: boolean
}

export interface Webhook extends WebhookValues {
  readonly id: number
  /** As on the wire. */
  readonly createdAt: string
  /** Secrets that deliveries are signed with now. */
  readonly secrets: number
}

const columns = sql`h.id, h.url, h.description, h.events, h.enabled, wire_time(h.created_at) as "createdAt",
  (select count(*)::int from webhook_secret x where x.webhook_id = h.id
    and (x.retires_at is null or x.retires_at > clock_timestamp())) as secrets`

export async function list(db: Db, workspaceId: number): Promise<Webhook[]> {
  const { rows } = await sql<Webhook>`/* webhook_list */ select ${columns} from webhook h
    where h.workspace_id = ${workspaceId} and h.removed_at is null order by h.id`.execute(db)
  return rows
}

/** Those that want to hear of an event. */
export async function listFor(db: Db, workspaceId: number, event: string): Promise<{ id: number }[]> {
  const { rows } = await sql<{ id: number }>`/* webhook_for */ select id from webhook
    where workspace_id = ${workspaceId} and removed_at is null and enabled and ${event} = any (events)
    order by id`.execute(db)
  return rows
}

/** Deleted ones too: their deliveries stay readable. */
export async function exists(db: Db, workspaceId: number, id: number): Promise<boolean> {
  const { rows } = await sql`/* webhook_exists */ select 1 from webhook
    where workspace_id = ${workspaceId} and id = ${id}`.execute(db)
  return rows.length > 0
}

/** Locked to the end of the transaction. */
export async function lock(tx: Db, workspaceId: number, id: number): Promise<Webhook | null> {
  const { rows } = await sql<Webhook>`/* webhook_lock */ select ${columns} from webhook h
    where h.workspace_id = ${workspaceId} and h.id = ${id} and h.removed_at is null for update`.execute(tx)
  return rows[0] ?? null
}

export async function insert(tx: Db, workspaceId: number, values: WebhookValues): Promise<number> {
  const { rows } = await sql<{ id: number }>`/* webhook_insert */ insert into webhook (workspace_id, url, description,
      events, enabled)
    values (${workspaceId}, ${values.url}, ${values.description}, ${[...values.events]}, ${values.enabled})
    returning id`.execute(tx)
  return rows[0]!.id
}

export async function update(tx: Db, workspaceId: number, id: number, values: WebhookValues): Promise<void> {
  await sql`/* webhook_update */ update webhook set url = ${values.url}, description = ${values.description},
      events = ${[...values.events]}, enabled = ${values.enabled}
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

/** Its deliveries stay readable; its secrets go. */
export async function remove(tx: Db, workspaceId: number, id: number): Promise<void> {
  await sql`/* webhook_remove */ update webhook set removed_at = clock_timestamp(), enabled = false
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
  await sql`/* webhook_remove_secrets */ delete from webhook_secret
    where workspace_id = ${workspaceId} and webhook_id = ${id}`.execute(tx)
}

const contextOf = (workspaceId: number, webhookId: number): (string | number)[] => [
  'webhook secret',
  workspaceId,
  webhookId,
]

/** The new secret signs at once; those before it go on for so long, and what retired earlier is forgotten. */
export async function addSecret(
  tx: Db,
  vault: Vault,
  of: { readonly workspaceId: number; readonly webhookId: number },
  secret: { readonly value: string; readonly overlapHours: number },
): Promise<void> {
  const { workspaceId, webhookId } = of
  const sealed = vault.seal(secret.value, contextOf(workspaceId, webhookId))
  await sql`/* webhook_secret_forget */ delete from webhook_secret
    where workspace_id = ${workspaceId} and webhook_id = ${webhookId} and retires_at <= clock_timestamp()`.execute(tx)
  await sql`/* webhook_secret_retire */ update webhook_secret
    set retires_at = least(retires_at, clock_timestamp() + ${secret.overlapHours}::int * interval '1 hour')
    where workspace_id = ${workspaceId} and webhook_id = ${webhookId}`.execute(tx)
  await sql`/* webhook_secret_insert */ insert into webhook_secret (workspace_id, webhook_id, kid, wrapped_key, sealed)
    values (${workspaceId}, ${webhookId}, ${sealed.kid}, ${sealed.wrappedKey}, ${sealed.sealed})`.execute(tx)
}

export interface OpenedWebhook {
  readonly url: string
  readonly enabled: boolean
  /** The newest first. */
  readonly secrets: readonly string[]
}

/** For whoever sends; null when it was removed. */
export async function open(db: Db, vault: Vault, workspaceId: number, id: number): Promise<OpenedWebhook | null> {
  const { rows } = await sql<{ url: string; enabled: boolean }>`/* webhook_open */ select url, enabled from webhook
    where workspace_id = ${workspaceId} and id = ${id} and removed_at is null`.execute(db)
  if (rows[0] === undefined) return null
  const { rows: sealed } = await sql<Sealed>`/* webhook_open_secrets */ select kid, wrapped_key as "wrappedKey", sealed
    from webhook_secret where workspace_id = ${workspaceId} and webhook_id = ${id}
      and (retires_at is null or retires_at > clock_timestamp())
    order by id desc`.execute(db)
  return { ...rows[0], secrets: sealed.map((one) => vault.open(one, contextOf(workspaceId, id)).toString()) }
}

/** As `rewrapSome` of secrets.ts: up to `limit` values under the current master key, beside a running service. */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<Sealed & { id: number; workspaceId: number; webhookId: number }>`
    /* webhook_secret_rewrap_find */ select id, workspace_id as "workspaceId", webhook_id as "webhookId", kid,
      wrapped_key as "wrappedKey", sealed
    from webhook_secret where kid <> ${vault.kid} order by id limit ${limit} for update skip locked`.execute(tx)
  for (const row of rows) {
    const sealed = vault.rewrap(row, contextOf(row.workspaceId, row.webhookId))
    await sql`/* webhook_secret_rewrap */ update webhook_secret set kid = ${sealed.kid},
      wrapped_key = ${sealed.wrappedKey} where id = ${row.id}`.execute(tx)
  }
  return rows.length
}
