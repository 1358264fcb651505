// One HTTP call to an address that somebody outside the service chose. It reaches no loopback, link-local or private
// address unless the operator allowed it, follows no redirect, and has limits of time and size.

export interface OutgoingRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Of the answer, in bytes, where 64 KiB are too little. */
  readonly largestAnswer?: number
}

export interface OutgoingAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** At most 64 KiB, or what was asked for; the rest is not read. */
  readonly body: string
}

/** No answer: refused address, no connection, time, size. The message may be shown to the workspace. */
export class OutgoingFault extends Error {
  /** Trying again will not help: the address itself is refused. */
  readonly refused: boolean

  constructor(message: string, options: { readonly refused?: boolean; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.refused = options.refused ?? false
  }
}

export interface OutgoingHttp {
  /** Rejects with an OutgoingFault alone. */
  call(request: OutgoingRequest, signal: AbortSignal): Promise<OutgoingAnswer>
}
