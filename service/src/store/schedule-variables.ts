// The values of a schedule's own variables: sealed, written whole, opened for its commands only.
import { sql } from 'kysely'
import type { EnvVar } from '../domain/schedule.ts'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

interface Place {
  readonly workspaceId: number
  readonly scheduleId: number
}

const contextOf = (place: Place, name: string): (string | number)[] => [
  'schedule variable',
  place.workspaceId,
  place.scheduleId,
  name,
]

/** The given ones take the place of all that were there. Under the lock of the schedule's row. */
export async function replaceAll(tx: Db, vault: Vault, place: Place, variables: readonly EnvVar[]): Promise<void> {
  await sql`/* schedule_variable_clear */ delete from schedule_variable
    where workspace_id = ${place.workspaceId} and schedule_id = ${place.scheduleId}`.execute(tx)
  if (variables.length === 0) return
  await tx
    .insertInto('schedule_variable')
    .values(
      variables.map(({ key, value }) => {
        const sealed = vault.seal(value, contextOf(place, key))
        return {
          workspace_id: place.workspaceId,
          schedule_id: place.scheduleId,
          name: key,
          kid: sealed.kid,
          wrapped_key: sealed.wrappedKey,
          sealed: sealed.sealed,
        }
      }),
    )
    .execute()
}

/** For whoever runs the schedule's commands. */
export async function openAll(db: Db, vault: Vault, place: Place): Promise<EnvVar[]> {
  const { rows } = await sql<Sealed & { name: string }>`/* schedule_variable_open */ select name, kid,
      wrapped_key as "wrappedKey", sealed
    from schedule_variable where workspace_id = ${place.workspaceId} and schedule_id = ${place.scheduleId}
    order by name`.execute(db)
  return rows.map((row) => ({ key: row.name, value: vault.open(row, contextOf(place, row.name)).toString() }))
}

/** For whoever compares them with a file: by schedule. */
export async function openAllOf(db: Db, vault: Vault, workspaceId: number): Promise<Map<number, EnvVar[]>> {
  const { rows } = await sql<Sealed & { name: string; scheduleId: number }>`/* schedule_variable_open_all */
    select schedule_id as "scheduleId", name, kid, wrapped_key as "wrappedKey", sealed
    from schedule_variable where workspace_id = ${workspaceId} order by schedule_id, name`.execute(db)
  const opened = new Map<number, EnvVar[]>()
  for (const row of rows) {
    const value = vault.open(row, contextOf({ workspaceId, scheduleId: row.scheduleId }, row.name)).toString()
    opened.set(row.scheduleId, [...(opened.get(row.scheduleId) ?? []), { key: row.name, value }])
  }
  return opened
}

/** As `replaceAll`, for many schedules at once. Under the locks of their rows. */
export async function replaceMany(
  tx: Db,
  vault: Vault,
  workspaceId: number,
  variables: ReadonlyMap<number, readonly EnvVar[]>,
): Promise<void> {
  if (variables.size === 0) return
  await sql`/* schedule_variable_clear_many */ delete from schedule_variable
    where workspace_id = ${workspaceId} and schedule_id = any(${[...variables.keys()]}::int[])`.execute(tx)
  const rows = [...variables].flatMap(([scheduleId, all]) =>
    all.map(({ key, value }) => ({
      scheduleId,
      key,
      ...vault.seal(value, contextOf({ workspaceId, scheduleId }, key)),
    })),
  )
  if (rows.length === 0) return
  await sql`/* schedule_variable_insert_many */ insert into schedule_variable
      (workspace_id, schedule_id, name, kid, wrapped_key, sealed)
    select ${workspaceId}, * from unnest(${rows.map((one) => one.scheduleId)}::int[],
      ${rows.map((one) => one.key)}::text[], ${rows.map((one) => one.kid)}::text[],
      ${rows.map((one) => one.wrappedKey)}::bytea[], ${rows.map((one) => one.sealed)}::bytea[])`.execute(tx)
}

/** As `rewrapSome` of secrets.ts: up to `limit` values under the current master key, beside a running service. */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<Sealed & { name: string; workspaceId: number; scheduleId: number }>`
    /* schedule_variable_rewrap_find */ select workspace_id as "workspaceId", schedule_id as "scheduleId", name, kid,
      wrapped_key as "wrappedKey", sealed
    from schedule_variable where kid <> ${vault.kid} order by schedule_id, name
    limit ${limit} for update skip locked`.execute(tx)
  for (const row of rows) {
    const sealed = vault.rewrap(row, contextOf(row, row.name))
    await sql`/* schedule_variable_rewrap */ update schedule_variable
      set kid = ${sealed.kid}, wrapped_key = ${sealed.wrappedKey}
      where schedule_id = ${row.scheduleId} and name = ${row.name}`.execute(tx)
  }
  return rows.length
}
