// Messages that people write in the thread of a session. The signing secret of the workspace's Slack app is all that they
// are known by: whatever is wrong with it, the answer is the same. They steer a session and give it no rights: its tools
// keep those of whoever started it.
import { AppError } from '../domain/errors.ts'
import { readJson } from '../domain/foreign-json.ts'
import type { HookHeaders } from '../domain/hook-signature.ts'
import { isSignedBySlack, readSlackEvent } from '../domain/slack-event.ts'
import * as integrations from '../store/integrations.ts'
import * as pulls from '../store/pull-requests.ts'
import * as threads from '../store/slack-threads.ts'
import * as workspaces from '../store/workspaces.ts'
import { addMessage } from './agent-sessions.ts'
import type { App } from './context.ts'
import { systemContext } from './context.ts'
import { mutate } from './mutate.ts'

export interface InboundSlack {
  readonly workspaceUid: string
  readonly headers: HookHeaders
  readonly body: Buffer
}

export interface SlackAnswer {
  readonly status: 200 | 400 | 401 | 409
  readonly message: string
  readonly challenge?: string
  /** That took the message. */
  readonly sessionId?: string
}

const UNKNOWN: SlackAnswer = { status: 401, message: 'No workspace takes events here with this signature.' }
const IGNORED: SlackAnswer = { status: 200, message: 'Nothing to do.' }

export async function takeSlackEvent(app: App, { workspaceUid, headers, body }: InboundSlack): Promise<SlackAnswer> {
  const workspace = await workspaces.findByUid(app.db, workspaceUid)
  const found = workspace && (await integrations.findByName(app.db, workspace.id, 'slack'))
  const opened = found && (await integrations.open(app.db, app.vault, workspace.id, found.id))
  const secret = opened?.secrets.signingSecret ?? ''
  if (!isSignedBySlack(secret, headers, body, app.clock.now()) || workspace === null) return UNKNOWN
  const json = readJson(body.toString())
  if (json === undefined) return { status: 400, message: 'The body is no JSON.' }
  const event = readSlackEvent(json)
  if (event.kind === 'challenge') return { status: 200, message: 'Welcome.', challenge: event.challenge }
  if (event.kind === 'other' || !workspace.agents) return IGNORED
  const place = { channel: event.channel, ts: event.threadTs }
  const sessionId = await threads.findSession(app.db, workspace.id, place)
  if (sessionId === null) return IGNORED
  const ctx = systemContext(app, 'slack', workspace)
  try {
    return await mutate(ctx, async (unit): Promise<SlackAnswer> => {
      if (!(await pulls.takeHook(unit.db, workspace.id, 'slack', event.id))) {
        return { status: 409, message: 'This event was taken before.' }
      }
      const message = {
        workspaceId: workspace.id,
        sessionId,
        text: event.text,
        author: 'slack',
        name: event.user,
      } as const
      await addMessage(unit, message)
      unit.record('agent_message_sent', { session: sessionId, slack_user: event.user })
      return { status: 200, message: 'Taken.', sessionId }
    })
  } catch (error) {
    // The session is over for good: nobody can mend that from Slack, and Slack would only send it again.
    if (error instanceof AppError && error.code === 'CONFLICT') return { ...IGNORED, message: error.message }
    throw error
  }
}
