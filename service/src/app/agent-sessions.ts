// Sessions of agents, as people and keys use them: start one, write to it, stop it. What the loop does with one is in
// engine/agent; how a turn ends is in agent-ends.ts.
import type { Actor } from '../domain/actor.ts'
import type {
  AgentBudget,
  AgentEvent,
  AgentEventBody,
  AgentSession,
  AgentStatus,
  MessageAuthor,
  SessionActor,
} from '../domain/agent-session.ts'
import { decideMessage, decideStop } from '../domain/agent-session.ts'
import { isToolName, traitsOf } from '../domain/agent-tools.ts'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import { quoted } from '../domain/text.ts'
import type { Models } from '../ports/model.ts'
import * as events from '../store/agent-events.ts'
import type { AgentHold } from '../store/agent-hold.ts'
import * as sessions from '../store/agent-sessions.ts'
import type { AgentDefinitions } from './agent-definitions.ts'
import { endTurn } from './agent-ends.ts'
import type { TriggerAgent } from './agent-input.ts'
import { parseMessage, parseTrigger } from './agent-input.ts'
import { postTexts } from './agent-news.ts'
import { startSession } from './agent-start.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import { actorName } from './runs.ts'

export type { EndOfTurn } from './agent-ends.ts'
export { endTurn, endUnstarted, loseWorker } from './agent-ends.ts'
export type { TriggerAgent } from './agent-input.ts'
export { queueSlackMessage } from './agent-news.ts'
export type { StartSession } from './agent-start.ts'
export { startSession } from './agent-start.ts'

export interface AgentDeps {
  readonly definitions: AgentDefinitions
  readonly models: Models
  /** Of the deployment; left out: DEFAULT_BUDGET. */
  readonly budget?: AgentBudget
}

/** Runs when no agent is named. */
const ASSISTANT = 'assistant'
const READ_MS = 30_000

export async function triggerAgent(
  ctx: Context,
  deps: AgentDeps,
  input: TriggerAgent,
): Promise<{ sessionId: string; warning: string | null }> {
  const workspace = workspaceOf(ctx)
  const asked = parseTrigger(input)
  const found = await deps.definitions.find(ctx, asked.agent ?? ASSISTANT, AbortSignal.timeout(READ_MS))
  const { definition, environment } = found
  const model = await deps.models.choose(workspace.id, asked.modelFamily ?? definition.modelFamily)
  const warning = [...found.warnings, model.warning ?? ''].filter((one) => one !== '').join(' ')
  const sender = actorName(ctx.actor)
  return await mutate(ctx, async (unit) => {
    const sessionId = await startSession(unit, {
      workspaceId: workspace.id,
      environmentId: environment.id,
      agent: definition.name,
      definition,
      definitionCommit: found.commit,
      baseBranch: asked.baseBranch ?? environment.defaultBranch,
      modelFamily: model.family,
      message: asked.message === null ? null : { text: asked.message, author: 'user', name: sender.name },
      actor: sessionActor(ctx.actor),
      parent: null,
      slack: asked.slack,
      healingRequestId: null,
      budget: deps.budget,
    })
    unit.record('agent_triggered', {
      session: sessionId,
      agent: definition.name,
      commit: found.commit,
      model_family: model.family,
      ...(asked.baseBranch !== null && { base_branch: asked.baseBranch }),
      ...(asked.slack !== null && { slack_channel: asked.slack.channel }),
    })
    return { sessionId, warning: warning === '' ? null : warning }
  })
}

export async function sendAgentMessage(
  ctx: Context,
  input: { readonly sessionId: string; readonly message: string },
): Promise<{ sessionId: string }> {
  const workspace = workspaceOf(ctx)
  const text = parseMessage(input.message)
  if (text === null) throw invalidInput('message: must not be empty.')
  const { name } = actorName(ctx.actor)
  return await mutate(ctx, async (unit) => {
    await addMessage(unit, { workspaceId: workspace.id, sessionId: input.sessionId, text, author: 'user', name })
    unit.record('agent_message_sent', { session: input.sessionId })
    return { sessionId: input.sessionId }
  })
}

export interface NewMessage {
  readonly workspaceId: number
  readonly sessionId: string
  readonly text: string
  readonly author: MessageAuthor
  /** Of whoever wrote it, as shown. */
  readonly name: string
}

