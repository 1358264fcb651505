// NOTIFY as a hint: lost while nobody listens and through some poolers, so whoever listens also looks from time to time.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { type Connection, connect } from './connection.ts'

const AGAIN_MS = 1000

/** Listens until it is stopped, through lost connections. The channels are names of ours, never somebody's text. */
export function listen(
  connection: Connection,
  to: { readonly name: string; readonly channels: readonly string[] },
  onNotice: (channel: string, payload: string) => void,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let client: pg.Client | undefined
  const once = async (): Promise<void> => {
    const opened = await connect(connection, { applicationName: `yardmaster ${to.name}`, queryTimeoutMs: 10_000 })
    client = opened
    const ended = new Promise<void>((resolve) => opened.once('end', resolve))
    opened.on('notification', ({ channel, payload = '' }) => onNotice(channel, payload))
    for (const channel of to.channels) await opened.query(`/* listen */ listen ${channel}`)
    if (!stopping.signal.aborted) await ended
    await opened.end()
  }
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await once().catch((error: unknown) => {
        if (!stopping.signal.aborted) onError(error)
      })
      await pause(AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await client?.end().catch(() => {})
      await loop
    },
  }
}
