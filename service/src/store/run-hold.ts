// How a worker takes a run and keeps it. Taking is a compare-and-set on the row (waiting → starting, next attempt, a
// lease by the database's own clock); holding is the lease, renewed from a thread of its own; a lease that ran out
// means a lost worker. No statement here takes the schedule's lock.
import { CompiledQuery, sql } from 'kysely'
import type { Hold } from './commands.ts'
import { LostRun } from './commands.ts'
import type { Db } from './database.ts'
import { missingLabels } from './nodes.ts'
import type { JobTransaction } from './queue.ts'

export interface Claimer {
  readonly workerId: string
  readonly labels: readonly string[]
  readonly leaseMs: number
}

export interface Claim {
  readonly runId: number
  readonly attempt: number
}

const CLAIM = `update yardmaster.run r set state = 'starting', attempt = r.attempt + 1, worker_id = $1,
    lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  from yardmaster.environment e
  where e.id = r.environment_id and r.state = 'waiting' and r.released_at is not null and e.worker_labels <@ $3::text[]`

/**
 * Takes the run that a job names, in the transaction that completes the job. Null when it is taken, ended or not for
 * this worker. Of two workers with the same run the second waits for the first one's commit and then matches nothing.
 */
export async function claimByJob(tx: JobTransaction, runId: number, by: Claimer): Promise<Claim | null> {
  const { rows } = await tx.executeSql(`/* run_claim */ ${CLAIM} and r.id = $4 returning r.id as "runId", r.attempt`, [
    by.workerId,
    by.leaseMs,
    [...by.labels],
    runId,
  ])
  return (rows[0] as Claim | undefined) ?? null
}

/** Tells every worker to look for runs: the one that was woken cannot take this one, and another may. */
export async function passOn(tx: JobTransaction, runId: number): Promise<void> {
  await tx.executeSql(
    `/* run_notify_waiting */ select pg_notify('yardmaster_run', '') from yardmaster.run
      where id = $1 and state = 'waiting' and released_at is not null`,
    [runId],
  )
}

/**
 * Takes up to `count` runs that have their turn, oldest first; what another one is taking is stepped over. They are
 * picked apart from the update: as its subquery they would be picked anew for every row that it looks at, and all that
 * wait would be taken.
 */
export async function claimWaiting(db: Db, count: number, by: Claimer): Promise<Claim[]> {
  const { rows } = await db.executeQuery<Claim>(
    CompiledQuery.raw(
      `/* run_claim_waiting */ with picked as materialized (
        select w.id from yardmaster.run w join yardmaster.environment we on we.id = w.environment_id
        where w.state = 'waiting' and w.released_at is not null and we.worker_labels <@ $3::text[]
        order by w.id limit $4 for update of w skip locked)
      ${CLAIM} and r.id in (select id from picked)
      returning r.id as "runId", r.attempt`,
      [by.workerId, by.leaseMs, [...by.labels], count],
    ),
  )
  return rows
}

export interface Begun {
  readonly held: boolean
  readonly canceled: boolean
  /** Nobody began it before. */
  readonly fresh: boolean
}

/**
 * starting → running. It locks the row by its id alone, so it waits for the transaction that took the run; false when
 * that one was undone, or a cancel came first (the state is 'ending' then and `canceled` says so). The lease begins anew.
 */
export async function begin(tx: Db, hold: Hold, leaseMs?: number, isolation?: string): Promise<Begun> {
  const { rows } = await sql<Begun>`/* run_begin_lock */
    select coalesce(attempt = ${hold.attempt} and worker_id = ${hold.workerId}
        and state in ('starting', 'running', 'ending'), false) as held,
      cancel_requested_at is not null as canceled, started_at is null as fresh
    from run where id = ${hold.runId} for no key update`.execute(tx)
  const found = rows[0] ?? { held: false, canceled: false, fresh: false }
  if (found.held) {
    await sql`/* run_begin */ update run set state = case state when 'starting' then 'running' else state end,
        started_at = coalesce(started_at, clock_timestamp()), isolation = coalesce(${isolation ?? null}, isolation),
        lease_until = coalesce(clock_timestamp() + ${leaseMs ?? null}::float8 * interval '1 millisecond', lease_until)
      where id = ${hold.runId}`.execute(tx)
  }
  return found
}

export async function setCommit(db: Db, hold: Hold, commit: string): Promise<void> {
  const done = await sql`/* run_set_commit */ update run set commit_hash = ${commit} where id = ${hold.runId}
    and attempt = ${hold.attempt} and worker_id = ${hold.workerId}
    and state in ('starting', 'running', 'ending')`.execute(db)
  if (done.numAffectedRows !== 1n) throw new LostRun(hold)
}

