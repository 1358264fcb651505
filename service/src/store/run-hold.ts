// How a worker takes a run and keeps it. Taking is a compare-and-set on the row (waiting → starting, next attempt, a
// lease by the database's own clock); holding is the lease, renewed from a thread of its own; a lease that ran out
// means a lost worker. No statement here takes the schedule's lock.
import { CompiledQuery, sql } from 'kysely'
import type { Hold } from './commands.ts'
import { LostRun } from './commands.ts'
import type { Db } from './database.ts'
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

/** Takes up to `count` runs that have their turn, oldest first; what another one is taking is stepped over. */
export async function claimWaiting(db: Db, count: number, by: Claimer): Promise<Claim[]> {
  const { rows } = await db.executeQuery<Claim>(
    CompiledQuery.raw(
      `/* run_claim_waiting */ ${CLAIM} and r.id in (
        select w.id from yardmaster.run w join yardmaster.environment we on we.id = w.environment_id
        where w.state = 'waiting' and w.released_at is not null and we.worker_labels <@ $3::text[]
        order by w.id limit $4 for update of w skip locked)
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
 * that one was undone, or a cancel came first (the state is 'ending' then and `canceled` says so).
 */
export async function begin(tx: Db, hold: Hold): Promise<Begun> {
  const { rows } = await sql<Begun>`/* run_begin_lock */
    select coalesce(attempt = ${hold.attempt} and worker_id = ${hold.workerId}
        and state in ('starting', 'running', 'ending'), false) as held,
      cancel_requested_at is not null as canceled, started_at is null as fresh
    from run where id = ${hold.runId} for no key update`.execute(tx)
  const found = rows[0] ?? { held: false, canceled: false, fresh: false }
  if (found.held) {
    await sql`/* run_begin */ update run set state = case state when 'starting' then 'running' else state end,
        started_at = coalesce(started_at, clock_timestamp()) where id = ${hold.runId}`.execute(tx)
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

export interface ExpiredRun extends Claim {
  readonly workerId: string
  /** For the next page. */
  readonly leaseUntil: string
}

/**
 * A page of leases that ran out, oldest first. None within one lease of the database's own start: workers that are
 * alive and could not renew meanwhile get that long to do it. A page begins after the last row of the one before it,
 * so rows that cannot be finalised do not hide the others.
 */
export async function listExpired(
  db: Db,
  options: { readonly quietMs: number; readonly after: ExpiredRun | null; readonly limit: number },
): Promise<ExpiredRun[]> {
  const { after } = options
  const { rows } = await sql<ExpiredRun>`/* run_expired */ select id as "runId", attempt, worker_id as "workerId",
      lease_until::text as "leaseUntil"
    from run where state in ('starting', 'running', 'ending') and lease_until < clock_timestamp()
      and pg_postmaster_start_time() < clock_timestamp() - ${options.quietMs}::float8 * interval '1 millisecond'
      ${after === null ? sql`` : sql`and (lease_until, id) > (${after.leaseUntil}::timestamptz, ${after.runId})`}
    order by lease_until, id limit ${options.limit}`.execute(db)
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
