// Requests for healing. Unique indexes hold what is promised: one at a time for a schedule, one for a cause that is being
// worked on or whose mend is proposed, one for a run.
import { sql } from 'kysely'
import type { HealingState } from '../domain/healing.ts'
import type { SelfHealing } from '../domain/schedule.ts'
import type { Db } from './database.ts'

export interface HealingSettings {
  readonly selfHealing: SelfHealing | null
  /** The switch of the workspace. */
  readonly agents: boolean
}

export async function readSettings(db: Db, workspaceId: number, scheduleId: number): Promise<HealingSettings> {
  const { rows } = await sql<HealingSettings>`/* healing_settings */ select s.self_healing as "selfHealing", w.agents
    from schedule s join workspace w on w.id = s.workspace_id
    where s.workspace_id = ${workspaceId} and s.id = ${scheduleId}`.execute(db)
  return rows[0]!
}

export interface NewHealing {
  readonly workspaceId: number
  readonly scheduleId: number
  readonly runId: number
  readonly cause: string
  readonly agent: string
  readonly slackChannel: string
  /** Why nobody is asked; null when somebody will be. */
  readonly refused: string | null
}

/** Null when the schedule, the cause or the run has one already: of two at once, one gets the row. */
export async function insert(tx: Db, one: NewHealing): Promise<number | null> {
  const { rows } = await sql<{
    id: number
  }>`/* healing_insert */ insert into healing_request (workspace_id, schedule_id,
      run_id, cause, agent, slack_channel, state, reason, ended_at)
    values (${one.workspaceId}, ${one.scheduleId}, ${one.runId}, ${one.cause}, ${one.agent}, ${one.slackChannel},
      ${one.refused === null ? 'waiting' : 'refused'}, ${one.refused ?? ''},
      ${one.refused === null ? null : sql`clock_timestamp()`})
    on conflict do nothing returning id`.execute(tx)
  return rows[0]?.id ?? null
}

export interface Healing {
  readonly id: number
  readonly workspaceId: number
  readonly scheduleId: number
  readonly runId: number
  readonly cause: string
  readonly agent: string
  readonly slackChannel: string
  readonly state: HealingState
  readonly session: string
  readonly reason: string
  /** What was pushed, and the pull request where one was opened; empty where there is none. */
  readonly branch: string
  readonly pullRequest: string
}

const columns = sql`h.id, h.workspace_id as "workspaceId", h.schedule_id as "scheduleId", h.run_id as "runId", h.cause,
  h.agent, h.slack_channel as "slackChannel", h.state, h.session, h.reason, h.branch, h.pull_request as "pullRequest"`

/** The oldest that waits. Nothing is locked: whoever starts it may wait for a git host, and `move` decides. */
export async function findWaiting(db: Db, except: readonly number[]): Promise<Healing | null> {
  const { rows } = await sql<Healing>`/* healing_waiting */ select ${columns} from healing_request h
    where h.state = 'waiting' and h.id <> all (${[...except]}::int[])
    order by h.id limit 1`.execute(db)
  return rows[0] ?? null
}

/** Where the notice of a run stands in Slack, when it has arrived. */
export async function findThread(
  db: Db,
  workspaceId: number,
  runId: number,
): Promise<{ channel: string; threadTs: string } | null> {
  const { rows } = await sql<{ channel: string; threadTs: string }>`/* healing_thread */
    select result ->> 'channel' as channel, result ->> 'ts' as "threadTs" from delivery
    where workspace_id = ${workspaceId} and run_id = ${runId} and channel = 'slack' and state = 'delivered'
      and result ->> 'ts' is not null and result ->> 'channel' is not null
    order by created_at limit 1`.execute(db)
  return rows[0] ?? null
}

const NEXT: Readonly<Record<HealingState, readonly HealingState[]>> = {
  // The session may be over before the row knows that it was started.
  waiting: ['started', 'proposed', 'refused', 'ended'],
  started: ['proposed', 'ended'],
  proposed: ['ended'],
  ended: [],
  refused: [],
}

export interface HealingMove {
  readonly state: Exclude<HealingState, 'waiting'>
  readonly session?: string
  readonly reason?: string
  readonly branch?: string
  readonly pullRequest?: string
}

/** False when it is not in a state from which that follows: then nothing changed. */
export async function move(tx: Db, id: number, to: HealingMove): Promise<boolean> {
  const from = (Object.keys(NEXT) as HealingState[]).filter((one) => NEXT[one].includes(to.state))
  const isOver = to.state === 'ended' || to.state === 'refused'
  const done = await sql`/* healing_move */ update healing_request set state = ${to.state},
      session = coalesce(${to.session ?? null}, session), reason = coalesce(${to.reason ?? null}, reason),
      branch = coalesce(${to.branch ?? null}, branch),
      pull_request = coalesce(${to.pullRequest ?? null}, pull_request),
      proposed_at = case when ${to.state === 'proposed'}::boolean then clock_timestamp() else proposed_at end,
      ended_at = ${isOver ? sql`clock_timestamp()` : null}
    where id = ${id} and state = any (${from}::text[])`.execute(tx)
  return done.numAffectedRows === 1n
}

