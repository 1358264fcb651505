// The audit log: append-only rows, each with a mac over itself and the mac before it.
//
// Appending takes the lock of the one head row, gives out the next ids and holds the lock until the caller's commit.
// That makes the chain gap-free and in commit order, and it means that appends stand in line: callers do it as the
// last thing of their transaction (app/mutate.ts does it for them), so the line moves at the speed of a commit.
import { sql } from 'kysely'
import type { AuditEntry, AuditRow } from '../domain/audit.ts'
import { chainInput, EVENT_SOURCES, EVENTS } from '../domain/audit.ts'
import type { Visibility } from '../domain/policy.ts'
import type { Db } from './database.ts'
import { idSpaceUsedUp, MAX_ID } from './expected-errors.ts'
import type { Vault } from './vault.ts'

export interface AuditHead {
  readonly id: number
  readonly mac: Buffer
}

export async function append(tx: Db, vault: Vault, entries: readonly AuditEntry[]): Promise<number[]> {
  if (entries.length === 0) return []
  const { rows } = await sql<{ last_id: number; last_mac: Buffer; now: string }>`
    /* audit_head_lock */ select last_id, last_mac,
      wire_time(clock_timestamp()) as now
    from audit_head where id = 1 for update`.execute(tx)
  const head = rows[0]
  if (head === undefined) throw new Error('audit_head has no row')
  if (head.last_id + entries.length > MAX_ID) throw idSpaceUsedUp('audit_log')
  let mac = head.last_mac
  const made = entries.map((entry, index) => {
    const event = EVENTS[entry.eventType]
    const row: AuditRow = {
      id: head.last_id + 1 + index,
      createdAt: head.now,
      workspaceId: entry.workspaceId,
      workspaceName: entry.workspaceName,
      actorType: entry.actorType,
      actorUserId: entry.actorUserId,
      actorEmail: entry.actorEmail,
      eventSourceId: EVENT_SOURCES[event.source],
      eventSource: event.source,
      eventId: event.id,
      eventType: entry.eventType,
      metadata: JSON.stringify(entry.metadata),
      kid: vault.kid,
    }
    mac = vault.auditMac(chainInput(mac, row))
    return { row, mac }
  })
  await tx
    .insertInto('audit_log')
    .values(
      made.map(({ row, mac }) => ({
        id: row.id,
        created_at: `${row.createdAt}Z`,
        workspace_id: row.workspaceId,
        workspace_name: row.workspaceName,
        actor_type: row.actorType,
        actor_user_id: row.actorUserId,
        actor_email: row.actorEmail,
        event_source_id: row.eventSourceId,
        event_source: row.eventSource,
        event_id: row.eventId,
        event_type: row.eventType,
        metadata: row.metadata,
        kid: row.kid,
        mac,
      })),
    )
    .execute()
  await tx
    .updateTable('audit_head')
    .set({ last_id: head.last_id + made.length, last_mac: mac })
    .where('id', '=', 1)
    .execute()
  return made.map(({ row }) => row.id)
}

export async function readHead(db: Db): Promise<AuditHead> {
  const row = await db
    .selectFrom('audit_head')
    .select(['last_id', 'last_mac'])
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return { id: row.last_id, mac: row.last_mac }
}

export interface ChainedRow extends AuditRow {
  readonly mac: Buffer
}

/**
 * The rows after `afterId` in the order of the chain, with the texts that the macs cover. The wire form of a time does
 * not tell the years before Christ from those after, which nobody needs but whoever changes a row.
 */
export async function readChain(db: Db, afterId: number, limit: number): Promise<ChainedRow[]> {
  const { rows } = await sql<ChainedRow>`
    /* audit_chain */ select id,
      wire_time(created_at) || case when created_at < '0001-01-01Z' then ' BC' else '' end as "createdAt",
      workspace_id as "workspaceId", workspace_name as "workspaceName", actor_type as "actorType",
      actor_user_id as "actorUserId", actor_email as "actorEmail", event_source_id as "eventSourceId",
      event_source as "eventSource", event_id as "eventId", event_type as "eventType", metadata, kid, mac
    from audit_log where id > ${afterId} order by id limit ${limit}`.execute(db)
  return rows
}

