import { sql } from 'kysely'
import type { SecretKind } from '../domain/environment.ts'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

/** Where a secret lives; environmentId null is the workspace's own. */
export interface SecretPlace {
  readonly workspaceId: number
  readonly environmentId: number | null
  readonly kind: SecretKind
  readonly name: string
}

const contextOf = (place: SecretPlace, version: number): (string | number)[] => [
  'secret',
  place.workspaceId,
  place.environmentId ?? 0,
  place.kind,
  place.name,
  version,
]

/** Writes a new version. The row lock of the upsert orders two writers; each seals for the version it writes. */
export async function set(tx: Db, vault: Vault, place: SecretPlace, value: string): Promise<void> {
  const { rows } = await sql<{ version: number }>`
    /* secret_claim */ insert into secret (workspace_id, environment_id, kind, name, version, kid, wrapped_key, sealed)
    values (${place.workspaceId}, ${place.environmentId}, ${place.kind}, ${place.name}, 1, '', '', '')
    on conflict (workspace_id, environment_id, kind, name)
    do update set version = secret.version + 1, updated_at = clock_timestamp()
    returning version`.execute(tx)
  const sealed = vault.seal(value, contextOf(place, rows[0]!.version))
  await sql`/* secret_set */ update secret
    set kid = ${sealed.kid}, wrapped_key = ${sealed.wrappedKey}, sealed = ${sealed.sealed}
    where workspace_id = ${place.workspaceId} and environment_id is not distinct from ${place.environmentId}
      and kind = ${place.kind} and name = ${place.name}`.execute(tx)
}

export async function remove(tx: Db, place: SecretPlace): Promise<boolean> {
  const done = await sql`/* secret_delete */ delete from secret
    where workspace_id = ${place.workspaceId} and environment_id is not distinct from ${place.environmentId}
      and kind = ${place.kind} and name = ${place.name}`.execute(tx)
  return done.numAffectedRows === 1n
}

export interface SecretName {
  readonly environmentId: number | null
  readonly kind: SecretKind
  readonly name: string
  readonly updatedAt: string
}

export async function listNames(db: Db, workspaceId: number): Promise<SecretName[]> {
  const { rows } = await sql<SecretName>`
    /* secret_names */ select environment_id as "environmentId", kind, name,
      wire_time(updated_at) as "updatedAt"
    from secret where workspace_id = ${workspaceId} order by kind, name`.execute(db)
  return rows
}

interface SecretRow extends SecretPlace, Sealed {
  readonly id: number
  readonly version: number
}

const row = sql`id, workspace_id as "workspaceId", environment_id as "environmentId", kind, name, version, kid,
  wrapped_key as "wrappedKey", sealed`

/** The opened secrets of an environment, those of its workspace underneath: for whoever runs its commands. */
export async function openAll(
  db: Db,
  vault: Vault,
  workspaceId: number,
  environmentId: number,
): Promise<(SecretPlace & { value: string })[]> {
  const { rows } = await sql<SecretRow>`/* secret_open */ select ${row} from secret
    where workspace_id = ${workspaceId} and (environment_id is null or environment_id = ${environmentId})
    order by environment_id nulls first, kind, name`.execute(db)
  return rows.map((one) => ({
    workspaceId: one.workspaceId,
    environmentId: one.environmentId,
    kind: one.kind,
    name: one.name,
    value: vault.open(one, contextOf(one, one.version)).toString(),
  }))
}

/**
 * Wraps up to `limit` secrets that another master key wraps under the current one. Rows that somebody else is writing
 * are left for the next call; safe beside a running service, because the value and its version do not change.
 */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<SecretRow>`/* secret_rewrap_find */ select ${row} from secret
    where kid <> ${vault.kid} order by id limit ${limit} for update skip locked`.execute(tx)
  for (const one of rows) {
    const sealed = vault.rewrap(one, contextOf(one, one.version))
    await sql`/* secret_rewrap */ update secret set kid = ${sealed.kid}, wrapped_key = ${sealed.wrappedKey}
      where id = ${one.id}`.execute(tx)
  }
  return rows.length
}

// --- the master keys that this database knows

const CANARY = 'yardmaster'
const canaryContext = (kid: string): string[] => ['master key', kid]

export type MasterKeyCheck =
  | { readonly kind: 'fits' }
  | { readonly kind: 'new' }
  | { readonly kind: 'missing'; readonly kids: string[] }

/** Whether the ring opens what this database holds. `new`: the database has seen no master key yet. */
export async function checkMasterKeys(db: Db, vault: Vault): Promise<MasterKeyCheck> {
  const rows = await db.selectFrom('master_key').select(['kid', 'wrapped_key as wrappedKey', 'sealed']).execute()
  if (rows.length === 0) return { kind: 'new' }
  const missing = rows.filter((one) => !vault.kids.includes(one.kid)).map((one) => one.kid)
  if (missing.length > 0) return { kind: 'missing', kids: missing }
  for (const one of rows) {
    const opened = vault.open(one, canaryContext(one.kid))
    if (opened.toString() !== CANARY) throw new Error(`The known value of master key ${one.kid} reads differently.`)
  }
  return { kind: 'fits' }
}

/** Fingerprints of the master keys that this database has seen. */
export async function knownMasterKeys(db: Db): Promise<string[]> {
  return (await db.selectFrom('master_key').select('kid').execute()).map((one) => one.kid)
}

/** Remembers the current master key; also the proof at every start that what is stored cannot be read as it lies. */
export async function rememberMasterKey(db: Db, vault: Vault): Promise<void> {
  const sealed = vault.seal(CANARY, canaryContext(vault.kid))
  if (sealed.sealed.includes(CANARY)) throw new Error('Self-test failed: a sealed value is readable.')
  await db
    .insertInto('master_key')
    .values({ kid: sealed.kid, wrapped_key: sealed.wrappedKey, sealed: sealed.sealed })
    .onConflict((on) => on.doNothing())
    .execute()
}
