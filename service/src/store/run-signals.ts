// NOTIFY as a hint: a run was canceled, or there is one to take. Lost while nobody listens and through some poolers, so
// whoever listens also looks from time to time.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { type Connection, connect } from './connection.ts'

export type RunSignal = { readonly kind: 'canceled'; readonly runId: number } | { readonly kind: 'waiting' }

const AGAIN_MS = 1000

/** Listens until it is stopped, through lost connections. */
export function listenForRuns(
  connection: Connection,
  onSignal: (signal: RunSignal) => void,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let client: pg.Client | undefined
  const listen = async (): Promise<void> => {
    const opened = await connect(connection, { applicationName: 'yardmaster run signals', queryTimeoutMs: 10_000 })
    client = opened
    const ended = new Promise<void>((resolve) => opened.once('end', resolve))
    opened.on('notification', ({ channel, payload = '' }) => {
      if (channel === 'yardmaster_cancel') onSignal({ kind: 'canceled', runId: Number(payload) })
      else onSignal({ kind: 'waiting' })
    })
    await opened.query('/* run_listen */ listen yardmaster_cancel')
    await opened.query('/* run_listen */ listen yardmaster_run')
    if (!stopping.signal.aborted) await ended
    await opened.end()
  }
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await listen().catch((error: unknown) => {
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
