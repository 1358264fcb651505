import { sql } from 'kysely'
import type { AccountType } from '../domain/account-type.ts'
import type { Membership } from '../domain/actor.ts'
import type { Db } from './database.ts'

export interface Person {
  readonly id: number
  readonly uid: string
  readonly email: string
  readonly name: string
  readonly passwordHash: string | null
}

const columns = ['id', 'uid', 'email', 'name', 'password_hash as passwordHash'] as const

/**
 * Addresses that differ in the case of a latin letter are one. No other folding: `lower` also makes a k of the Kelvin
 * sign, and whoever owns the mailbox with that character in it must not come in as somebody else.
 */
export async function findByEmail(db: Db, email: string): Promise<Person | null> {
  const row = await db
    .selectFrom('person')
    .select(columns)
    .where((eb) => eb(eb.fn<string>('lower', ['email']), '=', eb.fn<string>('lower', [eb.val(email)])))
    .executeTakeFirst()
  return row !== undefined && asciiLower(row.email) === asciiLower(email) ? row : null
}

const asciiLower = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

export async function findById(db: Db, id: number): Promise<Person | null> {
  return (await db.selectFrom('person').select(columns).where('id', '=', id).executeTakeFirst()) ?? null
}

/** The unique index on the address decides when two callers insert the same person. */
export async function insert(
  tx: Db,
  person: { uid: string; email: string; name: string; passwordHash: string | null },
): Promise<Person> {
  return await tx
    .insertInto('person')
    .values({ uid: person.uid, email: person.email, name: person.name, password_hash: person.passwordHash })
    .returning(columns)
    .executeTakeFirstOrThrow()
}

/** Null when the address is taken, also by somebody who came in a moment ago. */
export async function insertIfNew(
  tx: Db,
  person: { uid: string; email: string; name: string; passwordHash: string | null },
): Promise<Person | null> {
  const row = await tx
    .insertInto('person')
    .values({ uid: person.uid, email: person.email, name: person.name, password_hash: person.passwordHash })
    .onConflict((on) => on.expression(sql`lower(email)`).doNothing())
    .returning(columns)
    .executeTakeFirst()
  return row ?? null
}

export async function setPassword(tx: Db, id: number, passwordHash: string): Promise<void> {
  await tx.updateTable('person').set({ password_hash: passwordHash }).where('id', '=', id).execute()
}

export async function setName(tx: Db, id: number, name: string): Promise<void> {
  await tx.updateTable('person').set({ name }).where('id', '=', id).execute()
}

export interface Member {
  readonly id: number
  readonly uid: string
  readonly email: string
  readonly name: string
  readonly accountType: AccountType
}

/** The active people of a workspace by name, then id. */
export async function listMembers(db: Db, workspaceId: number): Promise<Member[]> {
  const { rows } = await sql<Member>`
    /* member_list */ select p.id, p.uid, p.email, p.name, m.account_type as "accountType"
    from membership m join person p on p.id = m.person_id
    where m.workspace_id = ${workspaceId} and m.disabled_at is null
    order by p.name, p.id`.execute(db)
  return rows
}

/**
 * Every active membership of the workspace, locked: whoever changes a role or takes a person out decides under this
 * lock, so that two such changes at once cannot leave a workspace without an administrator.
 */
export async function lockMembers(tx: Db, workspaceId: number): Promise<Member[]> {
  const { rows } = await sql<Member>`
    /* member_lock */ select p.id, p.uid, p.email, p.name, m.account_type as "accountType"
    from membership m join person p on p.id = m.person_id
    where m.workspace_id = ${workspaceId} and m.disabled_at is null
    order by m.person_id for update of m`.execute(tx)
  return rows
}

/** A person comes in, or comes back in, with this account type. */
export async function join(tx: Db, workspaceId: number, personId: number, accountType: AccountType): Promise<void> {
  await tx
    .insertInto('membership')
    .values({ workspace_id: workspaceId, person_id: personId, account_type: accountType })
    .onConflict((on) =>
      on.columns(['workspace_id', 'person_id']).doUpdateSet({ account_type: accountType, disabled_at: null }),
    )
    .execute()
}

export async function setAccountType(
  tx: Db,
  workspaceId: number,
  personId: number,
  accountType: AccountType,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ account_type: accountType })
    .where('workspace_id', '=', workspaceId)
    .where('person_id', '=', personId)
    .execute()
}

export async function disable(tx: Db, workspaceId: number, personId: number): Promise<void> {
  await sql`/* member_disable */ update membership set disabled_at = clock_timestamp()
    where workspace_id = ${workspaceId} and person_id = ${personId} and disabled_at is null`.execute(tx)
}

/** Where a person is what, over active workspaces. */
export async function memberships(db: Db, personId: number): Promise<Membership[]> {
  const { rows } = await sql<Membership>`
    /* membership_list */ select m.workspace_id as "workspaceId", m.account_type as "accountType"
    from membership m join workspace w on w.id = m.workspace_id and w.archived_at is null
    where m.person_id = ${personId} and m.disabled_at is null order by m.workspace_id`.execute(db)
  return rows
}

// --- invitations

export interface Invitation {
  readonly email: string
  readonly accountType: AccountType
  readonly expired: boolean
}

