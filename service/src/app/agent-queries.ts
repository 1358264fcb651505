// Sessions as they are read. Everything comes from the journal (domain/agent-transcript.ts), so that every reader sees the
// same; a session of another workspace is not there.
import type { AgentSession, AgentStatus } from '../domain/agent-session.ts'
import type { AgentMessage, AgentStep } from '../domain/agent-transcript.ts'
import { messagesOf, startupStepsOf, stepsOf } from '../domain/agent-transcript.ts'
import { invalidInput, notFound } from '../domain/errors.ts'
import { quoted } from '../domain/text.ts'
import * as events from '../store/agent-events.ts'
import * as sessions from '../store/agent-sessions.ts'
import { noSuchSession } from './agent-sessions.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

export type { AgentMessage, AgentStep } from '../domain/agent-transcript.ts'

export interface AgentSessionView {
  readonly session: AgentSession
  readonly messages: readonly AgentMessage[]
  readonly childSessionIds: readonly string[]
}

/** The row is read first: what its status says is in the journal that is read after it. */
export async function getAgentSession(ctx: Context, id: string): Promise<AgentSessionView> {
  const { id: workspaceId } = workspaceOf(ctx)
  const session = await find(ctx, id)
  const messages = messagesOf(await events.listSaid(ctx.db, workspaceId, id))
  return { session, messages, childSessionIds: await sessions.listChildren(ctx.db, workspaceId, id) }
}

export interface SessionQuery {
  readonly agent: string | null
  readonly statuses: readonly AgentStatus[] | null
  readonly parentId: string | null
  readonly offset: number | null
  readonly limit: number | null
}

const SOME_SESSIONS = 100
const MOST_SESSIONS = 1000

/** Newest first. */
export async function listAgentSessions(
  ctx: Context,
  query: SessionQuery,
): Promise<{ sessions: AgentSession[]; totalCount: number }> {
  const { offset, limit, parentId } = query
  if (offset !== null && offset < 0) throw invalidInput('offset: 0 or more.')
  if (limit !== null && (limit < 1 || limit > MOST_SESSIONS)) throw invalidInput(`limit: 1 to ${MOST_SESSIONS}.`)
  if (parentId !== null) await find(ctx, parentId)
  const page = { offset: offset ?? 0, limit: limit ?? SOME_SESSIONS }
  return await sessions.list(ctx.db, workspaceOf(ctx).id, query, page)
}

export interface StepsQuery {
  /** The number of a record: only what came after it. */
  readonly after: number | null
  readonly includeToolIo: boolean
  readonly maxChars: number | null
}

const MOST_CHARS = 100_000

export async function getAgentSteps(ctx: Context, id: string, query: StepsQuery): Promise<AgentStep[]> {
  const { after, includeToolIo, maxChars } = query
  if (after !== null && after < 0) throw invalidInput('after: 0 or more, the seq of a step that is known.')
  if (maxChars !== null && (maxChars < 1 || maxChars > MOST_CHARS)) throw invalidInput(`maxChars: 1 to ${MOST_CHARS}.`)
  return stepsOf(await readJournal(ctx, id), { after: after ?? 0, includeToolIo, maxChars })
}

export async function getStartupSteps(ctx: Context, id: string): Promise<AgentStep[]> {
  await find(ctx, id)
  return startupStepsOf(await events.listNotes(ctx.db, workspaceOf(ctx).id, id))
}

/** The whole result of a call, as it was before it was shortened for the model. */
export async function getAgentOutput(ctx: Context, id: string, call: string): Promise<{ text: string }> {
  const { id: workspaceId } = workspaceOf(ctx)
  const journal = await readJournal(ctx, id)
  const whole = await events.findOutput(ctx.db, { workspaceId, sessionId: id, call })
  const record = journal.find((one) => one.kind === 'tool_end' && one.call === call)
  const text = whole ?? (record?.kind === 'tool_end' ? record.text : null)
  if (text === null) throw notFound(`No result of a call ${quoted(call)} in this session.`)
  return { text }
}

async function readJournal(ctx: Context, id: string) {
  await find(ctx, id)
  return await events.list(ctx.db, workspaceOf(ctx).id, id)
}

async function find(ctx: Context, id: string): Promise<AgentSession> {
  const found = id.includes('\0') ? null : await sessions.find(ctx.db, workspaceOf(ctx).id, id)
  if (found === null) throw noSuchSession(id)
  return found
}
