// Rows of agents' sessions: making them, finding them, their turns and ends. Whoever changes more than one session of a
// tree locks its root first (`lockTree`), then the others from the top down; a worker that writes to the session it holds
// locks that one alone.
import { sql } from 'kysely'
import type { AgentDefinition } from '../domain/agent-definition.ts'
import type { AgentBudget, AgentSession, AgentStatus, SessionActor } from '../domain/agent-session.ts'
import { storable } from '../domain/text.ts'
import type { Db } from './database.ts'

const microseconds = (column: string) => sql.raw(`(extract(epoch from ${column}) * 1000000)::bigint`)

export const columns = sql`s.id, s.workspace_id as "workspaceId", s.environment_id as "environmentId", s.agent,
  s.definition, s.definition_commit as "definitionCommit", s.base_branch as "baseBranch",
  s.base_commit as "baseCommit", s.model_family as "modelFamily", s.status, s.reason, s.turn,
  s.parent_id as "parentId", s.parent_call as "parentCall", s.root_id as "rootId", s.depth, s.actor,
  s.slack_channel as "slackChannel", s.slack_thread_ts as "slackThreadTs",
  s.healing_request_id as "healingRequestId", s.created_at as "createdAt", s.queued_at as "queuedAt",
  s.started_at as "startedAt", s.ended_at as "endedAt", s.last_message_at as "lastMessageAt", s.steps,
  s.tokens_in as "tokensIn", s.tokens_out as "tokensOut", s.cost_microdollars as "costMicrodollars", s.budget,
  s.branch, s.pull_request as "pullRequest", s.tree_key as "treeKey", s.attempt,
  s.stop_requested_at as "stopRequestedAt"`

export interface NewSession {
  readonly id: string
  readonly workspaceId: number
  readonly environmentId: number
  readonly agent: string
  readonly definition: AgentDefinition
  readonly definitionCommit: string
  readonly baseBranch: string
  readonly modelFamily: string
  readonly parent: {
    readonly id: string
    readonly call: string
    readonly rootId: string
    readonly depth: number
  } | null
  readonly actor: SessionActor
  readonly slackChannel: string
  readonly slackThreadTs: string
  readonly healingRequestId: number | null
  readonly budget: AgentBudget
}

/** False when the call of the parent, or the request for healing, has its session already: of two at once one gets it. */
export async function insert(tx: Db, one: NewSession): Promise<boolean> {
  const { parent } = one
  const done = await sql`/* agent_session_insert */ insert into agent_session (id, workspace_id, environment_id, agent,
      definition, definition_commit, base_branch, model_family, parent_id, parent_call, root_id, depth, actor,
      slack_channel, slack_thread_ts, healing_request_id, budget)
    values (${one.id}, ${one.workspaceId}, ${one.environmentId}, ${one.agent}, ${JSON.stringify(storable(one.definition))},
      ${one.definitionCommit}, ${one.baseBranch}, ${one.modelFamily}, ${parent?.id ?? null}, ${parent?.call ?? null},
      ${parent?.rootId ?? one.id}, ${parent === null ? 0 : parent.depth + 1}, ${JSON.stringify(storable(one.actor))},
      ${one.slackChannel}, ${one.slackThreadTs}, ${one.healingRequestId}, ${JSON.stringify(one.budget)})
    on conflict do nothing`.execute(tx)
  return done.numAffectedRows === 1n
}