/** How many rows there are up to an id, whatever their ids: also those that no walk from row 1 on would meet. */
export async function countUpTo(db: Db, id: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    /* audit_count_up_to */ select count(*)::int as count from audit_log where id <= ${id}`.execute(db)
  return rows[0]?.count ?? 0
}

export interface AuditFilter {
  readonly visible: Visibility
  readonly offset: number
  readonly limit: number
  readonly from: string | null
  readonly to: string | null
  readonly eventType: string | null
  readonly actorEmail: string | null
}

export interface AuditRecord extends Omit<AuditRow, 'kid'> {
  readonly updatedAt: string
  /** How often a refusal was repeated within its hour; null for every other record. */
  readonly refusals: number | null
}

/** Newest first. */
export async function list(db: Db, filter: AuditFilter): Promise<{ records: AuditRecord[]; total: number }> {
  const where = sql.join(
    [
      filter.visible === 'all' ? sql`true` : sql`l.workspace_id = any(${[...filter.visible]}::int[])`,
      filter.from === null ? sql`true` : sql`l.created_at >= ${filter.from}::timestamptz`,
      filter.to === null ? sql`true` : sql`l.created_at < ${filter.to}::timestamptz`,
      filter.eventType === null ? sql`true` : sql`l.event_type = ${filter.eventType}`,
      filter.actorEmail === null ? sql`true` : sql`lower(l.actor_email) = lower(${filter.actorEmail})`,
    ],
    sql` and `,
  )
  const { rows } = await sql<AuditRecord>`
    /* audit_list */ select l.id, wire_time(l.created_at) as "createdAt",
      wire_time(coalesce(r.updated_at, l.created_at)) as "updatedAt",
      l.workspace_id as "workspaceId", l.workspace_name as "workspaceName", l.actor_type as "actorType",
      l.actor_user_id as "actorUserId", l.actor_email as "actorEmail", l.event_source_id as "eventSourceId",
      l.event_source as "eventSource", l.event_id as "eventId", l.event_type as "eventType", l.metadata,
      r.count as refusals
    from audit_log l left join audit_refusal r on r.audit_id = l.id
    where ${where} order by l.id desc offset ${filter.offset} limit ${filter.limit}`.execute(db)
  const counted = await sql<{ total: number }>`
    /* audit_count */ select count(*)::int as total from audit_log l where ${where}`.execute(db)
  return { records: rows, total: counted.rows[0]?.total ?? 0 }
}

// --- refusals: one record an hour for each principal and event, with a count beside it

interface CountedRefusals {
  readonly principal: string
  readonly eventId: number
  /** When the hour began, in the wire form. */
  readonly hour: string
  readonly auditId: number
  readonly count: number
  readonly updatedAt: string
}

const refusalInput = (row: CountedRefusals): string =>
  JSON.stringify(['refusal', row.principal, row.eventId, row.hour, row.auditId, row.count, row.updatedAt])

/**
 * Adds to the count of this hour's record, or says that there is none yet. Two callers: the row lock makes the second
 * wait and count on.
 */
export async function countRefusal(
  tx: Db,
  vault: Vault,
  principal: string,
  eventId: number,
  by: number,
): Promise<boolean> {
  const { rows } = await sql<{ audit_id: number; count: number; hour: string; now: string }>`
    /* audit_refusal_find */ select audit_id, count, wire_time(hour) as hour, wire_time(clock_timestamp()) as now
    from audit_refusal
    where principal = ${principal} and event_id = ${eventId} and hour = date_trunc('hour', clock_timestamp())
    for update`.execute(tx)
  const found = rows[0]
  if (found === undefined) return false
  const count = found.count + by
  const row = { principal, eventId, hour: found.hour, auditId: found.audit_id, count, updatedAt: found.now }
  const mac = vault.auditMac(refusalInput(row))
  await sql`/* audit_refusal_count */ update audit_refusal set count = ${count}, updated_at = ${`${found.now}Z`}, mac = ${mac}
    where audit_id = ${found.audit_id}`.execute(tx)
  return true
}

/** Takes the lock of the chain early, for a caller that must decide under it what to append. */
export async function lockHead(tx: Db): Promise<void> {
  await sql`/* audit_head_lock_only */ select 1 from audit_head where id = 1 for update`.execute(tx)
}

/** Called after `lockHead` and `append` in the same transaction: the lock keeps a second first refusal out. */
export async function beginRefusals(
  tx: Db,
  vault: Vault,
  refusal: { principal: string; eventId: number; auditId: number; count: number },
): Promise<void> {
  const { rows } = await sql<{ now: string; hour: string }>`/* audit_refusal_time */
    select wire_time(now) as now, wire_time(date_trunc('hour', now)) as hour from clock_timestamp() now`.execute(tx)
  const { now, hour } = rows[0]!
  const mac = vault.auditMac(refusalInput({ ...refusal, hour, updatedAt: now }))
  await sql`/* audit_refusal_begin */ insert into audit_refusal (principal, event_id, hour, audit_id, count, updated_at, mac)
    values (${refusal.principal}, ${refusal.eventId}, ${`${hour}Z`}, ${refusal.auditId}, ${refusal.count},
      ${`${now}Z`}, ${mac})`.execute(tx)
}

export interface RefusalCount extends CountedRefusals {
  readonly mac: Buffer
}

export async function readRefusals(db: Db): Promise<RefusalCount[]> {
  const { rows } = await sql<RefusalCount>`
    /* audit_refusals */ select principal, event_id as "eventId", wire_time(hour) as hour, audit_id as "auditId", count,
      mac, wire_time(updated_at) as "updatedAt"
    from audit_refusal order by audit_id`.execute(db)
  return rows
}

/** The mac of a count under each key of the ring: a count may have been written before a rotation. */
export const refusalMacs = (vault: Vault, row: RefusalCount): Buffer[] =>
  vault.kids.map((kid) => vault.auditMac(refusalInput(row), kid))
