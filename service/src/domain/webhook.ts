// Webhooks by the Standard Webhooks scheme: what may be asked for, their secrets, and the signature of a delivery.
import { createHmac, randomBytes } from 'node:crypto'
import { invalidInput } from './errors.ts'
import type { WebhookEvent } from './messages/webhook.ts'
import { WEBHOOK_EVENTS } from './messages/webhook.ts'
import { hasControl, quoted } from './text.ts'

const LONGEST_URL = 2048
const LONGEST_DESCRIPTION = 500
const PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Whether the address may be reached is found out when it is: names change where they lead. */
export function parseWebhookUrl(text: string): string {
  const given = text.trim()
  const url = URL.canParse(given) ? new URL(given) : null
  if (given.length > LONGEST_URL) throw invalidInput(`url: at most ${LONGEST_URL} characters.`)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalidInput('url: an https:// address, such as https://example.com/hooks.')
  if (url.username !== '' || url.password !== '')
    throw invalidInput('url: without credentials. Receivers know us by the signature.')
  return url.href
}

export function parseWebhookEvents(texts: readonly string[]): WebhookEvent[] {
  if (texts.length === 0) throw invalidInput(`events: at least one of ${WEBHOOK_EVENTS.join(', ')}.`)
  const unknown = texts.find((one) => !(WEBHOOK_EVENTS as readonly string[]).includes(one))
  if (unknown !== undefined) {
    throw invalidInput(`events: no event ${quoted(unknown)}. Allowed: ${WEBHOOK_EVENTS.join(', ')}.`)
  }
  return WEBHOOK_EVENTS.filter((one) => texts.includes(one))
}

export function parseWebhookDescription(text: string): string {
  const given = text.trim()
  if (given.length > LONGEST_DESCRIPTION || hasControl(given))
    throw invalidInput(`description: one line of up to ${LONGEST_DESCRIPTION} characters.`)
  return given
}

export const newWebhookSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

/** The value of `webhook-signature`: one signature for each secret, the newest first. */
export function webhookSignature(
  secrets: readonly string[],
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const signed = `${message.id}.${message.timestamp}.${message.body}`
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
      return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    })
    .join(' ')
}
