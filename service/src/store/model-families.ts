// Rows of model families and their secrets. Removing one takes its secrets away; sessions keep the name alone.
import { sql } from 'kysely'
import type { ModelProvider, Values } from '../domain/model-family.ts'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

export interface ModelFamily {
  readonly id: number
  readonly name: string
  readonly provider: ModelProvider
  readonly model: string
  readonly isDefault: boolean
  readonly settings: Values
  /** Which secrets are stored; never their values. */
  readonly secretNames: readonly string[]
}

const columns = sql`f.id, f.name, f.provider, f.model, f.is_default as "isDefault", f.settings,
  array(select x.name from model_family_secret x where x.family_id = f.id order by x.name) as "secretNames"`

/** The oldest first. */
export async function list(db: Db, workspaceId: number): Promise<ModelFamily[]> {
  const { rows } = await sql<ModelFamily>`/* model_family_list */ select ${columns} from model_family f
    where f.workspace_id = ${workspaceId} order by f.id`.execute(db)
  return rows
}

export async function find(db: Db, workspaceId: number, name: string): Promise<ModelFamily | null> {
  const { rows } = await sql<ModelFamily>`/* model_family_find */ select ${columns} from model_family f
    where f.workspace_id = ${workspaceId} and f.name = ${name}`.execute(db)
  return rows[0] ?? null
}

/** Of every workspace, for the operator; null where the database is older than families. */
export async function listAll(db: Db): Promise<(ModelFamily & { workspaceId: number; workspace: string })[] | null> {
  const { rows: there } = await sql<{ there: boolean }>`/* model_family_there */
    select to_regclass('model_family') is not null as there`.execute(db)
  if (there[0]?.there !== true) return null
  const { rows } = await sql<ModelFamily & { workspaceId: number; workspace: string }>`/* model_family_list_all */
    select w.id as "workspaceId", w.name as workspace, ${columns}
    from model_family f join workspace w on w.id = f.workspace_id order by w.id, f.id`.execute(db)
  return rows
}

/** Two changes of the families of a workspace follow each other: there is one default at most, and the first is it. */
export async function lockAll(tx: Db, workspaceId: number): Promise<void> {
  await sql`/* model_family_lock */ select 1 from workspace where id = ${workspaceId} for no key update`.execute(tx)
}

interface Written {
  readonly name: string
  readonly provider: ModelProvider
  readonly model: string
  readonly isDefault: boolean
  readonly settings: Values
}

/** Makes or changes the one of this name, under `lockAll`. */
export async function set(tx: Db, workspaceId: number, one: Written): Promise<number> {
  if (one.isDefault) {
    await sql`/* model_family_no_default */ update model_family set is_default = false
      where workspace_id = ${workspaceId} and is_default and name <> ${one.name}`.execute(tx)
  }
  const { rows } = await sql<{
    id: number
  }>`/* model_family_set */ insert into model_family (workspace_id, name, provider,
      model, is_default, settings)
    values (${workspaceId}, ${one.name}, ${one.provider}, ${one.model}, ${one.isDefault},
      ${JSON.stringify(one.settings)})
    on conflict (workspace_id, name) do update set provider = excluded.provider, model = excluded.model,
      is_default = excluded.is_default, settings = excluded.settings, updated_at = clock_timestamp()
    returning id`.execute(tx)
  return rows[0]!.id
}

/** With its secrets; false when there is none. */
export async function remove(tx: Db, workspaceId: number, name: string): Promise<boolean> {
  const { rows } = await sql`/* model_family_remove */ delete from model_family
    where workspace_id = ${workspaceId} and name = ${name} returning id`.execute(tx)
  return rows.length > 0
}

interface Place {
  readonly workspaceId: number
  readonly familyId: number
}

const contextOf = (place: Place, name: string): (string | number)[] => [
  'model family secret',
  place.workspaceId,
  place.familyId,
  name,
]

/** Under the lock of the families. Those that are not among `kept` go. */
export async function setSecrets(
  tx: Db,
  vault: Vault,
  place: Place,
  { kept, values }: { readonly kept: readonly string[]; readonly values: Values },
): Promise<void> {
  await sql`/* model_family_secret_drop */ delete from model_family_secret
    where workspace_id = ${place.workspaceId} and family_id = ${place.familyId} and name <> all (${kept})`.execute(tx)
  for (const [name, value] of Object.entries(values)) {
    const sealed = vault.seal(value, contextOf(place, name))
    await sql`/* model_family_secret_set */ insert into model_family_secret (workspace_id, family_id, name, kid,
        wrapped_key, sealed)
      values (${place.workspaceId}, ${place.familyId}, ${name}, ${sealed.kid}, ${sealed.wrappedKey}, ${sealed.sealed})
      on conflict (family_id, name) do update set kid = excluded.kid, wrapped_key = excluded.wrapped_key,
        sealed = excluded.sealed`.execute(tx)
  }
}

/** For whoever asks the model. */
export async function openSecrets(db: Db, vault: Vault, place: Place): Promise<Values> {
  const { rows } = await sql<Sealed & { name: string }>`/* model_family_open_secrets */ select name, kid,
      wrapped_key as "wrappedKey", sealed
    from model_family_secret where workspace_id = ${place.workspaceId} and family_id = ${place.familyId}`.execute(db)
  return Object.fromEntries(rows.map((one) => [one.name, vault.open(one, contextOf(place, one.name)).toString()]))
}

/** As `rewrapSome` of secrets.ts: up to `limit` values under the current master key, beside a running service. */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<Sealed & Place & { name: string }>`/* model_family_secret_rewrap_find */
    select workspace_id as "workspaceId", family_id as "familyId", name, kid, wrapped_key as "wrappedKey", sealed
    from model_family_secret where kid <> ${vault.kid} order by family_id, name
    limit ${limit} for update skip locked`.execute(tx)
  for (const row of rows) {
    const sealed = vault.rewrap(row, contextOf(row, row.name))
    await sql`/* model_family_secret_rewrap */ update model_family_secret set kid = ${sealed.kid},
      wrapped_key = ${sealed.wrappedKey} where family_id = ${row.familyId} and name = ${row.name}`.execute(tx)
  }
  return rows.length
}
