import { sql } from 'kysely'
import type { KeyClient, KeyKind, Membership } from '../domain/actor.ts'
import type { Capability } from '../domain/capability.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import type { Visibility } from '../domain/policy.ts'
import type { Db } from './database.ts'
import { peopledWorkspaces } from './workspaces.ts'

export interface NewKey {
  readonly publicId: string
  readonly kind: KeyKind
  readonly name: string
  readonly client: KeyClient
  readonly workspaceId: number | null
  readonly personId: number | null
  readonly capabilities: readonly Capability[]
  readonly kid: string
  readonly secretHash: Buffer
  readonly createdBy: number | null
  readonly expiresDays: number | null
}

export async function insert(tx: Db, key: NewKey): Promise<{ id: number; expiresAt: string | null }> {
  const { rows } = await sql<{ id: number; expiresAt: string | null }>`
    /* key_insert */ insert into api_key (public_id, kind, name, client, workspace_id, person_id, capabilities, kid,
      secret_hash, created_by, expires_at)
    values (${key.publicId}, ${key.kind}, ${key.name}, ${key.client}, ${key.workspaceId}, ${key.personId},
      ${[...key.capabilities]}, ${key.kid}, ${key.secretHash}, ${key.createdBy},
      clock_timestamp() + make_interval(days => ${key.expiresDays}))
    returning id, wire_time(expires_at) as "expiresAt"`.execute(tx)
  return rows[0]!
}

/** The workspace that a request named, as the columns of a left join. */
export interface SelectedWorkspaceRow {
  readonly workspaceId: number | null
  readonly workspaceUid: string | null
  readonly workspaceName: string | null
  readonly workspaceAgents: boolean | null
}

export interface KeyRow extends AccountSwitches, SelectedWorkspaceRow {
  readonly id: number
  readonly kind: KeyKind
  readonly name: string
  readonly client: KeyClient
  readonly boundTo: number | null
  readonly capabilities: readonly Capability[]
  readonly kid: string
  readonly secretHash: Buffer
  readonly makerId: number | null
  readonly makerEmail: string
  readonly expired: boolean
  readonly revoked: boolean
  /** True when the key was last marked as used more than a minute ago. */
  readonly stale: boolean
  readonly personId: number | null
  readonly personEmail: string | null
  readonly personName: string | null
  readonly memberships: readonly Membership[] | null
  readonly activeWorkspaces: number | null
}

/**
 * Everything that deciding needs, in one statement that runs on every request: a revoked key is refused from the next
 * request on, on every node, because nothing is remembered between requests. Without a header a bound key selects its
 * own workspace; that of a key of an archived workspace counts as revoked.
 */
export async function authenticate(db: Db, publicId: string, workspaceUid: string | null): Promise<KeyRow | null> {
  const { rows } = await sql<KeyRow>`
    /* key_authenticate */ select k.id, k.kind, k.name, k.client, k.workspace_id as "boundTo", k.capabilities, k.kid,
      k.secret_hash as "secretHash", k.created_by as "makerId", coalesce(maker.email, '') as "makerEmail",
      coalesce(k.expires_at <= clock_timestamp(), false) as expired,
      (k.revoked_at is not null or bound.archived_at is not null) as revoked,
      coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true) as stale,
      p.id as "personId", p.email as "personEmail", p.name as "personName",
      case when k.kind = 'personal' then
        (select coalesce(json_agg(json_build_object('workspaceId', m.workspace_id, 'accountType', m.account_type)
            order by m.workspace_id), '[]'::json)
          from membership m join workspace mw on mw.id = m.workspace_id and mw.archived_at is null
          where m.person_id = k.person_id and m.disabled_at is null) end as memberships,
      case when k.kind = 'personal' then ${peopledWorkspaces} end
        as "activeWorkspaces",
      a.scheduling, a.user_management, a.workspace_management, a.audit_logs,
      w.id as "workspaceId", w.uid as "workspaceUid", w.name as "workspaceName", w.agents as "workspaceAgents"
    from api_key k cross join account a
    left join workspace bound on bound.id = k.workspace_id
    left join person maker on maker.id = k.created_by
    left join person p on p.id = k.person_id
    left join workspace w on w.archived_at is null and w.uid = coalesce(${workspaceUid}, bound.uid)
    where k.public_id = ${publicId}`.execute(db)
  return rows[0] ?? null
}

export async function touch(db: Db, id: number): Promise<void> {
  await sql`/* key_touch */ update api_key set last_used_at = clock_timestamp() where id = ${id}`.execute(db)
}

export interface ListedKey {
  readonly id: number
  readonly publicId: string
  readonly name: string
  readonly kind: KeyKind
  readonly client: KeyClient
  readonly workspaceId: number | null
  readonly workspaceUid: string
  readonly personId: number | null
  readonly capabilities: readonly Capability[]
  readonly createdByEmail: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly revokedAt: string | null
}

const listed = sql`
  select k.id, k.public_id as "publicId", k.name, k.kind, k.client, k.workspace_id as "workspaceId",
    coalesce(w.uid, '') as "workspaceUid", k.person_id as "personId", k.capabilities,
    coalesce(maker.email, '') as "createdByEmail",
    wire_time(k.created_at) as "createdAt",
    wire_time(k.expires_at) as "expiresAt",
    wire_time(k.last_used_at) as "lastUsedAt",
    wire_time(k.revoked_at) as "revokedAt"
  from api_key k left join workspace w on w.id = k.workspace_id left join person maker on maker.id = k.created_by`

/** Keys of the account (for whoever sees all of it) and of the visible workspaces; never anybody's personal ones. */
export async function list(db: Db, visible: Visibility): Promise<ListedKey[]> {
  const { rows } = await sql<ListedKey>`/* key_list */ ${listed}
    where k.kind <> 'personal' and ${visible === 'all' ? sql`true` : sql`k.workspace_id = any(${[...visible]}::int[])`}
    order by k.id desc`.execute(db)
  return rows
}

export async function listPersonal(db: Db, personId: number): Promise<ListedKey[]> {
  const { rows } = await sql<ListedKey>`/* key_list_personal */ ${listed}
    where k.person_id = ${personId} order by k.id desc`.execute(db)
  return rows
}

/** Null when it does not exist, is not among these, or was revoked before. */
export async function revoke(
  tx: Db,
  id: number,
  among: { visible: Visibility } | { personId: number },
): Promise<{ name: string; kind: KeyKind; workspaceId: number | null } | null> {
  const mine =
    'personId' in among
      ? sql`person_id = ${among.personId}`
      : sql`kind <> 'personal' and ${among.visible === 'all' ? sql`true` : sql`workspace_id = any(${[...among.visible]}::int[])`}`
  const { rows } = await sql<{ name: string; kind: KeyKind; workspaceId: number | null }>`
    /* key_revoke */ update api_key set revoked_at = clock_timestamp()
    where id = ${id} and revoked_at is null and ${mine}
    returning name, kind, workspace_id as "workspaceId"`.execute(tx)
  return rows[0] ?? null
}
