// Rows of deliveries and of their tries. A sender takes a delivery by compare-and-set: its number of tries goes up and
// it is claimed until a time; every later write names that number. A sender that dies leaves its claim to run out, and
// the next one sends the same delivery, with the same id, again.
import { sql } from 'kysely'
import type { DeliveryState, TryOutcome } from '../domain/delivery.ts'
import type { Db } from './database.ts'

export interface DeliveryRow {
  readonly workspaceId: number
  /** One of ports/channel.ts. */
  readonly channel: string
  readonly webhookId?: number | null
  readonly integrationId?: number | null
  readonly address?: string
  readonly event: string
  readonly causeKey: string
  readonly runId?: number | null
  readonly scheduleId?: number | null
  readonly line?: string | null
  readonly target: string
  readonly body: unknown
}

/** Null when the workspace has a delivery for this cause already: of two at once, one gets the row. */
export async function insert(tx: Db, one: DeliveryRow): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`/* delivery_insert */ insert into delivery (workspace_id, channel,
      webhook_id, integration_id, address, event, cause_key, run_id, schedule_id, line, target, body)
    values (${one.workspaceId}, ${one.channel}, ${one.webhookId ?? null}, ${one.integrationId ?? null},
      ${one.address ?? ''}, ${one.event}, ${one.causeKey}, ${one.runId ?? null}, ${one.scheduleId ?? null},
      ${one.line ?? null}, ${one.target}, ${JSON.stringify(one.body)})
    on conflict (workspace_id, cause_key) do nothing returning id`.execute(tx)
  return rows[0]?.id ?? null
}

/** In the hands of one sender. */
export interface ClaimedDelivery {
  readonly id: string
  readonly workspaceId: number
  readonly channel: string
  readonly webhookId: number | null
  readonly integrationId: number | null
  readonly address: string
  readonly event: string
  readonly line: string | null
  readonly target: string
  readonly body: unknown
  /** The number of this try. */
  readonly number: number
  /** Tries of the present series, this one included. */
  readonly seriesTries: number
  readonly seriesAt: Date
}

export interface ClaimOptions {
  readonly now: Date
  readonly until: Date
  /** How many in all. */
  readonly limit: number
  /** How many of one target may be under way, and how many of each are here. */
  readonly perTarget: number
  readonly busy: ReadonlyMap<string, number>
}

const LOST = 'The service ended during this try: whether it arrived is not known.'

/**
 * Takes what is due. Goes from target to target by the index, so that ten thousand deliveries to one receiver hide no
 * other one's; targets come in random order, and of each only as many as have room. Of a line only the first that waits
 * is taken. Two senders at once: a row that one has locked is stepped over by the other, and once it is claimed it is not
 * due any more. A claim that ran out is a try of its own, written down as such.
 */
export async function claimDue(tx: Db, options: ClaimOptions): Promise<ClaimedDelivery[]> {
  const { now, until, limit, perTarget } = options
  const busy = [...options.busy]
  const { rows } = await sql<ClaimedDelivery & { lost: boolean; lostAt: Date | null }>`/* delivery_claim */
    with recursive targets (target) as (
      (select target from delivery where state = 'waiting' order by target limit 1)
      union all
      select (select d.target from delivery d where d.state = 'waiting' and d.target > t.target
        order by d.target limit 1)
      from targets t where t.target is not null
    ), room as (
      select t.target, ${perTarget}::int - coalesce(b.count, 0) as places
      from targets t left join unnest(${busy.map(([target]) => target)}::text[],
          ${busy.map(([, count]) => count)}::int[]) as b (target, count) on b.target = t.target
      where t.target is not null order by random()
    ), due as (
      select one.id, one.claimed_until from room cross join lateral (
        select d.id, d.claimed_until from delivery d
        where d.state = 'waiting' and d.target = room.target and d.next_try_at <= ${now}
          and (d.claimed_until is null or d.claimed_until <= ${now})
          and (d.line is null or not exists (
            select 1 from delivery e where e.workspace_id = d.workspace_id and e.line = d.line and e.state = 'waiting'
              and (e.created_at, e.id) < (d.created_at, d.id)))
        order by d.next_try_at, d.created_at limit greatest(room.places, 0) for update skip locked
      ) one limit ${limit}
    )
    update delivery d set tries = d.tries + 1, claimed_until = ${until},
      series_at = case when d.tries = d.earlier_tries then ${now}::timestamptz else coalesce(d.series_at, ${now}) end
    from due where d.id = due.id
    returning d.id, d.workspace_id as "workspaceId", d.channel, d.webhook_id as "webhookId",
      d.integration_id as "integrationId", d.address, d.event, d.line, d.target, d.body, d.tries as number,
      d.tries - d.earlier_tries as "seriesTries", d.series_at as "seriesAt",
      due.claimed_until is not null as lost, due.claimed_until as "lostAt"`.execute(tx)
  const lost = rows.filter((row) => row.lost)
  if (lost.length > 0) {
    await sql`/* delivery_try_lost */ insert into delivery_try (delivery_id, number, started_at, duration_ms, outcome,
        answer)
      select l.id, l.number - 1, l.until, 0, 'again', ${LOST}
      from unnest(${lost.map((one) => one.id)}::uuid[], ${lost.map((one) => one.number)}::int[],
        ${lost.map((one) => one.lostAt)}::timestamptz[]) as l (id, number, until)
      on conflict do nothing`.execute(tx)
  }
  return rows
}

