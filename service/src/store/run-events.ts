// Something happened to a run, written in the transaction that made it so. Whoever handles an event locks its row and
// passes over those of others, so each handler is done once, however many look at the same time.
import { sql } from 'kysely'
import type { RunCause, RunState } from '../domain/run.ts'
import type { Db } from './database.ts'

export const RUN_EVENT_KINDS = ['started', 'ended', 'late'] as const
export type RunEventKind = (typeof RUN_EVENT_KINDS)[number]

/** An event with what most handlers decide by; the state is that of now, final for `ended`. */
export interface RunEvent {
  readonly id: number
  readonly kind: RunEventKind
  readonly workspaceId: number
  readonly workspaceUid: string
  readonly workspaceName: string
  readonly runId: number
  readonly scheduleId: number
  readonly scheduleSlug: string
  readonly cause: RunCause
  readonly state: RunState
  readonly branch: string
  readonly commitHash: string
  /** The commit that the run was asked for, known before anything is checked out. */
  readonly wantedCommit: string | null
  readonly prNumber: number | null
  readonly tries: number
  /** Names of the handlers that an earlier try finished. */
  readonly done: readonly string[]
}

/** Once for each run and kind: a repetition changes nothing. False then. */
export async function insert(
  tx: Db,
  event: { readonly workspaceId: number; readonly runId: number; readonly kind: RunEventKind },
): Promise<boolean> {
  const done = await sql`/* run_event_insert */ insert into run_event (workspace_id, run_id, kind)
    values (${event.workspaceId}, ${event.runId}, ${event.kind}) on conflict (run_id, kind) do nothing`.execute(tx)
  return done.numAffectedRows === 1n
}

/**
 * The oldest event that is due and in nobody's hands, locked to the end of the transaction. The events of one run are
 * first handled in their order, or a status of its end would be overtaken by that of its start; one that failed holds up
 * none that follow.
 */
export async function claim(tx: Db, now: Date): Promise<RunEvent | null> {
  const { rows } = await sql<RunEvent>`/* run_event_claim */ select e.id, e.kind, e.workspace_id as "workspaceId",
      w.uid as "workspaceUid", w.name as "workspaceName", e.run_id as "runId", r.schedule_id as "scheduleId",
      s.slug as "scheduleSlug", r.cause, r.state, r.branch, r.commit_hash as "commitHash",
      r.wanted_commit as "wantedCommit", r.pr_number as "prNumber", e.tries, e.done
    from run_event e join run r on r.id = e.run_id join schedule s on s.id = r.schedule_id
      join workspace w on w.id = e.workspace_id
    where e.handled_at is null and e.next_try_at <= ${now} and not exists (select 1 from run_event earlier
      where earlier.run_id = e.run_id and earlier.id < e.id and earlier.handled_at is null and earlier.tries = 0)
    order by e.next_try_at, e.id limit 1 for update of e skip locked`.execute(tx)
  return rows[0] ?? null
}

/** After a try: handled when nothing is left, otherwise to be looked at again. Under the lock of `claim`. */
export async function settle(
  tx: Db,
  id: number,
  after: { readonly done: readonly string[]; readonly again: Date | null; readonly now: Date },
): Promise<void> {
  await sql`/* run_event_settle */ update run_event set done = ${[...after.done]}::text[], tries = tries + 1,
      handled_at = ${after.again === null ? after.now : null}::timestamptz,
      next_try_at = coalesce(${after.again}::timestamptz, next_try_at)
    where id = ${id}`.execute(tx)
}

/** By the database's clock, which runs are accepted by. */
export async function isAnyLate(db: Db, at: Date): Promise<boolean> {
  const { rows } = await sql`/* run_event_any_late */ select 1 from run
    where late_at <= ${at} and state in ('waiting', 'starting', 'running', 'ending') limit 1`.execute(db)
  return rows.length > 0
}

/**
 * Runs that are still going past their deadline each get their event, once: the deadline is taken off the run in the
 * same statement. What somebody else has in hand is left for the next look. Reads only what is late.
 */
export async function insertLate(tx: Db, now: Date, limit: number): Promise<number> {
  const { rows } = await sql`/* run_event_insert_late */
    with late as (
      update run set late_at = null where id in (
        select id from run where late_at <= ${now} and state in ('waiting', 'starting', 'running', 'ending')
        order by late_at limit ${limit} for no key update skip locked)
      returning id, workspace_id)
    insert into run_event (workspace_id, run_id, kind) select workspace_id, id, 'late' from late
    on conflict (run_id, kind) do nothing returning id`.execute(tx)
  return rows.length
}

/**
 * What the work wrote stays only when it succeeds; the transaction goes on either way. Null, or what went wrong. When the
 * connection itself is gone, going back to the savepoint fails too, and that is thrown.
 */
export async function inSavepoint(tx: Db, work: () => Promise<void>): Promise<{ readonly cause: unknown } | null> {
  await sql`savepoint handler`.execute(tx)
  try {
    await work()
    await sql`release savepoint handler`.execute(tx)
    return null
  } catch (cause) {
    await sql`rollback to savepoint handler`.execute(tx)
    await sql`release savepoint handler`.execute(tx)
    return { cause }
  }
}
