// How a worker takes a session and keeps it. Taking is a compare-and-set on the row (queued, or running in nobody's hands
// → running, next attempt, a lease by the database's own clock); holding is the lease; a lease that ran out means a lost
// worker, and the session goes to another one. A session that waits for a child is in nobody's hands and is not taken
// until that child has ended.
import { CompiledQuery, sql } from 'kysely'
import type { AgentSession } from '../domain/agent-session.ts'
import { FIRST_TURN_WAIT_MS, LATER_TURN_WAIT_MS, PROGRESS_KINDS } from '../domain/agent-session.ts'
import type { AgentHold } from './agent-events.ts'
import { append, LostSession } from './agent-events.ts'
import { columns } from './agent-sessions.ts'
import type { Db } from './database.ts'
import type { JobTransaction } from './queue.ts'

export type { AgentHold } from './agent-events.ts'
export { LostSession } from './agent-events.ts'

export interface Claimer {
  readonly workerId: string
  readonly leaseMs: number
}

export interface Claim {
  readonly sessionId: string
  readonly workspaceId: number
  readonly attempt: number
}

/** One that waited too long is left to whoever ends it, so that both say the same of it. */
const CLAIMABLE = `(s.status = 'queued' and s.queued_at >= clock_timestamp()
    - case when s.turn = 1 then ${FIRST_TURN_WAIT_MS} else ${LATER_TURN_WAIT_MS} end * interval '1 millisecond'
  or s.status = 'running' and s.worker_id is null and not s.waits_for_child)`

const CLAIM = `update yardmaster.agent_session s set status = 'running', attempt = s.attempt + 1, worker_id = $1,
    lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  where ${CLAIMABLE}`

const CLAIMED = `returning s.id as "sessionId", s.workspace_id as "workspaceId", s.attempt`

/**
 * Takes the session that a job names, in the transaction that completes the job. Null when it is taken, over or waits for
 * a child. Of two workers with the same session the second waits for the first one's commit and then matches nothing.
 */
export async function claimByJob(tx: JobTransaction, sessionId: string, by: Claimer): Promise<Claim | null> {
  const { rows } = await tx.executeSql(`/* agent_claim */ ${CLAIM} and s.id = $3 ${CLAIMED}`, [
    by.workerId,
    by.leaseMs,
    sessionId,
  ])
  return (rows[0] as Claim | undefined) ?? null
}

/** Tells every worker to look for sessions: the one that was woken has no room for this one, and another may. */
export async function passOn(tx: JobTransaction, sessionId: string): Promise<void> {
  await tx.executeSql(
    `/* agent_notify_waiting */ select pg_notify('yardmaster_agent', '') from yardmaster.agent_session s
      where s.id = $1 and ${CLAIMABLE}`,
    [sessionId],
  )
}

/**
 * Takes up to `count` sessions that have something to do, oldest first; what another one is taking is stepped over. They
 * are picked apart from the update: as its subquery they would be picked anew for every row that it looks at.
 */
export async function claimWaiting(db: Db, count: number, by: Claimer): Promise<Claim[]> {
  const { rows } = await db.executeQuery<Claim>(
    CompiledQuery.raw(
      `/* agent_claim_waiting */ with picked as materialized (
        select s.id from yardmaster.agent_session s where ${CLAIMABLE}
        order by s.queued_at, s.id limit $3 for update skip locked)
      ${CLAIM} and s.id in (select id from picked) ${CLAIMED}`,
      [by.workerId, by.leaseMs, count],
    ),
  )
  return rows
}

const isHeld = (hold: AgentHold) => sql`s.workspace_id = ${hold.workspaceId} and s.id = ${hold.sessionId}
  and s.attempt = ${hold.attempt} and s.worker_id = ${hold.workerId} and s.status = 'running'`