export async function find(db: Db, workspaceId: number, id: string): Promise<AgentSession | null> {
  const { rows } = await sql<AgentSession>`/* agent_session_find */ select ${columns} from agent_session s
    where s.workspace_id = ${workspaceId} and s.id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** The session that answers a call of its parent. */
export async function findByCall(
  db: Db,
  workspaceId: number,
  of: { readonly parentId: string; readonly call: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`/* agent_session_by_call */ select id from agent_session
    where workspace_id = ${workspaceId} and parent_id = ${of.parentId} and parent_call = ${of.call}`.execute(db)
  return rows[0]?.id ?? null
}

export async function findByHealing(db: Db, workspaceId: number, requestId: number): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`/* agent_session_by_healing */ select id from agent_session
    where workspace_id = ${workspaceId} and healing_request_id = ${requestId}`.execute(db)
  return rows[0]?.id ?? null
}

/** The newest that was started from a thread of Slack. */
export async function findByThread(
  db: Db,
  workspaceId: number,
  thread: { readonly channel: string; readonly threadTs: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`/* agent_session_by_thread */ select id from agent_session
    where workspace_id = ${workspaceId} and slack_channel = ${thread.channel} and slack_thread_ts = ${thread.threadTs}
      and slack_thread_ts <> '' and parent_id is null
    order by created_at desc, id limit 1`.execute(db)
  return rows[0]?.id ?? null
}

/** What deciding needs beside the session itself. Times in microseconds of the epoch, all by the database's clock. */
export interface LockedSession extends AgentSession {
  readonly workspaceUid: string
  readonly workspaceName: string
  readonly workerId: string | null
  readonly waitsForChild: boolean
  readonly lastSeq: number
  readonly nowUs: number
  readonly queuedUs: number
  readonly lastMessageUs: number
}

const lockedColumns = sql`${columns}, w.uid as "workspaceUid", w.name as "workspaceName", s.worker_id as "workerId",
  s.waits_for_child as "waitsForChild", s.last_seq as "lastSeq", ${microseconds('clock_timestamp()')} as "nowUs",
  ${microseconds('s.queued_at')} as "queuedUs", ${microseconds('s.last_message_at')} as "lastMessageUs"`

/** Locked to the end of the transaction. Its journal can then be written with `appendLocked`. */
export async function lock(tx: Db, workspaceId: number, id: string): Promise<LockedSession | null> {
  const { rows } = await sql<LockedSession>`/* agent_session_lock */ select ${lockedColumns}
    from agent_session s join workspace w on w.id = s.workspace_id
    where s.workspace_id = ${workspaceId} and s.id = ${id} for no key update of s`.execute(tx)
  return rows[0] ?? null
}

/** The root of the session's tree first, then its parent, then the session: so no two lock one tree in two orders. */
export async function lockTree(
  tx: Db,
  workspaceId: number,
  of: { readonly id: string; readonly rootId: string; readonly parentId: string | null },
): Promise<LockedSession | null> {
  if (of.rootId !== of.id) await lock(tx, workspaceId, of.rootId)
  if (of.parentId !== null && of.parentId !== of.rootId) await lock(tx, workspaceId, of.parentId)
  return await lock(tx, workspaceId, of.id)
}

/** Going ones below a session, from the top down. */
export async function listGoingBelow(db: Db, workspaceId: number, id: string): Promise<{ id: string }[]> {
  const { rows } = await sql<{ id: string }>`/* agent_session_below */ with recursive below as (
      select c.id, c.depth, c.status from agent_session c where c.workspace_id = ${workspaceId} and c.parent_id = ${id}
      union all
      select c.id, c.depth, c.status from agent_session c join below b on c.parent_id = b.id
      where c.workspace_id = ${workspaceId})
    select id from below where status in ('queued', 'running') order by depth, id`.execute(db)
  return rows
}

/** The agents of a session and of all above it. */
export async function listAgentsAbove(db: Db, workspaceId: number, id: string): Promise<string[]> {
  const { rows } = await sql<{ agent: string }>`/* agent_session_above */ with recursive above as (
      select s.agent, s.parent_id from agent_session s where s.workspace_id = ${workspaceId} and s.id = ${id}
      union all
      select s.agent, s.parent_id from agent_session s join above a on s.id = a.parent_id
      where s.workspace_id = ${workspaceId})
    select agent from above`.execute(db)
  return rows.map((row) => row.agent)
}

/** Of the parent, in all its turns. */
export async function countChildren(db: Db, workspaceId: number, parentId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* agent_session_count_children */ select count(*)::int as count
    from agent_session where workspace_id = ${workspaceId} and parent_id = ${parentId}`.execute(db)
  return rows[0]!.count
}

/** In the order in which they were started. */
export async function listChildren(db: Db, workspaceId: number, parentId: string): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`/* agent_session_children */ select id from agent_session
    where workspace_id = ${workspaceId} and parent_id = ${parentId} order by created_at, id`.execute(db)
  return rows.map((row) => row.id)
}

export interface SessionFilter {
  readonly agent: string | null
  /** Any of these. */
  readonly statuses: readonly AgentStatus[] | null
  readonly parentId: string | null
}

