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
}

const columns = sql`h.id, h.workspace_id as "workspaceId", h.schedule_id as "scheduleId", h.run_id as "runId", h.cause,
  h.agent, h.slack_channel as "slackChannel", h.state, h.session, h.reason`

/** The oldest that waits and is in nobody's hands, locked to the end of the transaction. */
export async function claim(tx: Db, except: readonly number[]): Promise<Healing | null> {
  const { rows } = await sql<Healing>`/* healing_claim */ select ${columns} from healing_request h
    where h.state = 'waiting' and h.id <> all (${[...except]}::int[])
    order by h.id limit 1 for update skip locked`.execute(tx)
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
  waiting: ['started', 'refused', 'ended'],
  started: ['proposed', 'ended'],
  proposed: ['ended'],
  ended: [],
  refused: [],
}

/** False when it is not in a state from which that follows: then nothing changed. */
export async function move(
  tx: Db,
  id: number,
  to: { readonly state: Exclude<HealingState, 'waiting'>; readonly session?: string; readonly reason?: string },
): Promise<boolean> {
  const from = (Object.keys(NEXT) as HealingState[]).filter((one) => NEXT[one].includes(to.state))
  const isOver = to.state === 'ended' || to.state === 'refused'
  const done = await sql`/* healing_move */ update healing_request set state = ${to.state},
      session = coalesce(${to.session ?? null}, session), reason = coalesce(${to.reason ?? null}, reason),
      ended_at = ${isOver ? sql`clock_timestamp()` : null}
    where id = ${id} and state = any (${from}::text[])`.execute(tx)
  return done.numAffectedRows === 1n
}

/** Newest first. */
export async function list(db: Db, workspaceId: number, limit: number): Promise<Healing[]> {
  const { rows } = await sql<Healing>`/* healing_list */ select ${columns} from healing_request h
    where h.workspace_id = ${workspaceId} order by h.id desc limit ${limit}`.execute(db)
  return rows
}