export interface EndedTry {
  readonly startedAt: Date
  readonly durationMs: number
  readonly status: number | null
  readonly outcome: TryOutcome
  readonly answer: string
}

export type AfterTry =
  | { readonly state: 'waiting'; readonly nextTryAt: Date }
  | { readonly state: 'delivered'; readonly at: Date; readonly result: unknown | null }
  | { readonly state: 'dead'; readonly at: Date }

/** False when the claim ran out and somebody else has the delivery: then what this sender knows is not written. */
export async function endTry(tx: Db, of: ClaimedDelivery, ended: EndedTry, after: AfterTry): Promise<boolean> {
  const done = await sql`/* delivery_end_try */ update delivery set state = ${after.state}, claimed_until = null,
      next_try_at = ${after.state === 'waiting' ? after.nextTryAt : sql`next_try_at`},
      ended_at = ${after.state === 'waiting' ? null : after.at}::timestamptz,
      result = ${after.state === 'delivered' && after.result !== null ? JSON.stringify(after.result) : sql`result`}
    where id = ${of.id} and tries = ${of.number} and state = 'waiting' and claimed_until is not null`.execute(tx)
  if (done.numAffectedRows !== 1n) return false
  await sql`/* delivery_try_insert */ insert into delivery_try (delivery_id, number, started_at, duration_ms, status,
      outcome, answer)
    values (${of.id}, ${of.number}, ${ended.startedAt}, ${ended.durationMs}, ${ended.status}, ${ended.outcome},
      ${ended.answer})`.execute(tx)
  return true
}

/** What earlier deliveries of the line gave back, oldest first. */
export async function listEarlier(
  db: Db,
  of: ClaimedDelivery,
): Promise<{ event: string; result: Record<string, unknown> }[]> {
  if (of.line === null) return []
  const { rows } = await sql<{ event: string; result: Record<string, unknown> }>`/* delivery_earlier */
    select event, result from delivery where workspace_id = ${of.workspaceId} and line = ${of.line} and id <> ${of.id}
      and state = 'delivered' and result is not null order by created_at, id`.execute(db)
  return rows
}

export interface Delivery {
  readonly id: string
  readonly channel: string
  readonly webhookId: number | null
  readonly integrationId: number | null
  readonly address: string
  readonly event: string
  readonly runId: number | null
  readonly scheduleSlug: string | null
  readonly state: DeliveryState
  readonly tries: number
  /** Times as on the wire; null where there is none. */
  readonly nextTryAt: string | null
  readonly createdAt: string
  readonly endedAt: string | null
}

const columns = sql`d.id, d.channel, d.webhook_id as "webhookId", d.integration_id as "integrationId", d.address,
  d.event, d.run_id as "runId", s.slug as "scheduleSlug", d.state, d.tries,
  case when d.state = 'waiting' and isfinite(d.next_try_at) then wire_time(d.next_try_at) end as "nextTryAt",
  wire_time(d.created_at) as "createdAt", wire_time(d.ended_at) as "endedAt"`

