// Rows of integrations and their secrets. Removing one takes its secrets away; deliveries that were made through it stay
// readable.
import { sql } from 'kysely'
import type { IntegrationKind, Values } from '../domain/integration.ts'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

export interface Integration {
  readonly id: number
  readonly kind: IntegrationKind
  /** Empty for kinds of which a workspace has one. */
  readonly name: string
  readonly settings: Values
  /** Which secrets are stored; never their values. */
  readonly secretNames: readonly string[]
  /** As on the wire. */
  readonly createdAt: string
  readonly updatedAt: string
}

const columns = sql`i.id, i.kind, i.name, i.settings, wire_time(i.created_at) as "createdAt",
  wire_time(i.updated_at) as "updatedAt",
  array(select x.name from integration_secret x where x.integration_id = i.id order by x.name) as "secretNames"`

export async function list(db: Db, workspaceId: number): Promise<Integration[]> {
  const { rows } = await sql<Integration>`/* integration_list */ select ${columns} from integration i
    where i.workspace_id = ${workspaceId} and i.removed_at is null order by i.kind, i.name, i.id`.execute(db)
  return rows
}

/** By kind and, where there are several, by name in any case; null when there is none. */
export async function findByName(
  db: Db,
  workspaceId: number,
  kind: IntegrationKind,
  name = '',
): Promise<Integration | null> {
  const { rows } = await sql<Integration>`/* integration_find */ select ${columns} from integration i
    where i.workspace_id = ${workspaceId} and i.kind = ${kind} and lower(i.name) = lower(${name})
      and i.removed_at is null`.execute(db)
  return rows[0] ?? null
}

/** Locked to the end of the transaction. */
export async function lock(tx: Db, workspaceId: number, id: number): Promise<Integration | null> {
  const { rows } = await sql<Integration>`/* integration_lock */ select ${columns} from integration i
    where i.workspace_id = ${workspaceId} and i.id = ${id} and i.removed_at is null for update`.execute(tx)
  return rows[0] ?? null
}

/** Null when there is one with this kind and name. */
export async function insert(
  tx: Db,
  workspaceId: number,
  one: { readonly kind: IntegrationKind; readonly name: string; readonly settings: Values },
): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* integration_insert */ insert into integration (workspace_id, kind, name,
      settings)
    values (${workspaceId}, ${one.kind}, ${one.name}, ${JSON.stringify(one.settings)})
    on conflict (workspace_id, kind, lower(name)) where removed_at is null do nothing returning id`.execute(tx)
  return rows[0]?.id ?? null
}

export async function update(tx: Db, workspaceId: number, id: number, settings: Values): Promise<void> {
  await sql`/* integration_update */ update integration set settings = ${JSON.stringify(settings)},
      updated_at = clock_timestamp() where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

export async function remove(tx: Db, workspaceId: number, id: number): Promise<void> {
  await sql`/* integration_remove_secrets */ delete from integration_secret
    where workspace_id = ${workspaceId} and integration_id = ${id}`.execute(tx)
  await sql`/* integration_remove */ update integration set removed_at = clock_timestamp()
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

interface Place {
  readonly workspaceId: number
  readonly integrationId: number
}

const contextOf = (place: Place, name: string): (string | number)[] => [
  'integration secret',
  place.workspaceId,
  place.integrationId,
  name,
]

/** Under the lock of the integration. */
export async function setSecrets(tx: Db, vault: Vault, place: Place, values: Values): Promise<void> {
  for (const [name, value] of Object.entries(values)) {
    const sealed = vault.seal(value, contextOf(place, name))
    await sql`/* integration_secret_set */ insert into integration_secret (workspace_id, integration_id, name, kid,
        wrapped_key, sealed)
      values (${place.workspaceId}, ${place.integrationId}, ${name}, ${sealed.kid}, ${sealed.wrappedKey},
        ${sealed.sealed})
      on conflict (integration_id, name) do update set kid = excluded.kid, wrapped_key = excluded.wrapped_key,
        sealed = excluded.sealed`.execute(tx)
  }
}

export interface OpenedIntegration {
  readonly id: number
  readonly kind: IntegrationKind
  readonly settings: Values
  readonly secrets: Values
}

/** For whoever sends; null when it was removed. */
export async function open(db: Db, vault: Vault, workspaceId: number, id: number): Promise<OpenedIntegration | null> {
  const { rows } = await sql<{ id: number; kind: IntegrationKind; settings: Values }>`/* integration_open */
    select id, kind, settings from integration
    where workspace_id = ${workspaceId} and id = ${id} and removed_at is null`.execute(db)
  if (rows[0] === undefined) return null
  const { rows: sealed } = await sql<Sealed & { name: string }>`/* integration_open_secrets */ select name, kid,
      wrapped_key as "wrappedKey", sealed
    from integration_secret where workspace_id = ${workspaceId} and integration_id = ${id}`.execute(db)
  const place = { workspaceId, integrationId: id }
  const secrets = sealed.map((one) => [one.name, vault.open(one, contextOf(place, one.name)).toString()] as const)
  return { ...rows[0], secrets: Object.fromEntries(secrets) }
}

/** As `rewrapSome` of secrets.ts: up to `limit` values under the current master key, beside a running service. */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<Sealed & Place & { name: string }>`/* integration_secret_rewrap_find */
    select workspace_id as "workspaceId", integration_id as "integrationId", name, kid, wrapped_key as "wrappedKey",
      sealed
    from integration_secret where kid <> ${vault.kid} order by integration_id, name
    limit ${limit} for update skip locked`.execute(tx)
  for (const row of rows) {
    const sealed = vault.rewrap(row, contextOf(row, row.name))
    await sql`/* integration_secret_rewrap */ update integration_secret set kid = ${sealed.kid},
      wrapped_key = ${sealed.wrappedKey}
      where integration_id = ${row.integrationId} and name = ${row.name}`.execute(tx)
  }
  return rows.length
}