/** Newest first, with how many there are in all. */
export async function list(
  db: Db,
  workspaceId: number,
  filter: SessionFilter,
  page: { readonly offset: number; readonly limit: number },
): Promise<{ sessions: AgentSession[]; totalCount: number }> {
  const matches = sql`s.workspace_id = ${workspaceId}
    and (${filter.agent}::text is null or s.agent = ${filter.agent})
    and (${filter.statuses === null}::boolean or s.status = any (${[...(filter.statuses ?? [])]}::text[]))
    and (${filter.parentId}::text is null or s.parent_id = ${filter.parentId})`
  const { rows: sessions } = await sql<AgentSession>`/* agent_session_list */ select ${columns} from agent_session s
    where ${matches} order by s.created_at desc, s.id offset ${page.offset} limit ${page.limit}`.execute(db)
  const { rows } = await sql<{ count: number }>`/* agent_session_count */ select count(*)::int as count
    from agent_session s where ${matches}`.execute(db)
  return { sessions, totalCount: rows[0]!.count }
}

/** Of the present turn, as on the wire. One that never began: when it was queued. */
export async function readTimes(
  db: Db,
  workspaceId: number,
  id: string,
): Promise<{ startDttm: string; endDttm: string | null }> {
  const { rows } = await sql<{ startDttm: string; endDttm: string | null }>`/* agent_session_times */
    select wire_time(coalesce(started_at, queued_at)) as "startDttm", wire_time(ended_at) as "endDttm"
    from agent_session where workspace_id = ${workspaceId} and id = ${id}`.execute(db)
  return rows[0]!
}

export interface TreeUse {
  readonly tokens: number
  readonly costMicrodollars: number
}

/** What all sessions of a tree used together: tokens and cost are one budget. */
export async function readTreeUse(db: Db, workspaceId: number, rootId: string): Promise<TreeUse> {
  const { rows } = await sql<TreeUse>`/* agent_session_tree_use */
    select sum(tokens_in + tokens_out)::bigint as tokens, sum(cost_microdollars)::bigint as "costMicrodollars"
    from agent_session where workspace_id = ${workspaceId} and root_id = ${rootId}`.execute(db)
  return rows[0]!
}

/** A message after an end: the next turn waits for a worker. Under the lock. */
export async function queueAgain(tx: Db, workspaceId: number, id: string): Promise<void> {
  await sql`/* agent_session_queue_again */ update agent_session set status = 'queued', reason = '', turn = turn + 1,
      queued_at = clock_timestamp(), started_at = null, ended_at = null, steps = 0, stop_requested_at = null
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

/** A message came in while the turn was going, and the turn is over: the next one begins at once. Under the lock. */
export async function nextTurn(tx: Db, workspaceId: number, id: string): Promise<void> {
  await sql`/* agent_session_next_turn */ update agent_session set turn = turn + 1, started_at = clock_timestamp(),
      steps = 0
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

/** The end of a turn. Whoever held the session finds that it does not any more. Under the lock. */
export async function end(
  tx: Db,
  workspaceId: number,
  id: string,
  final: { readonly status: AgentStatus; readonly reason: string },
): Promise<void> {
  await sql`/* agent_session_end */ update agent_session set status = ${final.status}, reason = ${final.reason},
      ended_at = clock_timestamp(), worker_id = null, lease_until = null, waits_for_child = false,
      stop_requested_at = case when ${final.status === 'stopped'}::boolean then clock_timestamp() end
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
  // Delivered at commit to whoever listens; lost when nobody does, so workers also look (agent-hold.ts).
  await sql`/* agent_session_notify_end */ select pg_notify('yardmaster_agent_stop', ${id})`.execute(tx)
}

/** It can go on: a child has ended. Under the lock. */
export async function wake(tx: Db, workspaceId: number, id: string): Promise<boolean> {
  const done = await sql`/* agent_session_wake */ update agent_session set waits_for_child = false
    where workspace_id = ${workspaceId} and id = ${id} and waits_for_child`.execute(tx)
  return done.numAffectedRows === 1n
}

export async function setPullRequest(tx: Db, workspaceId: number, id: string, url: string): Promise<void> {
  await sql`/* agent_session_set_pull_request */ update agent_session set pull_request = ${url}
    where workspace_id = ${workspaceId} and id = ${id}`.execute(tx)
}

/** Queued ones that may have waited too long, oldest first; the one decision is made under the lock. */
export async function listWaitedLong(
  db: Db,
  of: { readonly minutes: number; readonly limit: number },
): Promise<{ id: string; workspaceId: number }[]> {
  const { rows } = await sql<{ id: string; workspaceId: number }>`/* agent_session_waited_long */
    select id, workspace_id as "workspaceId" from agent_session where status = 'queued'
      and queued_at < clock_timestamp() - ${of.minutes}::float8 * interval '1 minute'
    order by queued_at limit ${of.limit}`.execute(db)
  return rows
}