/** Open and expired ones, not used ones, by address. */
export async function listInvitations(db: Db, workspaceId: number): Promise<Invitation[]> {
  const { rows } = await sql<Invitation>`
    /* invitation_list */ select email, account_type as "accountType", expires_at <= clock_timestamp() as expired
    from invitation where workspace_id = ${workspaceId} and accepted_at is null and revoked_at is null
    order by lower(email), id`.execute(db)
  return rows
}

/** Renews the open invitation of the address or makes one; two at once end as one row, the later token valid. */
export async function invite(
  tx: Db,
  invitation: { workspaceId: number; email: string; accountType: AccountType; tokenHash: Buffer; days: number },
): Promise<void> {
  await sql`/* invitation_renew */ insert into invitation (workspace_id, email, account_type, token_hash, expires_at)
    values (${invitation.workspaceId}, ${invitation.email}, ${invitation.accountType}, ${invitation.tokenHash},
      clock_timestamp() + make_interval(days => ${invitation.days}))
    on conflict (workspace_id, lower(email)) where accepted_at is null and revoked_at is null
    do update set email = excluded.email, account_type = excluded.account_type, token_hash = excluded.token_hash,
      created_at = clock_timestamp(), expires_at = excluded.expires_at`.execute(tx)
}

export interface OpenInvitation {
  readonly id: number
  readonly workspaceId: number
  readonly workspaceName: string
  readonly email: string
  readonly accountType: AccountType
  /** Another one after a renewal: whoever read the invitation before it must not take the old account type. */
  readonly tokenHash: Buffer
}

const openInvitations = sql`
  select i.id, i.workspace_id as "workspaceId", w.name as "workspaceName", i.email, i.account_type as "accountType",
    i.token_hash as "tokenHash"
  from invitation i join workspace w on w.id = i.workspace_id and w.archived_at is null
  where i.accepted_at is null and i.revoked_at is null and i.expires_at > clock_timestamp()`

/** The invitation behind a link, if it can still be used. */
export async function findInvitation(db: Db, tokenHashes: readonly Buffer[]): Promise<OpenInvitation | null> {
  const { rows } = await sql<OpenInvitation>`
    /* invitation_find */ ${openInvitations} and i.token_hash = any(${[...tokenHashes]}::bytea[])`.execute(db)
  return rows[0] ?? null
}

/** The open invitations of an address that an identity provider has vouched for. */
export async function findInvitationsOf(db: Db, email: string): Promise<OpenInvitation[]> {
  const { rows } = await sql<OpenInvitation>`
    /* invitation_find_by_email */ ${openInvitations} and lower(i.email) = lower(${email}) order by i.id`.execute(db)
  return rows
}

/** Compare-and-set: false when somebody used, revoked or renewed it since it was read. */
export async function acceptInvitation(tx: Db, { id, tokenHash }: OpenInvitation): Promise<boolean> {
  const done = await sql`/* invitation_accept */ update invitation set accepted_at = clock_timestamp()
    where id = ${id} and token_hash = ${tokenHash} and accepted_at is null and revoked_at is null
      and expires_at > clock_timestamp()`.execute(tx)
  return done.numAffectedRows === 1n
}

export async function revokeInvitations(tx: Db, workspaceId: number, email: string): Promise<void> {
  await sql`/* invitation_revoke */ update invitation set revoked_at = clock_timestamp()
    where workspace_id = ${workspaceId} and lower(email) = lower(${email})
      and accepted_at is null and revoked_at is null`.execute(tx)
}

// --- one-time links

export type LinkPurpose = 'sign_in' | 'password_reset'

export async function insertLink(
  tx: Db,
  link: { personId: number; purpose: LinkPurpose; tokenHash: Buffer; minutes: number },
): Promise<void> {
  await sql`/* link_insert */ insert into one_time_link (person_id, purpose, token_hash, expires_at)
    values (${link.personId}, ${link.purpose}, ${link.tokenHash},
      clock_timestamp() + make_interval(mins => ${link.minutes}))`.execute(tx)
}

export async function findLink(
  db: Db,
  purpose: LinkPurpose,
  tokenHashes: readonly Buffer[],
): Promise<{ id: number; personId: number } | null> {
  const { rows } = await sql<{ id: number; personId: number }>`
    /* link_find */ select id, person_id as "personId" from one_time_link
    where purpose = ${purpose} and token_hash = any(${[...tokenHashes]}::bytea[])
      and used_at is null and expires_at > clock_timestamp()`.execute(db)
  return rows[0] ?? null
}

/** Compare-and-set: of two that follow the same link, one gets in. */
export async function useLink(tx: Db, id: number): Promise<boolean> {
  const done = await sql`/* link_use */ update one_time_link set used_at = clock_timestamp()
    where id = ${id} and used_at is null and expires_at > clock_timestamp()`.execute(tx)
  return done.numAffectedRows === 1n
}

/** A changed password makes every other link of the person worthless. */
export async function voidLinks(tx: Db, personId: number): Promise<void> {
  await sql`/* link_void */ update one_time_link set used_at = clock_timestamp()
    where person_id = ${personId} and used_at is null`.execute(tx)
}
