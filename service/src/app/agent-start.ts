// Starting a session: by a person or key, by another session (a child), or by the service (self-healing). A call of the
// parent, and a request for healing, have one session each: asking again gives the same one.
import type { AgentDefinition } from '../domain/agent-definition.ts'
import { narrowBudget } from '../domain/agent-policy.ts'
import type { AgentBudget, AgentEventBody, AgentSession, MessageAuthor, SessionActor } from '../domain/agent-session.ts'
import { DEFAULT_BUDGET, MOST_CHILDREN, MOST_DEPTH } from '../domain/agent-session.ts'
import { conflict } from '../domain/errors.ts'
import { newUid } from '../domain/ids.ts'
import { quoted } from '../domain/text.ts'
import * as events from '../store/agent-events.ts'
import * as policies from '../store/agent-policy.ts'
import * as sessions from '../store/agent-sessions.ts'
import type { Unit } from './mutate.ts'

export interface StartSession {
  readonly workspaceId: number
  readonly environmentId: number
  readonly agent: string
  readonly definition: AgentDefinition
  readonly definitionCommit: string
  readonly baseBranch: string
  readonly modelFamily: string
  /** Null: it begins from its role, goal and backstory alone. */
  readonly message: { readonly text: string; readonly author: MessageAuthor; readonly name: string } | null
  readonly actor: SessionActor
  /** With the call that it answers. */
  readonly parent: { readonly session: AgentSession; readonly call: string } | null
  readonly slack: { readonly channel: string; readonly threadTs: string | null } | null
  readonly healingRequestId: number | null
  /** Of the deployment; the workspace's policy narrows it. A child has its parent's. */
  readonly budget?: AgentBudget | undefined
}

/** In the caller's transaction, with the job that says that it waits. */
export async function startSession(unit: Unit, input: StartSession): Promise<string> {
  const { workspaceId, parent } = input
  // Two calls at once must not both be the last one that is allowed: the tree is locked before anything is counted.
  const locked = parent === null ? null : await sessions.lockTree(unit.db, workspaceId, parent.session)
  const known = await findKnown(unit, input)
  if (known !== null) return known
  if (parent !== null) await checkParent(unit, input, locked)
  const policy = await policies.find(unit.db, workspaceId)
  const id = newUid()
  const made = await sessions.insert(unit.db, {
    ...input,
    id,
    parent: parent && { ...parent.session, call: parent.call },
    slackChannel: input.slack?.channel ?? input.definition.slackChannel,
    slackThreadTs: input.slack?.threadTs ?? '',
    budget: parent?.session.budget ?? narrowBudget(input.budget ?? DEFAULT_BUDGET, policy.budget),
  })
  // Another one was quicker with the same call or request; it has committed, or nothing would have been in the way.
  if (!made) return (await findKnown(unit, input))!
  const bodies: AgentEventBody[] = [{ kind: 'status', status: 'queued', reason: '' }]
  if (input.message !== null) bodies.push({ kind: 'user_message', ...input.message })
  await events.appendLocked(unit.db, { workspaceId, sessionId: id }, bodies)
  await unit.queue.send(unit.db, 'agent-turn', { sessionId: id })
  return id
}

async function findKnown(unit: Unit, { workspaceId, parent, healingRequestId }: StartSession): Promise<string | null> {
  if (parent !== null) {
    return await sessions.findByCall(unit.db, workspaceId, { parentId: parent.session.id, call: parent.call })
  }
  return healingRequestId === null ? null : await sessions.findByHealing(unit.db, workspaceId, healingRequestId)
}

async function checkParent(
  unit: Unit,
  { workspaceId, agent }: StartSession,
  parent: sessions.LockedSession | null,
): Promise<void> {
  if (parent === null || parent.status !== 'running') throw conflict('The session that calls is not running any more.')
  if (parent.depth + 1 > MOST_DEPTH) {
    throw conflict(`Agents call each other at most ${MOST_DEPTH} deep: do it in this session instead.`)
  }
  if ((await sessions.countChildren(unit.db, workspaceId, parent.id)) >= MOST_CHILDREN) {
    throw conflict(`A session starts at most ${MOST_CHILDREN} others: do it in this session instead.`)
  }
  const above = await sessions.listAgentsAbove(unit.db, workspaceId, parent.id)
  if (above.includes(agent)) throw conflict(`The agent ${quoted(agent)} waits for this session: calling it goes round.`)
}
