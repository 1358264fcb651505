// A receiver of webhooks that reads the Standard Webhooks specification for itself: it shares no code with what signs.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly id: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly body: any
}

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
  readonly received: readonly Received[]
  /** Ids that were accepted, each once: a repetition is told by its id. */
  readonly accepted: ReadonlySet<string>
  /** What it does with the next requests; null is to verify and take them. */
  behave: ((response: ServerResponse) => void) | null
}

const TOLERANCE_SECONDS = 300

/**
 * Throws when the message is not to be believed.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifyWebhook(
  secret: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  payload: string,
  now: Date,
): void {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((one) => headers[`webhook-${one}`])
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string')
    throw new Error('a header is missing')
  if (id.includes('.')) throw new Error('an id must not hold a full stop')
  const age = Math.abs(now.getTime() / 1000 - Number(timestamp))
  if (!/^\d+$/.test(timestamp) || age > TOLERANCE_SECONDS) throw new Error('too old, or from the future')
  if (!secret.startsWith('whsec_')) throw new Error('not a secret')
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  if (key.length < 24 || key.length > 64) throw new Error('a secret has 24 to 64 bytes')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(payload).digest()
  const good = signatures.split(' ').some((one) => {
    const [version, signature] = one.split(',')
    const given = Buffer.from(signature ?? '', 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!good) throw new Error('no signature fits')
}

export async function webhookReceiver(options: {
  readonly secret: () => string
  readonly now: () => Date
}): Promise<WebhookReceiver> {
  const received: Received[] = []
  const accepted = new Set<string>()
  const state: { behave: WebhookReceiver['behave'] } = { behave: null }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { headers } = request
      received.push({ id: String(headers['webhook-id']), headers, text, body: JSON.parse(text) })
      if (state.behave !== null) return state.behave(response)
      try {
        verifyWebhook(options.secret(), headers, text, options.now())
        accepted.add(String(headers['webhook-id']))
        response.writeHead(204).end()
      } catch (error) {
        response.writeHead(401).end(String(error))
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    accepted,
    get behave() {
      return state.behave
    },
    set behave(behave) {
      state.behave = behave
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
