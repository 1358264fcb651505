// The journal of a session. A record gets its number and its time in the statement that writes it: the session's row holds
// the last of each and is updated first, so two who write at once stand in line, numbers have no gaps and times only grow,
// whatever the clock does. Totals and the time of the last message move with it.
import { sql } from 'kysely'
import type { AgentEvent, AgentEventBody } from '../domain/agent-session.ts'
import { isMessage } from '../domain/agent-session.ts'
import { storable } from '../domain/text.ts'
import type { Db } from './database.ts'

export interface AgentHold {
  readonly sessionId: string
  readonly workspaceId: number
  readonly workerId: string
  readonly attempt: number
}

/** The session ended, or another worker holds it: whatever was being done for it is to stop, and nothing was written. */
export class LostSession extends Error {
  override readonly name = 'LostSession'
  readonly sessionId: string

  constructor(of: { readonly sessionId: string; readonly attempt: number }) {
    super(`session ${of.sessionId} is no longer held in attempt ${of.attempt}`)
    this.sessionId = of.sessionId
  }
}

/** By the worker that holds the session. Throws LostSession, having written nothing, when it does not. */
export async function append(tx: Db, hold: AgentHold, bodies: readonly AgentEventBody[]): Promise<AgentEvent[]> {
  const isHeld = sql`s.attempt = ${hold.attempt} and s.worker_id = ${hold.workerId} and s.status = 'running'`
  const written = await write(tx, hold, bodies, isHeld)
  if (written === null) throw new LostSession(hold)
  return written
}

/** By whoever has the session's row locked (store/agent-sessions.ts): users, children, those who end a turn. */
export async function appendLocked(
  tx: Db,
  of: { readonly workspaceId: number; readonly sessionId: string },
  bodies: readonly AgentEventBody[],
): Promise<AgentEvent[]> {
  const written = await write(tx, of, bodies, sql`true`)
  if (written === null) throw new Error(`no session ${of.sessionId} to write to`)
  return written
}

async function write(
  tx: Db,
  of: { readonly workspaceId: number; readonly sessionId: string },
  bodies: readonly AgentEventBody[],
  condition: ReturnType<typeof sql>,
): Promise<AgentEvent[] | null> {
  if (bodies.length === 0) {
    const { rows } = await sql`/* agent_event_held */ select 1 from agent_session s
      where s.workspace_id = ${of.workspaceId} and s.id = ${of.sessionId} and ${condition}`.execute(tx)
    return rows.length === 0 ? null : []
  }
  const stored = bodies.map((one) => storable(one) as AgentEventBody)
  const count = stored.length
  const used = totals(stored)
  const { rows } = await sql<{ seq: number; ts: number; turn: number }>`/* agent_event_append */ with held as (
      update agent_session s set last_seq = s.last_seq + ${count}::int,
        last_ts = greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, s.last_ts + 1) + ${count - 1}::int,
        steps = s.steps + ${used.steps}::int, tokens_in = s.tokens_in + ${used.tokensIn}::bigint,
        tokens_out = s.tokens_out + ${used.tokensOut}::bigint,
        cost_microdollars = s.cost_microdollars + ${used.cost}::bigint,
        last_message_at = case when ${stored.some(isMessage)}::boolean then clock_timestamp() else s.last_message_at end
      where s.workspace_id = ${of.workspaceId} and s.id = ${of.sessionId} and ${condition}
      returning s.id, s.workspace_id, s.turn, s.last_seq - ${count}::int as seq, s.last_ts - ${count}::int as ts)
    insert into agent_event (session_id, workspace_id, seq, ts, turn, kind, body)
    select held.id, held.workspace_id, held.seq + one.at::int, held.ts + one.at, held.turn, one.body ->> 'kind',
      one.body - 'kind'
    from held cross join jsonb_array_elements(${JSON.stringify(stored)}::jsonb) with ordinality as one (body, at)
    order by one.at
    returning seq, ts, turn`.execute(tx)
  if (rows.length === 0) return null
  const places = rows.toSorted((a, b) => a.seq - b.seq)
  return stored.map((body, at) => ({ ...body, ...places[at]! }))
}

