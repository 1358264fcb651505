// Messages by a bot: chat.postMessage and chat.update. Slack answers 200 also when it refuses. It has no key by which it
// would know a repetition: when its answer is lost, the next try posts again.
import type { AgentText } from '../../domain/messages/agent.ts'
import { AGENT_TEXT, agentSlackText } from '../../domain/messages/agent.ts'
import type { Notice } from '../../domain/messages/notice.ts'
import { noticeOf } from '../../domain/messages/notice.ts'
import { renderSlack, renderSlackUpdate } from '../../domain/messages/slack.ts'
import type { Channel, Outgoing, SendResult } from '../../ports/channel.ts'
import type { Api, ApiAnswer, ChannelDeps } from './api.ts'
import { apiBase, delivered, Ended, openApi, secretOf, settled, textAt } from './api.ts'

/** What passes by itself, of the errors that Slack documents for its methods. */
const PASSING = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'team_added_to_org',
])

/** Where an earlier message of the same run stands. */
interface Posted {
  readonly channel: string
  readonly ts: string
}

export function slackChannel(deps: ChannelDeps): Channel {
  return {
    kind: 'slack',
    send: (out, signal) => settled(() => send(openApi(deps, out, signal), out)),
  }
}

async function send(api: Api, out: Outgoing): Promise<SendResult> {
  const token = secretOf(out, 'token', 'Slack')
  const method = async (name: string, json: object): Promise<ApiAnswer> =>
    accepted(
      await api.call({
        method: 'POST',
        url: `${apiBase(out, 'https://slack.com/api')}/${name}`,
        headers: { authorization: `Bearer ${token}` },
        json,
      }),
    )
  if (out.event === AGENT_TEXT) return posted(await method('chat.postMessage', agentMessage(out)))
  const notice = noticeOf(out.event, out.body)
  if (notice.event === 'test' && out.address === '') return delivered(await method('auth.test', {}))
  const late = lateOf(out)
  // First what can be repeated: the notice that the run was late says how it ended. It may be gone by now.
  if (late !== null) await updated(method, late, notice)
  const answer = await method('chat.postMessage', {
    channel: late?.channel ?? channelOf(out.address),
    ...renderSlack(notice),
    ...PLAIN,
    ...(late !== null && { thread_ts: late.ts, reply_broadcast: notice.event === 'failed' }),
  })
  return posted(answer, late?.ts)
}

const PLAIN = { unfurl_links: false, unfurl_media: false }

function posted(answer: ApiAnswer, thread?: string): SendResult {
  const channel = textAt(answer.json, 'channel')
  const ts = textAt(answer.json, 'ts')
  return delivered(answer, channel && ts ? { channel, ts, thread: thread ?? ts } : {})
}

/** In the thread of the trigger; else the first text of the session begins one. */
function agentMessage(out: Outgoing): object {
  const { text, threadTs } = out.body as AgentText
  const first = out.earlier.find((one) => one.event === AGENT_TEXT)?.result.ts
  const thread = threadTs || (typeof first === 'string' ? first : '')
  return {
    channel: channelOf(out.address),
    text: agentSlackText(text),
    ...PLAIN,
    ...(thread !== '' && { thread_ts: thread }),
  }
}

async function updated(
  method: (name: string, json: object) => Promise<ApiAnswer>,
  late: Posted,
  notice: Notice,
): Promise<void> {
  try {
    await method('chat.update', { channel: late.channel, ts: late.ts, ...renderSlackUpdate(notice) })
  } catch (error) {
    if (!(error instanceof Ended) || error.result.kind !== 'refused') throw error
  }
}

function lateOf(out: Outgoing): Posted | null {
  const late = out.earlier.findLast((one) => one.event === 'sla')?.result
  return typeof late?.channel === 'string' && typeof late.ts === 'string'
    ? { channel: late.channel, ts: late.ts }
    : null
}

/** `alerts` and `#alerts` are the same; an id stays as it is. */
const channelOf = (address: string): string =>
  /^[CDGUW][A-Z0-9]{7,}$/.test(address) || /^[#@]/.test(address) ? address : `#${address}`

function accepted(answer: ApiAnswer): ApiAnswer {
  const { json, status, text } = answer
  if (typeof json === 'object' && json !== null && (json as { ok?: unknown }).ok === true) return answer
  const error = textAt(json, 'error')
  // No word of Slack's: something in between answered, and that may pass.
  const kind = error === undefined || PASSING.has(error) ? 'again' : 'refused'
  throw new Ended({ kind, status, answer: error === undefined ? text : (HELP[error] ?? error) })
}

/** What to do about the usual ones. */
const HELP: Readonly<Record<string, string>> = {
  invalid_auth: 'invalid_auth: Slack does not know this token. Give the integration the token of the installed app.',
  not_in_channel: 'not_in_channel: invite the app to the channel, or give it the scope chat:write.public.',
  channel_not_found: 'channel_not_found: there is no such channel, or it is private and the app was not invited.',
  missing_scope: 'missing_scope: the app needs the scope chat:write.',
}