/**
 * Of a user, from Slack, or of a child. A session whose turn is over is queued again in the same transaction; one that is
 * going takes it in at its next step. Refuses with NOT_FOUND and CONFLICT.
 */
export async function addMessage(unit: Unit, message: NewMessage): Promise<{ status: AgentStatus }> {
  const { workspaceId, sessionId, text, author, name } = message
  const session = await sessions.lock(unit.db, workspaceId, sessionId)
  if (session === null) throw noSuchSession(sessionId)
  const decision = decideMessage(session, session.nowUs)
  if (decision.kind === 'refused') throw conflict(decision.reason)
  const place = { workspaceId, sessionId }
  const body: AgentEventBody = { kind: 'user_message', text, author, name }
  if (decision.kind === 'join') {
    await events.appendLocked(unit.db, place, [body])
    return { status: session.status }
  }
  await sessions.queueAgain(unit.db, workspaceId, sessionId)
  await events.appendLocked(unit.db, place, [{ kind: 'status', status: 'queued', reason: '' }, body])
  await unit.queue.send(unit.db, 'agent-turn', { sessionId })
  return { status: 'queued' }
}

/** At once: whoever works on it finds that it is not its any more. One that is over stays what it is. */
export async function stopAgent(ctx: Context, input: { readonly sessionId: string }): Promise<{ status: AgentStatus }> {
  const workspace = workspaceOf(ctx)
  return await mutate(ctx, async (unit) => {
    const found = await sessions.find(unit.db, workspace.id, input.sessionId)
    const session = found && (await sessions.lockTree(unit.db, workspace.id, found))
    if (session === null) throw noSuchSession(input.sessionId)
    if (decideStop(session.status) === 'as it is') return { status: session.status }
    await endTurn(unit, session, { status: 'stopped', reason: `By ${actorName(ctx.actor).name}.` })
    unit.record('agent_stopped', { session: session.id, agent: session.agent })
    return { status: 'stopped' }
  })
}

/**
 * What the worker that holds the session writes: the records, the agent's texts to Slack, and an audit record for each
 * tool that others see the effect of. Throws LostSession, having written nothing, when it does not hold it.
 */
export async function writeRecords(
  unit: Unit,
  session: AgentSession,
  hold: AgentHold,
  bodies: readonly AgentEventBody[],
): Promise<AgentEvent[]> {
  // The turn may end with it in this transaction, which takes the locks of the tree from the top.
  const isLast = bodies.some((one) => one.kind === 'assistant' && one.calls.length === 0)
  if (isLast && session.parentId !== null) await sessions.lockTree(unit.db, session.workspaceId, session)
  const written = await events.append(unit.db, hold, bodies)
  await postTexts(unit, session, written)
  for (const one of written) {
    if (one.kind !== 'tool_start') continue
    if (isToolName(one.tool) && traitsOf(one.tool).audited !== true) continue
    const { id, agent, actor } = session
    unit.record('agent_tool_used', { session: id, agent, tool: one.tool, call: one.call }, undefined, auditActor(actor))
  }
  return written
}

export const noSuchSession = (id: string): Error => notFound(`No agent session ${quoted(id)} in this workspace.`)

/** Whose rights the tools will have. As the system itself only the operator of the host starts one, by the command line. */
function sessionActor(actor: Actor): SessionActor {
  switch (actor.kind) {
    case 'person':
      return { kind: 'person', personId: actor.person.id, email: actor.person.email }
    case 'key':
    case 'personal-key':
      return { kind: 'key', keyId: actor.key.id, name: actor.key.name, email: actor.key.makerEmail }
    case 'system':
      return { kind: 'operator', name: actor.name }
    case 'anonymous':
      throw new Error('nobody starts a session without saying who they are')
  }
}

/** As far as the audit log names somebody. */
function auditActor(actor: SessionActor): Actor {
  if (actor.kind === 'service' || actor.kind === 'operator') return { kind: 'system', name: actor.name }
  const person = { id: 0, email: actor.email, name: '', memberships: [], runsAccount: false }
  if (actor.kind === 'person') return { kind: 'person', person: { ...person, id: actor.personId }, sessionId: 0 }
  const { keyId: id, name, email: makerEmail } = actor
  const key = { id, kind: 'workspace', name, client: null, capabilities: [], workspaceId: null } as const
  return { kind: 'key', key: { ...key, makerId: null, makerEmail } }
}
