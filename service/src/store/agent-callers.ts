// What the starter of a session may do now: the rows that signing in reads, by the id of the person or key instead of by a
// secret. Nothing is remembered: a key that was revoked a moment ago gives no rights to the next call.
import { sql } from 'kysely'
import type { KeyClient, KeyKind, Membership } from '../domain/actor.ts'
import type { Capability } from '../domain/capability.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import type { Db } from './database.ts'
import { peopledWorkspaces } from './workspaces.ts'

export interface CallerWorkspace extends AccountSwitches {
  readonly id: number
  readonly uid: string
  readonly name: string
  readonly agents: boolean
}

/** Null for an archived one. */
export async function findWorkspace(db: Db, id: number): Promise<CallerWorkspace | null> {
  const { rows } = await sql<CallerWorkspace>`/* agent_caller_workspace */ select w.id, w.uid, w.name, w.agents,
      a.scheduling, a.user_management, a.workspace_management, a.audit_logs
    from workspace w cross join account a where w.id = ${id} and w.archived_at is null`.execute(db)
  return rows[0] ?? null
}

export interface CallerPerson {
  readonly id: number
  readonly email: string
  readonly name: string
  /** In workspaces that are active and where they are not disabled. */
  readonly memberships: readonly Membership[]
  readonly activeWorkspaces: number
}

export async function findPerson(db: Db, id: number): Promise<CallerPerson | null> {
  const { rows } = await sql<CallerPerson>`/* agent_caller_person */ select p.id, p.email, p.name,
      (select coalesce(json_agg(json_build_object('workspaceId', m.workspace_id, 'accountType', m.account_type)
          order by m.workspace_id), '[]'::json)
        from membership m join workspace w on w.id = m.workspace_id and w.archived_at is null
        where m.person_id = p.id and m.disabled_at is null) as memberships,
      ${peopledWorkspaces} as "activeWorkspaces"
    from person p where p.id = ${id}`.execute(db)
  return rows[0] ?? null
}

export interface CallerKey {
  readonly id: number
  readonly kind: KeyKind
  readonly name: string
  readonly client: KeyClient
  readonly boundTo: number | null
  readonly capabilities: readonly Capability[]
  readonly makerId: number | null
  readonly makerEmail: string
  /** Revoked, expired, or of a workspace that is archived. */
  readonly over: boolean
  readonly personId: number | null
}

export async function findKey(db: Db, id: number): Promise<CallerKey | null> {
  const { rows } = await sql<CallerKey>`/* agent_caller_key */ select k.id, k.kind, k.name, k.client,
      k.workspace_id as "boundTo", k.capabilities, k.created_by as "makerId",
      coalesce(maker.email, '') as "makerEmail", k.person_id as "personId",
      (k.revoked_at is not null or bound.archived_at is not null
        or coalesce(k.expires_at <= clock_timestamp(), false)) as over
    from api_key k left join workspace bound on bound.id = k.workspace_id left join person maker on maker.id = k.created_by
    where k.id = ${id}`.execute(db)
  return rows[0] ?? null
}
