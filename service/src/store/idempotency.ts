import { sql } from 'kysely'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

export interface IdempotencyPlace {
  readonly scope: string
  readonly key: string
  readonly position: number
}

const contextOf = (place: IdempotencyPlace): (string | number)[] => ['answer', place.scope, place.key, place.position]

interface StoredRow extends Sealed {
  readonly bodyHash: Buffer
}

/**
 * Takes the place inside the mutation's own transaction, or gives the answer that stands there. A second caller with
 * the same key waits on the first one's row until that commits (it then reads the answer) or rolls back (it goes on).
 * Answers older than a day are forgotten.
 */
export async function claim(
  tx: Db,
  vault: Vault,
  place: IdempotencyPlace,
  bodyHash: Buffer,
): Promise<{ kind: 'claimed' } | { kind: 'answered'; answer: unknown } | { kind: 'other-body' }> {
  await sql`/* idempotency_forget */ delete from idempotent_answer
    where scope = ${place.scope} and key = ${place.key} and created_at < clock_timestamp() - interval '24 hours'`.execute(
    tx,
  )
  const done = await sql`/* idempotency_claim */ insert into idempotent_answer
      (scope, key, position, body_hash, kid, wrapped_key, sealed)
    values (${place.scope}, ${place.key}, ${place.position}, ${bodyHash}, '', '', '')
    on conflict do nothing`.execute(tx)
  if (done.numAffectedRows === 1n) return { kind: 'claimed' }
  const { rows } = await sql<StoredRow>`/* idempotency_read */ select body_hash as "bodyHash", kid,
      wrapped_key as "wrappedKey", sealed from idempotent_answer
    where scope = ${place.scope} and key = ${place.key} and position = ${place.position}`.execute(tx)
  const stored = rows[0]
  if (stored === undefined) return { kind: 'claimed' }
  if (!stored.bodyHash.equals(bodyHash)) return { kind: 'other-body' }
  return { kind: 'answered', answer: JSON.parse(vault.open(stored, contextOf(place)).toString()) }
}

/** Sealed, because the answer may hold a key that is shown once. */
export async function answer(tx: Db, vault: Vault, place: IdempotencyPlace, value: unknown): Promise<void> {
  const sealed = vault.seal(JSON.stringify(value ?? null), contextOf(place))
  await sql`/* idempotency_answer */ update idempotent_answer
    set kid = ${sealed.kid}, wrapped_key = ${sealed.wrappedKey}, sealed = ${sealed.sealed}
    where scope = ${place.scope} and key = ${place.key} and position = ${place.position}`.execute(tx)
}

export async function forgetOld(db: Db): Promise<number> {
  const done = await sql`/* idempotency_forget_old */ delete from idempotent_answer
    where created_at < clock_timestamp() - interval '24 hours'`.execute(db)
  return Number(done.numAffectedRows ?? 0n)
}
