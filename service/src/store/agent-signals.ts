// The turn of a session ended, perhaps under the hands of its worker, or there is a session to take (listen.ts).
import type { Connection } from './connection.ts'
import { listen } from './listen.ts'

export type AgentSignal = { readonly kind: 'ended'; readonly sessionId: string } | { readonly kind: 'waiting' }

const ENDED = 'yardmaster_agent_stop'

export const listenForSessions = (
  connection: Connection,
  onSignal: (signal: AgentSignal) => void,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } =>
  listen(
    connection,
    { name: 'agent signals', channels: [ENDED, 'yardmaster_agent'] },
    (channel, payload) => onSignal(channel === ENDED ? { kind: 'ended', sessionId: payload } : { kind: 'waiting' }),
    onError,
  )
