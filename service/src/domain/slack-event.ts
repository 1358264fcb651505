// What Slack's Events API sends, in our words, and whether it comes from Slack at all.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { clean, field } from './foreign-json.ts'
import type { HookHeaders } from './hook-signature.ts'

/** As Slack asks for: what is older is a replay. */
export const SLACK_WINDOW_SECONDS = 300

/** Version 0 of Slack's signatures: over the time and the body as it came. */
export function isSignedBySlack(secret: string, headers: HookHeaders, body: Buffer, now: Date): boolean {
  const stamp = headers['x-slack-request-timestamp'] ?? ''
  if (secret === '' || !/^\d{1,12}$/.test(stamp)) return false
  if (Math.abs(now.getTime() / 1000 - Number(stamp)) > SLACK_WINDOW_SECONDS) return false
  const mac = createHmac('sha256', secret).update(`v0:${stamp}:`).update(body).digest('hex')
  return same(headers['x-slack-signature'] ?? '', `v0=${mac}`)
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

export type SlackEvent =
  | { readonly kind: 'challenge'; readonly challenge: string }
  | {
      readonly kind: 'message'
      readonly id: string
      readonly channel: string
      readonly threadTs: string
      readonly user: string
      readonly text: string
    }
  /** Nothing that concerns us: no thread, a bot's, an edit, another event. */
  | { readonly kind: 'other' }

const OTHER: SlackEvent = { kind: 'other' }
const LONGEST_TEXT = 40_000

export function readSlackEvent(body: unknown): SlackEvent {
  const text = (value: unknown, name: string, most = 255): string => clean(field(value, name), most)
  if (text(body, 'type') === 'url_verification') {
    return { kind: 'challenge', challenge: text(body, 'challenge') }
  }
  const event = field(body, 'event')
  const type = text(event, 'type')
  if (text(body, 'type') !== 'event_callback' || (type !== 'message' && type !== 'app_mention')) return OTHER
  // What an app posts, ours first of all, would be answered for ever.
  if (field(event, 'bot_id') !== undefined || field(event, 'bot_profile') !== undefined) return OTHER
  const subtype = text(event, 'subtype')
  if (subtype !== '' && subtype !== 'thread_broadcast' && subtype !== 'file_share') return OTHER
  const message = {
    id: text(body, 'event_id'),
    channel: text(event, 'channel'),
    threadTs: text(event, 'thread_ts'),
    user: text(event, 'user'),
    text: text(event, 'text', LONGEST_TEXT),
  }
  const isWhole = Object.values(message).every((one) => one.trim() !== '')
  // The mention of the app in a thread comes as both events; one of them is enough.
  return isWhole && type === 'message' ? { kind: 'message', ...message } : OTHER
}
