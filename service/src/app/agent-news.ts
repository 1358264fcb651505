// What others hear of a session: Slack gets each text of the agent, in their order; webhooks get each end of a turn.
import type { AgentEvent, AgentSession, SessionActor, TurnEnd } from '../domain/agent-session.ts'
import { isMessage } from '../domain/agent-session.ts'
import type { AgentReport, AgentText } from '../domain/messages/agent.ts'
import { AGENT_TEXT } from '../domain/messages/agent.ts'
import * as sessions from '../store/agent-sessions.ts'
import * as integrations from '../store/integrations.ts'
import * as webhooks from '../store/webhooks.ts'
import { queueDelivery } from './deliveries.ts'
import type { Unit } from './mutate.ts'

/** The texts of the agent among these records. */
export async function postTexts(unit: Unit, session: AgentSession, written: readonly AgentEvent[]): Promise<void> {
  if (session.slackChannel === '') return
  for (const one of written) {
    if (one.kind === 'assistant' && isMessage(one)) {
      await queueSlackMessage(unit, session, { text: one.text, key: String(one.seq) })
    }
  }
}

/**
 * One text, once for each key of the session, to where the trigger or the agent's file says. False where neither names a
 * channel, or the workspace has no Slack. What is posted is redacted by whoever writes it.
 */
export async function queueSlackMessage(
  unit: Unit,
  session: Pick<AgentSession, 'id' | 'workspaceId' | 'slackChannel' | 'slackThreadTs'>,
  message: { readonly text: string; readonly key: string },
): Promise<boolean> {
  const { id, workspaceId, slackChannel, slackThreadTs } = session
  if (slackChannel === '') return false
  const integration = await integrations.findByName(unit.db, workspaceId, 'slack')
  if (integration === null) return false
  const body: AgentText = { text: message.text, threadTs: slackThreadTs }
  await queueDelivery(unit, {
    workspaceId,
    channel: 'slack',
    integrationId: integration.id,
    address: slackChannel,
    event: AGENT_TEXT,
    causeKey: `agent ${id} ${message.key}`,
    line: `agent ${id}`,
    body,
  })
  return true
}

const ENDED = 'dinoai.run.completed'

/** After the row says that the turn ended. */
export async function announceTurnEnd(unit: Unit, session: sessions.LockedSession, end: TurnEnd): Promise<void> {
  const wanted = await webhooks.listFor(unit.db, session.workspaceId, ENDED)
  if (wanted.length === 0) return
  const times = await sessions.readTimes(unit.db, session.workspaceId, session.id)
  const actor = nameOf(session.actor)
  const body: AgentReport = {
    apiUrl: `${unit.settings.publicUrl}/graphql`,
    workspace: { uid: session.workspaceUid, name: session.workspaceName },
    agent: session.agent,
    session: {
      id: session.id,
      status: end.status,
      turn: session.turn,
      actor: actor.name,
      actorEmail: actor.email,
      reason: end.reason,
      ...times,
      branch: session.branch,
      commitHash: session.baseCommit,
      pullRequest: session.pullRequest,
      parentSessionId: session.parentId,
    },
  }
  for (const { id } of wanted) {
    await queueDelivery(unit, {
      workspaceId: session.workspaceId,
      channel: 'webhook',
      webhookId: id,
      event: ENDED,
      causeKey: `webhook ${id} ${ENDED} ${session.id} ${session.turn}`,
      body,
    })
  }
}

function nameOf(actor: SessionActor): { readonly name: string; readonly email: string } {
  if (actor.kind === 'person') return { name: actor.email, email: actor.email }
  return { name: actor.name, email: actor.kind === 'key' ? actor.email : '' }
}