/** A pull request for a branch that was proposed without one. */
export async function addPullRequest(tx: Db, id: number, pullRequest: string): Promise<void> {
  await sql`/* healing_add_pull_request */ update healing_request set pull_request = ${pullRequest},
      proposed_at = clock_timestamp()
    where id = ${id} and state = 'proposed' and pull_request = ''`.execute(tx)
}

/** Whether the session pushed its branch: the journal says so. */
export async function hasPushed(db: Db, workspaceId: number, session: string): Promise<boolean> {
  const { rows } = await sql<{ pushed: boolean }>`/* healing_has_pushed */ select exists (
      select 1 from agent_event where workspace_id = ${workspaceId} and session_id = ${session} and kind = 'tool_end'
        and body ->> 'tool' = 'git_push' and not (body ->> 'isError')::boolean) as pushed`.execute(db)
  return rows[0]!.pushed
}

/** The one whose session proposed something and is not decided yet. */
export async function findProposed(tx: Db, workspaceId: number, session: string): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`/* healing_proposed */ select id from healing_request
    where workspace_id = ${workspaceId} and session = ${session} and state = 'proposed'`.execute(tx)
  return rows[0]?.id ?? null
}

/** Proposed longer ago than is waited for: branches without a pull request, and pull requests nobody told the end of. */
export async function listForgotten(
  db: Db,
  after: { readonly branchDays: number; readonly pullRequestDays: number },
): Promise<{ id: number; pullRequest: string }[]> {
  const { rows } = await sql<{ id: number; pullRequest: string }>`/* healing_forgotten */
    select id, pull_request as "pullRequest" from healing_request
    where state = 'proposed' and proposed_at < clock_timestamp() - interval '1 day' *
      case when pull_request = '' then ${after.branchDays}::integer else ${after.pullRequestDays}::integer end
    order by id limit 1000`.execute(db)
  return rows
}

export interface ListedHealing extends Healing {
  readonly scheduleSlug: string
  readonly scheduleName: string
  /** As on the wire. */
  readonly createdAt: string
  readonly proposedAt: string | null
  readonly endedAt: string | null
}

/** Newest first, with how many there are in all. */
export async function page(
  db: Db,
  workspaceId: number,
  wanted: {
    readonly scheduleSlug: string | null
    readonly state: HealingState | null
    readonly offset: number
    readonly limit: number
  },
): Promise<{ healings: ListedHealing[]; totalCount: number }> {
  const matches = sql`from healing_request h join schedule s on s.id = h.schedule_id
    where h.workspace_id = ${workspaceId} and (${wanted.scheduleSlug}::text is null or s.slug = ${wanted.scheduleSlug})
      and (${wanted.state}::text is null or h.state = ${wanted.state})`
  const { rows: healings } = await sql<ListedHealing>`/* healing_page */ select ${columns}, s.slug as "scheduleSlug",
      s.name as "scheduleName", wire_time(h.created_at) as "createdAt", wire_time(h.proposed_at) as "proposedAt",
      wire_time(h.ended_at) as "endedAt"
    ${matches} order by h.id desc offset ${wanted.offset} limit ${wanted.limit}`.execute(db)
  const { rows } = await sql<{ count: number }>`/* healing_count */ select count(*)::int as count ${matches}`.execute(
    db,
  )
  return { healings, totalCount: rows[0]!.count }
}

/** Newest first. */
export async function list(db: Db, workspaceId: number, limit: number): Promise<Healing[]> {
  const { rows } = await sql<Healing>`/* healing_list */ select ${columns} from healing_request h
    where h.workspace_id = ${workspaceId} order by h.id desc limit ${limit}`.execute(db)
  return rows
}

/** In which environment a run was, and the repository of it. */
export async function findRunPlace(
  db: Db,
  workspaceId: number,
  runId: number,
): Promise<{ environmentId: number; repositoryUrl: string }> {
  const { rows } = await sql<{ environmentId: number; repositoryUrl: string }>`/* healing_run_place */
    select e.id as "environmentId", e.repository_url as "repositoryUrl"
    from run r join environment e on e.id = r.environment_id
    where r.workspace_id = ${workspaceId} and r.id = ${runId}`.execute(db)
  return rows[0]!
}
