import { sql } from 'kysely'
import type { Membership } from '../domain/actor.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import type { Db } from './database.ts'
import type { SelectedWorkspaceRow } from './keys.ts'
import { peopledWorkspaces } from './workspaces.ts'

export async function insert(
  tx: Db,
  session: { personId: number; tokenHash: Buffer; address: string; userAgent: string; hours: number },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    /* session_insert */ insert into session (person_id, token_hash, address, user_agent, expires_at)
    values (${session.personId}, ${session.tokenHash}, ${session.address}, ${session.userAgent},
      clock_timestamp() + make_interval(hours => ${session.hours})) returning id`.execute(tx)
  return rows[0]!.id
}

export interface SessionRow extends AccountSwitches, SelectedWorkspaceRow {
  readonly sessionId: number
  readonly personId: number
  readonly email: string
  readonly name: string
  readonly memberships: readonly Membership[]
  readonly activeWorkspaces: number
  readonly stale: boolean
}

/** Everything that deciding needs, in one statement: the person, their roles, the switches, the asked workspace. */
export async function authenticate(
  db: Db,
  tokenHashes: readonly Buffer[],
  workspaceUid: string | null,
): Promise<SessionRow | null> {
  const { rows } = await sql<SessionRow>`
    /* session_authenticate */ select s.id as "sessionId", p.id as "personId", p.email, p.name,
      s.last_seen_at < clock_timestamp() - interval '1 minute' as stale,
      (select coalesce(json_agg(json_build_object('workspaceId', m.workspace_id, 'accountType', m.account_type)
          order by m.workspace_id), '[]'::json)
        from membership m join workspace w on w.id = m.workspace_id and w.archived_at is null
        where m.person_id = p.id and m.disabled_at is null) as memberships,
      ${peopledWorkspaces} as "activeWorkspaces",
      a.scheduling, a.user_management, a.workspace_management, a.audit_logs,
      w.id as "workspaceId", w.uid as "workspaceUid", w.name as "workspaceName", w.agents as "workspaceAgents"
    from session s join person p on p.id = s.person_id cross join account a
    left join workspace w on w.uid = ${workspaceUid} and w.archived_at is null
    where s.token_hash = any(${[...tokenHashes]}::bytea[]) and s.ended_at is null
      and s.expires_at > clock_timestamp()`.execute(db)
  return rows[0] ?? null
}

export async function touch(db: Db, id: number): Promise<void> {
  await sql`/* session_touch */ update session set last_seen_at = clock_timestamp() where id = ${id}`.execute(db)
}

/** False when it is not theirs or has ended. */
export async function end(tx: Db, id: number, personId: number): Promise<boolean> {
  const done = await sql`/* session_end */ update session set ended_at = clock_timestamp()
    where id = ${id} and person_id = ${personId} and ended_at is null`.execute(tx)
  return done.numAffectedRows === 1n
}

export async function endAll(tx: Db, personId: number): Promise<void> {
  await sql`/* session_end_all */ update session set ended_at = clock_timestamp()
    where person_id = ${personId} and ended_at is null`.execute(tx)
}

export async function endOthers(tx: Db, personId: number, keptId: number): Promise<void> {
  await sql`/* session_end_others */ update session set ended_at = clock_timestamp()
    where person_id = ${personId} and id <> ${keptId} and ended_at is null`.execute(tx)
}

export interface OpenSession {
  readonly id: number
  readonly address: string
  readonly userAgent: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly expiresAt: string
}

export async function list(db: Db, personId: number): Promise<OpenSession[]> {
  const { rows } = await sql<OpenSession>`
    /* session_list */ select id, address, user_agent as "userAgent",
      wire_time(created_at) as "createdAt",
      wire_time(last_seen_at) as "lastSeenAt",
      wire_time(expires_at) as "expiresAt"
    from session where person_id = ${personId} and ended_at is null and expires_at > clock_timestamp()
    order by id desc`.execute(db)
  return rows
}