/**
 * After the claim's commit. It locks the row by its id alone, so it waits for the transaction that took the session; null
 * when that one was undone or the session was stopped since. `fresh`: nobody began this turn before, and now the journal
 * says that it runs. The lease begins anew.
 */
export async function begin(
  tx: Db,
  hold: AgentHold,
  leaseMs: number,
): Promise<{ readonly session: AgentSession; readonly fresh: boolean } | null> {
  // With a condition beyond the id, a claim that is not committed yet would hide the row instead of being waited for.
  const { rows } = await sql<AgentSession & { held: boolean }>`/* agent_begin_lock */ select ${columns},
      coalesce(${isHeld(hold)}, false) as held
    from agent_session s where s.workspace_id = ${hold.workspaceId} and s.id = ${hold.sessionId}
    for no key update`.execute(tx)
  const found = rows[0]
  if (found?.held !== true) return null
  const { rows: begun } = await sql<AgentSession>`/* agent_begin */ update agent_session s
    set started_at = coalesce(s.started_at, clock_timestamp()),
      lease_until = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    where ${isHeld(hold)} returning ${columns}`.execute(tx)
  const fresh = found.startedAt === null
  if (fresh) await append(tx, hold, [{ kind: 'status', status: 'running', reason: '' }])
  return { session: begun[0]!, fresh }
}

/** As it is now, for the worker that holds it. */
export async function readHeld(db: Db, hold: AgentHold): Promise<AgentSession> {
  const { rows } = await sql<AgentSession>`/* agent_held */ select ${columns} from agent_session s
    where ${isHeld(hold)}`.execute(db)
  if (rows[0] === undefined) throw new LostSession(hold)
  return rows[0]
}

/** Gives the ids that are still held; any other is lost for good. A lease that ran out and was not seen yet revives. */
export async function renew(
  db: Db,
  workerId: string,
  claims: readonly Pick<Claim, 'sessionId' | 'attempt'>[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`/* agent_renew */ update agent_session s
    set lease_until = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    from unnest(${claims.map((one) => one.sessionId)}::text[], ${claims.map((one) => one.attempt)}::int[])
      as h (id, attempt)
    where s.id = h.id and s.attempt = h.attempt and s.worker_id = ${workerId} and s.status = 'running'
    returning s.id`.execute(db)
  return new Set(rows.map((row) => row.id))
}

/** What the database says this worker holds: whatever it works on beside these was stopped or taken from it. */
export async function listHeldBy(db: Db, workerId: string): Promise<(Claim & { readonly stopRequested: boolean })[]> {
  const { rows } = await sql<Claim & { stopRequested: boolean }>`/* agent_held_by */ select s.id as "sessionId",
      s.workspace_id as "workspaceId", s.attempt, s.stop_requested_at is not null as "stopRequested"
    from agent_session s where s.worker_id = ${workerId} and s.status = 'running' order by s.id`.execute(db)
  return rows
}

/**
 * Gives the session back, running, in nobody's hands. `waiting`: until a child has ended; false when the journal went on
 * since record `seen` (that child may have ended already), and then it is still held. Not `waiting`: the next worker that
 * looks takes it, such as after a shutdown.
 */
export async function release(
  tx: Db,
  hold: AgentHold,
  how: { readonly waiting: true; readonly seen: number } | { readonly waiting: false },
): Promise<boolean> {
  const { rows } = await sql<{ lastSeq: number }>`/* agent_release_lock */ select s.last_seq as "lastSeq"
    from agent_session s where ${isHeld(hold)} for no key update`.execute(tx)
  if (rows[0] === undefined) throw new LostSession(hold)
  if (how.waiting && rows[0].lastSeq !== how.seen) return false
  await sql`/* agent_release */ update agent_session s set worker_id = null, lease_until = null,
      waits_for_child = ${how.waiting}
    where ${isHeld(hold)}`.execute(tx)
  if (!how.waiting) await sql`/* agent_notify_released */ select pg_notify('yardmaster_agent', '')`.execute(tx)
  return true
}

/** What became of its files, by the worker that holds it. What is left out stays. */
export async function setFiles(
  tx: Db,
  hold: AgentHold,
  files: { readonly baseCommit?: string; readonly branch?: string; readonly treeKey?: string },
): Promise<void> {
  const done = await sql`/* agent_set_files */ update agent_session s
    set base_commit = coalesce(${files.baseCommit ?? null}, s.base_commit),
      branch = coalesce(${files.branch ?? null}, s.branch), tree_key = coalesce(${files.treeKey ?? null}, s.tree_key)
    where ${isHeld(hold)}`.execute(tx)
  if (done.numAffectedRows !== 1n) throw new LostSession(hold)
}

export interface HeldLease extends Claim {
  readonly workerId: string
  /** As the database writes it; it moves whenever the worker is heard of. */
  readonly leaseUntil: string
  /** By the database's clock, which somebody may have set. */
  readonly leftMs: number
}

/** A page of the leases that there are, oldest first; the next page begins after the last row of the one before it. */
export async function listLeases(
  db: Db,
  page: { readonly after: HeldLease | null; readonly limit: number },
): Promise<HeldLease[]> {
  const { after } = page
  const { rows } = await sql<HeldLease>`/* agent_leases */ select s.id as "sessionId",
      s.workspace_id as "workspaceId", s.attempt, s.worker_id as "workerId", s.lease_until::text as "leaseUntil",
      extract(epoch from s.lease_until - clock_timestamp())::float8 * 1000 as "leftMs"
    from agent_session s where s.status = 'running' and s.worker_id is not null
      ${after === null ? sql`` : sql`and (s.lease_until, s.id) > (${after.leaseUntil}::timestamptz, ${after.sessionId})`}
    order by s.lease_until, s.id limit ${page.limit}`.execute(db)
  return rows
}

/** Workers that hold sessions, whatever their leases say: whether one of them is dead may be known on its host. */
export async function listHolders(db: Db): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`/* agent_holders */ select distinct worker_id as id from agent_session
    where status = 'running' and worker_id is not null`.execute(db)
  return rows.map((row) => row.id)
}