export interface DeliveryFilter {
  readonly state?: DeliveryState | null
  readonly channel?: string | null
  readonly webhookId?: number | null
  readonly runId?: number | null
}

/** Newest first. */
export async function list(
  db: Db,
  workspaceId: number,
  filter: DeliveryFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<Delivery[]> {
  const { state = null, channel = null, webhookId = null, runId = null } = filter
  const { rows } = await sql<Delivery>`/* delivery_list */ select ${columns}
    from delivery d left join schedule s on s.id = d.schedule_id
    where d.workspace_id = ${workspaceId}
      and (${state}::text is null or d.state = ${state}) and (${channel}::text is null or d.channel = ${channel})
      and (${webhookId}::int is null or d.webhook_id = ${webhookId}) and (${runId}::int is null or d.run_id = ${runId})
    order by d.created_at desc, d.id offset ${page.offset} limit ${page.limit}`.execute(db)
  return rows
}

export async function find(
  db: Db,
  workspaceId: number,
  id: string,
): Promise<(Delivery & { readonly body: unknown; readonly result: unknown | null }) | null> {
  const { rows } = await sql<Delivery & { body: unknown; result: unknown | null }>`/* delivery_find */
    select ${columns}, d.body, d.result from delivery d left join schedule s on s.id = d.schedule_id
    where d.workspace_id = ${workspaceId} and d.id = ${id}`.execute(db)
  return rows[0] ?? null
}

export interface DeliveryTry {
  readonly number: number
  readonly startedAt: string
  readonly durationMs: number
  readonly status: number | null
  readonly outcome: TryOutcome
  readonly answer: string
}

export async function listTries(db: Db, workspaceId: number, id: string): Promise<DeliveryTry[]> {
  const { rows } = await sql<DeliveryTry>`/* delivery_tries */ select t.number, wire_time(t.started_at) as "startedAt",
      t.duration_ms as "durationMs", t.status, t.outcome, t.answer
    from delivery_try t join delivery d on d.id = t.delivery_id
    where d.workspace_id = ${workspaceId} and d.id = ${id} order by t.number`.execute(db)
  return rows
}

/**
 * A new series of tries, at once, under the same id; one that waits is tried now. Null when there is none. One that is
 * under way stays as it is: its sender writes what becomes of it.
 */
export async function sendAgain(tx: Db, workspaceId: number, id: string): Promise<'again' | 'under way' | null> {
  const { rows } = await sql<{ claimed: boolean }>`/* delivery_lock */
    select claimed_until is not null and state = 'waiting' as claimed from delivery
    where workspace_id = ${workspaceId} and id = ${id} for update`.execute(tx)
  if (rows[0] === undefined) return null
  if (rows[0].claimed) return 'under way'
  await sql`/* delivery_send_again */ update delivery set state = 'waiting', ended_at = null, next_try_at = '-infinity',
      earlier_tries = tries, series_at = null
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
  return 'again'
}

/** How many there are of each channel and state, for the metrics. Delivered ones are not counted here. */
export async function countOpen(db: Db): Promise<{ channel: string; state: DeliveryState; count: number }[]> {
  const { rows } = await sql<{ channel: string; state: DeliveryState; count: number }>`/* delivery_count */
    select channel, state, count(*)::int as count from delivery where state in ('waiting', 'dead')
    group by channel, state`.execute(db)
  return rows
}

/**
 * Those that ended so long ago, with their tries. Gives how many. The last of a line that left something open stays: whoever
 * closes it must know what it is.
 */
export async function deleteOld(db: Db, days: number, limit: number): Promise<number> {
  const done = await sql`/* delivery_delete_old */ delete from delivery where id in (
      select d.id from delivery d where d.ended_at < clock_timestamp() - ${days}::integer * interval '1 day'
        and not (d.line is not null and d.result @> '{"open": true}' and not exists (
          select 1 from delivery e where e.workspace_id = d.workspace_id and e.line = d.line
            and (e.created_at, e.id) > (d.created_at, d.id)))
      order by d.ended_at limit ${limit} for update of d skip locked)`.execute(db)
  return Number(done.numAffectedRows ?? 0n)
}
