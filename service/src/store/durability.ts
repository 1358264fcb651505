import { sql } from 'kysely'
import type { Db } from './database.ts'

/**
 * What is acknowledged must be on disk. Throws where the server is set up to lose commits or to tear pages in a crash.
 * Asked through the service's own connections, which set synchronous_commit themselves: it is off only where the
 * server forbids that.
 */
export async function assertDurable(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string; setting: string }>`/* durability.settings */
    select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit')
  `.execute(db)
  const off = rows.filter(({ setting }) => setting === 'off').map(({ name }) => name)
  if (off.length === 0) return
  throw new Error(
    `This PostgreSQL may lose what it has confirmed: ${off.map((name) => `${name} is off`).join(', ')}. Set ` +
      `${off.map((name) => `"${name} = on"`).join(' and ')} in its configuration and reload it (select pg_reload_conf())`,
  )
}