const PROGRESS = [...PROGRESS_KINDS]

/**
 * Its worker is gone: it is in nobody's hands, and the next worker takes it. Gives how often that happened while the
 * journal did not go on; null when the lease moved or the session is not held in this attempt any more. Notes and messages
 * of users are no progress: a session that kills whoever takes it would otherwise go round for ever.
 */
export async function lose(
  tx: Db,
  lease: Pick<HeldLease, 'sessionId' | 'workspaceId' | 'attempt'> & { readonly leaseUntil?: string },
): Promise<{ readonly losses: number } | null> {
  const { rows } = await sql<{ leaseUntil: string }>`/* agent_lose_lock */ select lease_until::text as "leaseUntil"
    from agent_session where workspace_id = ${lease.workspaceId} and id = ${lease.sessionId}
      and attempt = ${lease.attempt} and status = 'running' and worker_id is not null
    for no key update`.execute(tx)
  if (rows[0] === undefined || (lease.leaseUntil !== undefined && rows[0].leaseUntil !== lease.leaseUntil)) return null
  const { rows: lost } = await sql<{ losses: number }>`/* agent_lose */ with last as (
      select coalesce(max(seq), 0) as seq from agent_event where workspace_id = ${lease.workspaceId}
        and session_id = ${lease.sessionId} and kind = any (${PROGRESS}::text[]))
    update agent_session s set worker_id = null, lease_until = null, lost_at_seq = last.seq,
      lost_count = case when s.lost_at_seq = last.seq then s.lost_count + 1 else 1 end
    from last where s.workspace_id = ${lease.workspaceId} and s.id = ${lease.sessionId}
    returning s.lost_count as losses`.execute(tx)
  return lost[0]!
}