/** A limit passed and the commands are being stopped. Nothing when a cancel came first. */
export async function setEnding(db: Db, hold: Hold): Promise<void> {
  await sql`/* run_set_ending */ update run set state = 'ending' where id = ${hold.runId}
    and attempt = ${hold.attempt} and worker_id = ${hold.workerId} and state in ('starting', 'running')`.execute(db)
}

/** Gives the ids that are still held; any other is lost for good. A lease that ran out and was not seen yet revives. */
export async function renew(
  db: Db,
  workerId: string,
  holds: readonly Claim[],
  leaseMs: number,
): Promise<ReadonlySet<number>> {
  const { rows } = await sql<{ id: number }>`/* run_renew */ update run r
    set lease_until = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    from unnest(${holds.map((one) => one.runId)}::int[], ${holds.map((one) => one.attempt)}::int[]) as h (id, attempt)
    where r.id = h.id and r.attempt = h.attempt and r.worker_id = ${workerId}
      and r.state in ('starting', 'running', 'ending')
    returning r.id`.execute(db)
  return new Set(rows.map((row) => row.id))
}

export interface HeldRun extends Claim {
  readonly canceled: boolean
}

/** What the database says this worker holds: cancels that no notice told of, and runs that it took without knowing. */
export async function listHeldBy(db: Db, workerId: string): Promise<HeldRun[]> {
  const { rows } = await sql<HeldRun>`/* run_held_by */ select id as "runId", attempt,
      cancel_requested_at is not null as canceled
    from run where worker_id = ${workerId} and state in ('starting', 'running', 'ending') order by id`.execute(db)
  return rows
}

export interface HeldLease extends Claim {
  /** As the database writes it; it moves whenever the worker is heard of. */
  readonly leaseUntil: string
  /** By the database's clock, which somebody may have set. */
  readonly leftMs: number
}

/**
 * A page of the leases that there are, oldest first. A page begins after the last row of the one before it, so rows that
 * cannot be finalised do not hide the others; one that is renewed meanwhile is seen again.
 */
export async function listLeases(
  db: Db,
  page: { readonly after: HeldLease | null; readonly limit: number },
): Promise<HeldLease[]> {
  const { after } = page
  const { rows } = await sql<HeldLease>`/* run_leases */ select id as "runId", attempt,
      lease_until::text as "leaseUntil",
      extract(epoch from lease_until - clock_timestamp())::float8 * 1000 as "leftMs"
    from run where state in ('starting', 'running', 'ending')
      ${after === null ? sql`` : sql`and (lease_until, id) > (${after.leaseUntil}::timestamptz, ${after.runId})`}
    order by lease_until, id limit ${page.limit}`.execute(db)
  return rows
}

/** When the database started: workers that are alive could not renew before that. */
export async function readStart(db: Db): Promise<{ startedAt: string; upMs: number }> {
  const { rows } = await sql<{ startedAt: string; upMs: number }>`/* run_database_start */ select
      pg_postmaster_start_time()::text as "startedAt",
      extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 * 1000 as "upMs"`.execute(db)
  return rows[0]!
}

export interface UntakenRun extends Claim {
  /** What no worker that is alive has; null when one could take it, and did not. */
  readonly missingLabels: readonly string[] | null
}

/** Runs whose turn came longer ago than the limit and that nobody took, oldest first. */
export async function listUntaken(
  db: Db,
  of: { readonly limitSeconds: number; readonly after: number; readonly limit: number },
): Promise<UntakenRun[]> {
  const { rows } = await sql<UntakenRun>`/* run_untaken */ select r.id as "runId", r.attempt,
      ${missingLabels} as "missingLabels"
    from run r where r.state = 'waiting' and r.id > ${of.after}
      and r.released_at < clock_timestamp() - ${of.limitSeconds}::float8 * interval '1 second'
    order by r.id limit ${of.limit}`.execute(db)
  return rows
}

/** Workers that hold runs, whatever their leases say: whether one of them is dead may be known on its host. */
export async function listHolders(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`/* run_holders */ select distinct worker_id as id from run
    where state in ('starting', 'running', 'ending')`.execute(db)
  return rows.map((row) => row.id)
}

/** Of these runs, the attempts that somebody still holds: their folders are in use. */
export async function listHeldAttempts(db: Db, runIds: readonly number[]): Promise<Claim[]> {
  const { rows } = await sql<Claim>`/* run_held_attempts */ select id as "runId", attempt from run
    where id = any(${[...runIds]}::int[]) and state in ('starting', 'running', 'ending')`.execute(db)
  return rows
}
