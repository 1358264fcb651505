// Every end of a turn: by the loop, by a stop, by whoever finds that no worker began it or that one was lost. All that
// follows is in the same transaction: the last message, the parent's answer and its job, the children's end, the webhook,
// Slack, the request for healing.
import { cutCalls, hasNewMessages, openCalls } from '../domain/agent-conversation.ts'
import type { AgentEvent, AgentEventBody, AgentSession, TurnEnd } from '../domain/agent-session.ts'
import { decideLoss, decideWait, isMessage, mayFollow } from '../domain/agent-session.ts'
import * as events from '../store/agent-events.ts'
import { LostSession } from '../store/agent-events.ts'
import type { HeldLease } from '../store/agent-hold.ts'
import * as holds from '../store/agent-hold.ts'
import * as sessions from '../store/agent-sessions.ts'
import { announceTurnEnd, postTexts } from './agent-news.ts'
import { settleHealing } from './healing.ts'
import type { Unit } from './mutate.ts'

export type EndingSession = Pick<AgentSession, 'id' | 'workspaceId' | 'rootId' | 'parentId' | 'attempt'>

export interface EndOfTurn extends TurnEnd {
  /** The last message. Where it is left out, one is written that says how the turn ended, unless it completed and said something. */
  readonly text?: string | undefined
}

/**
 * Ends the turn, or goes on with the next one: a message that nobody answered yet keeps a session that would be completed
 * running. Throws LostSession when the session is over already or held in another attempt: then nothing changed.
 */
export async function endTurn(unit: Unit, of: EndingSession, end: EndOfTurn): Promise<'ended' | 'next turn'> {
  const session = await sessions.lockTree(unit.db, of.workspaceId, of)
  if (session === null || session.attempt !== of.attempt || !mayFollow(session.status, end.status)) {
    throw new LostSession({ sessionId: of.id, attempt: of.attempt })
  }
  const journal = await events.list(unit.db, of.workspaceId, of.id)
  if (end.status === 'completed' && hasNewMessages(journal)) {
    await sessions.nextTurn(unit.db, of.workspaceId, of.id)
    return 'next turn'
  }
  await endLocked(unit, session, end, journal)
  if (end.status === 'stopped' || end.status === 'failed') await stopBelow(unit, session)
  return 'ended'
}

async function endLocked(
  unit: Unit,
  session: sessions.LockedSession,
  end: EndOfTurn,
  journal: readonly AgentEvent[],
): Promise<void> {
  const { workspaceId, id } = session
  const written = await events.appendLocked(unit.db, { workspaceId, sessionId: id }, lastRecords(session, end, journal))
  await sessions.end(unit.db, workspaceId, id, end)
  await postTexts(unit, session, written)
  await answerParent(unit, session, end)
  await announceTurnEnd(unit, session, end)
  await settleHealing(unit, session, end.reason)
}

/** Under the lock of the tree's root: from the top down. Their parent is over, so nobody waits for what they say. */
async function stopBelow(unit: Unit, { workspaceId, id }: sessions.LockedSession): Promise<void> {
  for (const below of await sessions.listGoingBelow(unit.db, workspaceId, id)) {
    const session = await sessions.lock(unit.db, workspaceId, below.id)
    if (session === null || !mayFollow(session.status, 'stopped')) continue
    const journal = await events.list(unit.db, workspaceId, below.id)
    await endLocked(unit, session, { status: 'stopped', reason: 'The session that called it has ended.' }, journal)
  }
}

/** A result for each call that nobody will run any more, the last message, and how it ended. */
function lastRecords(session: AgentSession, end: EndOfTurn, journal: readonly AgentEvent[]): AgentEventBody[] {
  const hasSpoken = journal.some((one) => one.turn === session.turn && one.kind === 'assistant' && isMessage(one))
  const text = end.text ?? (end.status === 'completed' && hasSpoken ? null : LAST_WORDS[end.status](end.reason))
  const words: AgentEventBody[] = text === null ? [] : [{ kind: 'assistant', text, calls: [], usage: null, model: '' }]
  return [...cutCalls(openCalls(journal)), ...words, { kind: 'status', status: end.status, reason: end.reason }]
}

const LAST_WORDS: Readonly<Record<TurnEnd['status'], (reason: string) => string>> = {
  completed: () => 'Done.',
  failed: (reason) => `This turn failed. ${reason}`.trim(),
  stopped: (reason) => `Stopped. ${reason}`.trim(),
  expired: (reason) => `The session expired. ${reason}`.trim(),
}

/** Once: a child that is written to later and ends again answers nobody. */
async function answerParent(unit: Unit, session: sessions.LockedSession, end: TurnEnd): Promise<void> {
  const { workspaceId, parentId, parentCall } = session
  if (parentId === null || parentCall === null) return
  const parent = await sessions.lock(unit.db, workspaceId, parentId)
  if (parent === null || parent.status !== 'running') return
  const place = { workspaceId, sessionId: parentId }
  if (await events.hasChildResult(unit.db, { ...place, call: parentCall })) return
  await events.appendLocked(unit.db, place, [
    { kind: 'child_result', call: parentCall, child: session.id, status: end.status },
  ])
  if (await sessions.wake(unit.db, workspaceId, parentId)) {
    await unit.queue.send(unit.db, 'agent-turn', { sessionId: parentId })
  }
}

/**
 * For whoever finds a lease that ran out: the session goes to another worker, or fails when that happened too often at the
 * same step. Null when its worker was heard of again.
 */
export async function loseWorker(
  unit: Unit,
  lease: Pick<HeldLease, 'sessionId' | 'workspaceId' | 'attempt'> & { readonly leaseUntil?: string },
): Promise<'again' | 'failed' | null> {
  const found = await sessions.find(unit.db, lease.workspaceId, lease.sessionId)
  if (found === null) return null
  await sessions.lockTree(unit.db, lease.workspaceId, found)
  const lost = await holds.lose(unit.db, lease)
  if (lost === null) return null
  const end = decideLoss(lost.losses)
  if (end === null) {
    await unit.queue.send(unit.db, 'agent-turn', { sessionId: lease.sessionId })
    return 'again'
  }
  await endTurn(unit, { ...found, attempt: lease.attempt }, end)
  return 'failed'
}

/** For whoever finds a session that waits for long: ends it when it waited too long. Gives how. */
export async function endUnstarted(
  unit: Unit,
  of: { readonly workspaceId: number; readonly id: string },
): Promise<TurnEnd['status'] | null> {
  const found = await sessions.find(unit.db, of.workspaceId, of.id)
  if (found === null) return null
  const session = await sessions.lockTree(unit.db, of.workspaceId, found)
  const end = session && decideWait(session, session.nowUs)
  if (session === null || end === null) return null
  await endTurn(unit, session, end)
  return end.status
}
