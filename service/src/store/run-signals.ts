// A run was canceled, or there is one to take (listen.ts).
import type { Connection } from './connection.ts'
import { listen } from './listen.ts'

export type RunSignal = { readonly kind: 'canceled'; readonly runId: number } | { readonly kind: 'waiting' }

const CANCELED = 'yardmaster_cancel'

export const listenForRuns = (
  connection: Connection,
  onSignal: (signal: RunSignal) => void,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } =>
  listen(
    connection,
    { name: 'run signals', channels: [CANCELED, 'yardmaster_run'] },
    (channel, payload) =>
      onSignal(channel === CANCELED ? { kind: 'canceled', runId: Number(payload) } : { kind: 'waiting' }),
    onError,
  )
