// Servers of the Model Context Protocol that a workspace's agents may be given, and their sealed headers.
import { sql } from 'kysely'
import type { Db } from './database.ts'
import type { Sealed, Vault } from './vault.ts'

export interface McpServer {
  readonly id: number
  readonly name: string
  readonly url: string
  /** Null: every tool that it offers. */
  readonly tools: readonly string[] | null
  /** Never their values. */
  readonly headerNames: readonly string[]
}

const columns = sql`s.id, s.name, s.url, s.tools,
  array(select x.name from mcp_server_secret x where x.server_id = s.id order by x.name) as "headerNames"`

export async function list(db: Db, workspaceId: number): Promise<McpServer[]> {
  const { rows } = await sql<McpServer>`/* mcp_server_list */ select ${columns} from mcp_server s
    where s.workspace_id = ${workspaceId} order by s.name`.execute(db)
  return rows
}

/** Locked to the end of the transaction. */
export async function lock(tx: Db, workspaceId: number, name: string): Promise<McpServer | null> {
  const { rows } = await sql<McpServer>`/* mcp_server_lock */ select ${columns} from mcp_server s
    where s.workspace_id = ${workspaceId} and s.name = ${name} for update`.execute(tx)
  return rows[0] ?? null
}

/** Makes it or changes it; of two at once, the later one's values stay. */
export async function save(
  tx: Db,
  workspaceId: number,
  one: { readonly name: string; readonly url: string; readonly tools: readonly string[] | null },
): Promise<number> {
  const { rows } = await sql<{
    id: number
  }>`/* mcp_server_save */ insert into mcp_server (workspace_id, name, url, tools)
    values (${workspaceId}, ${one.name}, ${one.url}, ${one.tools === null ? null : [...one.tools]})
    on conflict (workspace_id, name) do update set url = excluded.url, tools = excluded.tools returning id`.execute(tx)
  return rows[0]!.id
}

/** Its headers go with it. */
export async function remove(tx: Db, workspaceId: number, name: string): Promise<boolean> {
  const done = await sql`/* mcp_server_remove */ delete from mcp_server
    where workspace_id = ${workspaceId} and name = ${name}`.execute(tx)
  return done.numAffectedRows === 1n
}

interface Place {
  readonly workspaceId: number
  readonly serverId: number
}

const contextOf = (place: Place, name: string): (string | number)[] => [
  'mcp server header',
  place.workspaceId,
  place.serverId,
  name,
]

/** All of them: what is not given is taken away. */
export async function setHeaders(
  tx: Db,
  vault: Vault,
  place: Place,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await sql`/* mcp_server_secret_clear */ delete from mcp_server_secret
    where workspace_id = ${place.workspaceId} and server_id = ${place.serverId}`.execute(tx)
  for (const [name, value] of Object.entries(values)) {
    const sealed = vault.seal(value, contextOf(place, name))
    await sql`/* mcp_server_secret_set */ insert into mcp_server_secret (workspace_id, server_id, name, kid, wrapped_key,
        sealed)
      values (${place.workspaceId}, ${place.serverId}, ${name}, ${sealed.kid}, ${sealed.wrappedKey},
        ${sealed.sealed})`.execute(tx)
  }
}

/** For whoever calls it. */
export async function openHeaders(db: Db, vault: Vault, place: Place): Promise<Readonly<Record<string, string>>> {
  const { rows } = await sql<Sealed & { name: string }>`/* mcp_server_open */ select name, kid,
      wrapped_key as "wrappedKey", sealed
    from mcp_server_secret where workspace_id = ${place.workspaceId} and server_id = ${place.serverId}`.execute(db)
  return Object.fromEntries(rows.map((one) => [one.name, vault.open(one, contextOf(place, one.name)).toString()]))
}

/** As `rewrapSome` of secrets.ts: up to `limit` values under the current master key, beside a running service. */
export async function rewrapSome(tx: Db, vault: Vault, limit: number): Promise<number> {
  const { rows } = await sql<Sealed & Place & { name: string }>`/* mcp_server_secret_rewrap_find */
    select workspace_id as "workspaceId", server_id as "serverId", name, kid, wrapped_key as "wrappedKey", sealed
    from mcp_server_secret where kid <> ${vault.kid} order by server_id, name limit ${limit} for update skip locked`.execute(
    tx,
  )
  for (const row of rows) {
    const sealed = vault.rewrap(row, contextOf(row, row.name))
    await sql`/* mcp_server_secret_rewrap */ update mcp_server_secret set kid = ${sealed.kid},
      wrapped_key = ${sealed.wrappedKey}
      where workspace_id = ${row.workspaceId} and server_id = ${row.serverId} and name = ${row.name}`.execute(tx)
  }
  return rows.length
}
