import { sql } from 'kysely'
import type { Db } from './database.ts'

export interface NodeInfo {
  readonly id: string
  readonly host: string
  readonly pid: number
  readonly roles: readonly string[]
  readonly kids: readonly string[]
  readonly version: string
  /** What its worker is fit for. */
  readonly labels?: readonly string[]
}

/** A real write and commit, so that "ready" means what it says. */
export async function beat(db: Db, node: NodeInfo): Promise<void> {
  await sql`/* node_beat */ insert into node (id, host, pid, roles, kids, version, labels)
    values (${node.id}, ${node.host}, ${node.pid}, ${[...node.roles]}, ${[...node.kids]}, ${node.version},
      ${[...(node.labels ?? [])]})
    on conflict (id) do update set seen_at = clock_timestamp(), roles = excluded.roles`.execute(db)
}

export async function leave(db: Db, id: string): Promise<void> {
  await sql`/* node_leave */ delete from node where id = ${id}`.execute(db)
}

/** Rows of processes that were killed and did not say goodbye. */
export async function forgetLost(db: Db): Promise<void> {
  await sql`/* node_forget */ delete from node where seen_at < clock_timestamp() - interval '1 day'`.execute(db)
}

/** Processes that were seen within the last minute and could not open what this master key seals. */
export async function listWithoutKey(db: Db, kid: string): Promise<{ host: string; pid: number }[]> {
  const { rows } = await sql<{ host: string; pid: number }>`
    /* node_without_key */ select host, pid from node
    where seen_at > clock_timestamp() - interval '1 minute' and not ${kid} = any(kids)`.execute(db)
  return rows
}

/** The labels of run `r` when no worker that was seen within the last minute has all of them; null when one has. */
export const missingLabels = sql<string[] | null>`(select case when exists (
      select 1 from node n where n.seen_at > clock_timestamp() - interval '1 minute' and 'worker' = any(n.roles)
        and e.worker_labels <@ n.labels
    ) then null else e.worker_labels end
    from environment e where e.id = r.environment_id)`
