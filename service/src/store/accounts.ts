import { sql } from 'kysely'
import type { AccountFeature, AccountSwitches } from '../domain/feature.ts'
import type { Db } from './database.ts'

/** Null until the deployment was set up. */
export async function find(db: Db): Promise<{ name: string; switches: AccountSwitches } | null> {
  const row = await db.selectFrom('account').selectAll().where('id', '=', 1).executeTakeFirst()
  if (row === undefined) return null
  const { scheduling, user_management, workspace_management, audit_logs } = row
  return { name: row.name, switches: { scheduling, user_management, workspace_management, audit_logs } }
}

/** False when the account is there already: of two first starts at once, one sets up. */
export async function insert(tx: Db, name: string): Promise<boolean> {
  const done = await tx
    .insertInto('account')
    .values({ name })
    .onConflict((on) => on.doNothing())
    .executeTakeFirst()
  return done.numInsertedOrUpdatedRows === 1n
}

export async function setFeature(tx: Db, feature: AccountFeature, enabled: boolean): Promise<void> {
  await sql`/* account_feature */ update account set ${sql.ref(feature)} = ${enabled} where id = 1`.execute(tx)
}

/** When the deployment was set up, to the microsecond; null before. */
export async function createdAt(db: Db): Promise<string | null> {
  const { rows } = await sql<{ at: string }>`
    /* account_created_at */ select wire_time(created_at) as at from account where id = 1`.execute(db)
  return rows[0]?.at ?? null
}
