import { sql } from 'kysely'
import type { Db } from './database.ts'
import { MAX_ID } from './expected-errors.ts'

export interface UsedIds {
  readonly table: string
  readonly used: number
}

/** The tables that have used more than this share of their ids: nobody should come to the end of them unwarned. */
export async function listNearlyUsedUp(db: Db, share: number): Promise<UsedIds[]> {
  const { rows } = await sql<UsedIds>`/* id_space_used */
    select ids."table", ids.used from (
      select replace(sequencename, '_id_seq', '') as "table", last_value as used
      from pg_sequences where schemaname = 'yardmaster' and data_type = 'integer'::regtype
      union all select 'audit_log', last_id from audit_head
    ) ids where ids.used > ${share}::float8 * ${MAX_ID}::int order by ids.used desc, ids."table"`.execute(db)
  return rows
}
