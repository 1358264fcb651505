// Slack's Web API: auth.test, chat.postMessage, chat.update, with the limits of Block Kit. Faults are answered with 200.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface SlackPosted {
  readonly channel: string
  readonly ts: string
  readonly threadTs: string | null
  readonly isBroadcast: boolean
  text: string
  blocks: readonly unknown[]
  edits: number
}

export interface SlackReceiver extends Receiver {
  readonly token: string
  readonly messages: readonly SlackPosted[]
}

const TOKEN = 'xoxb-1234567890-abcdefghij'
const CHANNELS: Readonly<Record<string, string>> = { '#alerts': 'C0ALERTS01', '#data': 'C0DATA0001' }

const plainText = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most), emoji: z.boolean().optional() })
/** Anything between < and > is a mention, a link or a command; we send none. */
const mrkdwn = (most: number) =>
  z.strictObject({
    type: z.literal('mrkdwn'),
    text: z
      .string()
      .min(1)
      .max(most)
      .regex(/^[^<>]*$/, 'a bare < or >')
      .regex(/^(?:[^&]|&(?:amp|lt|gt);)*$/, 'a bare &'),
  })

const block = z.union([
  z.strictObject({ type: z.literal('header'), text: plainText(150) }),
  z.strictObject({ type: z.literal('section'), text: mrkdwn(3000) }),
  z.strictObject({ type: z.literal('section'), fields: z.array(mrkdwn(2000)).min(1).max(10) }),
  z.strictObject({ type: z.literal('context'), elements: z.array(mrkdwn(3000)).min(1).max(10) }),
  z.strictObject({
    type: z.literal('actions'),
    elements: z
      .array(
        z.strictObject({
          type: z.literal('button'),
          text: plainText(75),
          url: z.url().max(3000),
          action_id: z.string().min(1).max(255),
          style: z.enum(['primary', 'danger']).optional(),
        }),
      )
      .min(1)
      .max(25),
  }),
])

const content = { text: mrkdwn(40_000).shape.text, blocks: z.array(block).min(1).max(50) }
const post = z.strictObject({
  channel: z.string().min(1),
  text: content.text,
  // A message of plain text has none.
  blocks: content.blocks.optional(),
  unfurl_links: z.boolean().optional(),
  unfurl_media: z.boolean().optional(),
  thread_ts: z
    .string()
    .regex(/^\d+\.\d{6}$/)
    .optional(),
  reply_broadcast: z.boolean().optional(),
})
const update = z.strictObject({ channel: z.string().min(1), ts: z.string().regex(/^\d+\.\d{6}$/), ...content })

const fault = (error: string, detail = ''): Answer => ({
  status: 200,
  json: { ok: false, error, ...(detail && { response_metadata: { messages: [detail] } }) },
})

export async function slackReceiver(): Promise<SlackReceiver> {
  const messages: SlackPosted[] = []

  const handle = (asked: Asked): Answer => {
    const given = asked.headers.authorization
    if (given === undefined) return fault('not_authed')
    if (given !== `Bearer ${TOKEN}`) return fault('invalid_auth')
    if (asked.method !== 'POST') return fault('invalid_post_type')
    switch (asked.path) {
      case '/auth.test':
        return { status: 200, json: { ok: true, url: 'https://example.slack.com/', user_id: 'U0BOT' } }
      case '/chat.postMessage':
        return posted(asked)
      case '/chat.update':
        return updated(asked)
      default:
        return fault('unknown_method')
    }
  }

  const posted = (asked: Asked): Answer => {
    const read = parseBody(asked, post)
    if ('fault' in read) return fault('invalid_blocks', read.fault)
    const { body } = read
    const channel = CHANNELS[body.channel] ?? Object.values(CHANNELS).find((id) => id === body.channel)
    if (channel === undefined) return fault('channel_not_found')
    const { text, blocks = [] } = body
    if (JSON.stringify(blocks).length > 13_200) return fault('msg_blocks_too_long')
    if (body.thread_ts !== undefined && !messages.some((one) => one.ts === body.thread_ts))
      return fault('thread_not_found')
    const ts = `17000${String(messages.length).padStart(5, '0')}.000100`
    const isBroadcast = body.reply_broadcast === true
    messages.push({ channel, ts, threadTs: body.thread_ts ?? null, isBroadcast, text, blocks, edits: 0 })
    return { status: 200, json: { ok: true, channel, ts, message: { text, ts, type: 'message' } } }
  }

  const updated = (asked: Asked): Answer => {
    const read = parseBody(asked, update)
    if ('fault' in read) return fault('invalid_blocks', read.fault)
    const { channel, ts, text, blocks } = read.body
    // Unlike posting, this takes no name of a channel.
    if (!Object.values(CHANNELS).includes(channel)) return fault('channel_not_found')
    const message = messages.find((one) => one.ts === ts && one.channel === channel)
    if (message === undefined) return fault('message_not_found')
    Object.assign(message, { text, blocks, edits: message.edits + 1 })
    return { status: 200, json: { ok: true, channel, ts, text } }
  }

  return Object.assign(await startReceiver(handle), { token: TOKEN, messages })
}
