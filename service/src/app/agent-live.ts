// A session as it changes, for whoever watches it.
import { setTimeout as pause } from 'node:timers/promises'
import { isOver } from '../domain/agent-session.ts'
import type { AgentSessionView } from './agent-queries.ts'
import { getAgentSession } from './agent-queries.ts'
import type { Context } from './context.ts'

const LOOK_MS = 500

/**
 * The session with all its messages, then after each change with those that are new; ends with the turn. Refuses before
 * there is anything to iterate over.
 */
export async function watchAgentSession(
  ctx: Context,
  sessionId: string,
  signal: AbortSignal,
): Promise<AsyncIterable<AgentSessionView>> {
  const first = await getAgentSession(ctx, sessionId)
  return (async function* () {
    let view = first
    let told = 0
    for (;;) {
      yield { ...view, messages: view.messages.slice(told) }
      told = view.messages.length
      if (isOver(view.session.status)) return
      const before = markOf(view)
      do {
        if (!(await paused(signal))) return
        view = await getAgentSession(ctx, sessionId)
      } while (markOf(view) === before)
    }
  })()
}

/** What a watcher is told about; messages are only ever added. */
const markOf = ({ session, messages, childSessionIds }: AgentSessionView): string =>
  JSON.stringify([
    session.status,
    session.reason,
    session.turn,
    session.steps,
    session.tokensIn,
    session.tokensOut,
    messages.length,
    childSessionIds.length,
  ])

/** False when nobody listens any longer. */
async function paused(signal: AbortSignal): Promise<boolean> {
  try {
    await pause(LOOK_MS, undefined, { signal })
    return true
  } catch {
    return false
  }
}