/** What answers of a model cost. The service's own words cost nothing. */
function totals(bodies: readonly AgentEventBody[]) {
  const answers = bodies.flatMap((one) => (one.kind === 'assistant' && one.model !== '' ? [one] : []))
  const sum = (of: (usage: NonNullable<(typeof answers)[number]['usage']>) => number): number =>
    answers.reduce((total, { usage }) => total + (usage === null ? 0 : Math.round(of(usage))), 0)
  return {
    steps: answers.length,
    tokensIn: sum((usage) => usage.tokensIn),
    tokensOut: sum((usage) => usage.tokensOut),
    cost: sum((usage) => usage.costMicrodollars),
  }
}

interface EventRow {
  readonly seq: number
  readonly ts: number
  readonly turn: number
  readonly kind: string
  readonly body: object
}

const eventOf = ({ body, ...row }: EventRow): AgentEvent => ({ ...body, ...row }) as AgentEvent

/** In order. `after`: only what came after that record. */
export async function list(db: Db, workspaceId: number, sessionId: string, after = 0): Promise<AgentEvent[]> {
  const { rows } = await sql<EventRow>`/* agent_event_list */ select seq, ts, turn, kind, body from agent_event
    where workspace_id = ${workspaceId} and session_id = ${sessionId} and seq > ${after} order by seq`.execute(db)
  return rows.map(eventOf)
}

/** What either side said, in order, without what tools read and wrote: this is asked for again and again. */
export async function listSaid(
  db: Db,
  workspaceId: number,
  sessionId: string,
): Promise<{ kind: 'user_message' | 'assistant'; ts: number; text: string }[]> {
  const { rows } = await sql<{ kind: 'user_message' | 'assistant'; ts: number; text: string }>`/* agent_event_said */
    select kind, ts, body ->> 'text' as text from agent_event where workspace_id = ${workspaceId}
      and session_id = ${sessionId} and kind in ('user_message', 'assistant') order by seq`.execute(db)
  return rows
}

/** The notes alone, which are few: they are asked for with the messages. */
export async function listNotes(db: Db, workspaceId: number, sessionId: string): Promise<AgentEvent[]> {
  const { rows } = await sql<EventRow>`/* agent_event_notes */ select seq, ts, turn, kind, body from agent_event
    where workspace_id = ${workspaceId} and session_id = ${sessionId} and kind = 'note' order by seq`.execute(db)
  return rows.map(eventOf)
}

/** Under the lock: whether a call of the session has its child's answer. */
export async function hasChildResult(
  db: Db,
  of: { readonly workspaceId: number; readonly sessionId: string; readonly call: string },
): Promise<boolean> {
  const { rows } = await sql`/* agent_event_child_result */ select 1 from agent_event
    where workspace_id = ${of.workspaceId} and session_id = ${of.sessionId} and kind = 'child_result'
      and body ->> 'call' = ${of.call}`.execute(db)
  return rows.length > 0
}

/** The whole result of a call whose record was shortened. Written again by a call that is run again. */
export async function saveOutput(
  tx: Db,
  of: { readonly workspaceId: number; readonly sessionId: string; readonly call: string },
  text: string,
): Promise<void> {
  await sql`/* agent_output_save */ insert into agent_output (workspace_id, session_id, call, text)
    values (${of.workspaceId}, ${of.sessionId}, ${of.call}, ${storable(text)})
    on conflict (session_id, call) do update set text = excluded.text
    where agent_output.workspace_id = excluded.workspace_id`.execute(tx)
}

export async function findOutput(
  db: Db,
  of: { readonly workspaceId: number; readonly sessionId: string; readonly call: string },
): Promise<string | null> {
  const { rows } = await sql<{ text: string }>`/* agent_output_find */ select text from agent_output
    where workspace_id = ${of.workspaceId} and session_id = ${of.sessionId} and call = ${of.call}`.execute(db)
  return rows[0]?.text ?? null
}
