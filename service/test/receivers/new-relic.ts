// New Relic's Event API: custom events of one account.
import { z } from 'zod'
import { type Answer, type Asked, parseBody, type Receiver, startReceiver } from './receiver.ts'

export interface NewRelicReceiver extends Receiver {
  readonly licenseKey: string
  readonly accountId: string
  readonly events: readonly Readonly<Record<string, string | number>>[]
}

const LICENSE_KEY = 'nrlicense0123456789abcdef0123456789NRAL'
const ACCOUNT = '1234567'

const event = z
  .record(
    z
      .string()
      .max(255)
      .regex(/^[a-zA-Z0-9_:.]+$/),
    z.union([z.string().max(4096), z.number()]),
  )
  .refine(
    (one) => typeof one.eventType === 'string' && /^[a-zA-Z0-9:_]{1,255}$/.test(one.eventType),
    'eventType is needed',
  )
  .refine((one) => Object.keys(one).length <= 255, 'at most 254 attributes')
  .refine((one) => !('accountId' in one) && !('appId' in one), 'a reserved attribute')

export async function newRelicReceiver(): Promise<NewRelicReceiver> {
  const events: Record<string, string | number>[] = []
  const handle = (asked: Asked): Answer => {
    if (asked.headers['api-key'] !== LICENSE_KEY)
      return { status: 403, json: { error: 'Missing or invalid license key.' } }
    if (asked.path !== `/v1/accounts/${ACCOUNT}/events`)
      return { status: 403, json: { error: 'The key is of another account.' } }
    if (asked.method !== 'POST') return { status: 405, json: { error: 'Only POST.' } }
    if (Buffer.byteLength(asked.body) > 1_000_000) return { status: 413, json: { error: 'Content too large.' } }
    const read = parseBody(asked, z.array(event).min(1).max(2000))
    if ('fault' in read) return { status: 400, json: { error: read.fault } }
    events.push(...read.body)
    return { status: 200, json: { success: true, uuid: '3a1c9dcb-0001-b000-0000-018d1b8b7b6d' } }
  }
  return Object.assign(await startReceiver(handle), { licenseKey: LICENSE_KEY, accountId: ACCOUNT, events })
}
