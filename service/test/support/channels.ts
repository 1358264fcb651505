// Channels over the real way out, to receivers on this machine.
import { randomUUID } from 'node:crypto'
import { outgoingHttp } from '../../src/adapters/outgoing-http.ts'
import type { Channel, Outgoing, SendResult } from '../../src/ports/channel.ts'
import { testClock } from './app.ts'

export const receiverHttp = (timeoutMs = 8000) => outgoingHttp({ allow: ['127.0.0.1'], allowHttp: true, timeoutMs })

export const channelDeps = (timeoutMs?: number) => ({ http: receiverHttp(timeoutMs), clock: testClock() })

const never = new AbortController().signal

export const outgoing = (one: Partial<Outgoing>): Outgoing => ({
  id: randomUUID(),
  event: 'failed',
  address: '',
  body: {},
  settings: {},
  secrets: {},
  earlier: [],
  ...one,
})

/** Sends one after the other as the deliveries of one line: each knows what those before it gave back. */
export function line(channel: Channel, common: Partial<Outgoing>) {
  const earlier: { event: string; result: Readonly<Record<string, unknown>> }[] = []
  const send = async (one: Partial<Outgoing>): Promise<SendResult> => {
    const out = outgoing({ ...common, ...one, earlier: [...earlier] })
    const sent = await channel.send(out, never)
    // Between two tries the result went through the database.
    if (sent.kind === 'delivered' && sent.result !== undefined)
      earlier.push({ event: out.event, result: JSON.parse(JSON.stringify(sent.result)) })
    return sent
  }
  return { send, earlier }
}

export const sendOnce = (channel: Channel, one: Partial<Outgoing>): Promise<SendResult> =>
  channel.send(outgoing(one), never)
