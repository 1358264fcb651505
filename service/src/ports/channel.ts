// A way out of the service: takes one delivery to its receiver, once. Whether and when it is tried again is decided by
// whoever calls, from what this says. The same delivery has the same id over all tries, and a channel passes it on
// wherever the receiver can tell a repetition by it.

export const CHANNELS = [
  'webhook',
  'slack',
  'mail',
  'teams',
  'pagerduty',
  'incident_io',
  'datadog',
  'new_relic',
  'github',
  'gitlab',
] as const

export type ChannelKind = (typeof CHANNELS)[number]

export interface Outgoing {
  /** Of the delivery, a UUID. */
  readonly id: string
  readonly event: string
  readonly address: string
  readonly body: unknown
  /** From the integration or webhook. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>>
  /** What earlier deliveries of the same line gave back, oldest first, such as the id of the incident that is open. */
  readonly earlier: readonly EarlierResult[]
}

export interface EarlierResult {
  readonly event: string
  readonly result: Readonly<Record<string, unknown>>
}

export type SendResult =
  | {
      readonly kind: 'delivered'
      readonly status: number | null
      readonly answer: string
      readonly result?: Readonly<Record<string, unknown>>
    }
  /** Something that may pass: no answer, 408, 425, 429, 5xx. */
  | {
      readonly kind: 'again'
      readonly status: number | null
      readonly answer: string
      readonly afterSeconds?: number
    }
  /** Something that does not pass by itself, such as a revoked token. */
  | { readonly kind: 'refused'; readonly status: number | null; readonly answer: string }

export interface Channel {
  readonly kind: ChannelKind
  /** Rejects only when it is itself broken; everything that a receiver or the network does is a SendResult. */
  send(out: Outgoing, signal: AbortSignal): Promise<SendResult>
}
