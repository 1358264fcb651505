// One call to a service's interface, and what its answer means for the delivery. Every channel speaks through here, so that
// all of them see a busy, broken or absent service in the same way.
import { parseRetryAfter } from '../../domain/delivery.ts'
import type { Outgoing, SendResult } from '../../ports/channel.ts'
import type { OutgoingAnswer, OutgoingHttp, OutgoingRequest } from '../../ports/outgoing-http.ts'
import { OutgoingFault } from '../../ports/outgoing-http.ts'
import type { Clock } from '../../ports/runtime.ts'

export interface ChannelDeps {
  readonly http: OutgoingHttp
  readonly clock: Clock
}

export interface ApiAnswer {
  readonly status: number
  /** Parsed; null when it is no JSON. */
  readonly json: unknown
  /** Its beginning, without the secrets that the call was made with. */
  readonly text: string
}

/** Not an answer that a channel goes on with: what becomes of the delivery is decided already. */
export class Ended extends Error {
  readonly result: SendResult
  constructor(result: SendResult) {
    super(result.answer)
    this.result = result
  }
}

export interface Api {
  /**
   * Throws `Ended` without an answer, for an answer that means "later", and for one that is no 2xx and not among `expect`.
   */
  call(
    request: Omit<OutgoingRequest, 'body'> & { readonly json?: unknown },
    expect?: readonly number[],
  ): Promise<ApiAnswer>
}

const MOST_ANSWER = 500

export function openApi({ http, clock }: ChannelDeps, out: Outgoing, signal: AbortSignal): Api {
  const hide = hider(Object.values(out.secrets))
  return {
    call: async ({ json, ...request }, expect = []) => {
      const answer = await reach(http, withBody(request, json), signal, hide)
      const text = hide(answer.body).trim().slice(0, MOST_ANSWER).toWellFormed()
      const { status } = answer
      if ((status >= 200 && status < 300) || expect.includes(status)) return { status, json: parsed(answer.body), text }
      throw new Ended(failure(answer, text, clock.now()))
    },
  }
}

/** What the channel's work comes to; its calls end it early by throwing. */
export async function settled(work: () => Promise<SendResult>): Promise<SendResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Ended) return error.result
    throw error
  }
}

export const delivered = (answer: ApiAnswer | null, result?: Readonly<Record<string, unknown>>): SendResult => ({
  kind: 'delivered',
  status: answer?.status ?? null,
  answer: answer?.text ?? '',
  ...(result !== undefined && { result }),
})

export const refused = (answer: string, status: number | null = null): SendResult => ({
  kind: 'refused',
  status,
  answer,
})

const withBody = (request: Omit<OutgoingRequest, 'body'>, json: unknown): OutgoingRequest =>
  json === undefined
    ? request
    : {
        ...request,
        headers: { 'content-type': 'application/json; charset=utf-8', ...request.headers },
        body: JSON.stringify(json),
      }

async function reach(
  http: OutgoingHttp,
  request: OutgoingRequest,
  signal: AbortSignal,
  hide: (text: string) => string,
): Promise<OutgoingAnswer> {
  try {
    return await http.call(request, signal)
  } catch (error) {
    if (!(error instanceof OutgoingFault)) throw error
    const answer = hide(error.message)
    throw new Ended({ kind: error.refused ? 'refused' : 'again', status: null, answer })
  }
}

/** 408, 425, 429 and 5xx pass by themselves; a redirect may be somebody's mistake of an hour. The rest does not pass. */
function failure(answer: OutgoingAnswer, text: string, now: Date): SendResult {
  const { status, headers } = answer
  const passes = status === 408 || status === 425 || status === 429 || status >= 500 || status < 400
  if (!passes) return { kind: 'refused', status, answer: text }
  const reset = headers['ratelimit-reset'] ?? headers['x-ratelimit-reset']
  const afterSeconds = parseRetryAfter(headers['retry-after'], now) ?? parseRetryAfter(reset, now)
  return { kind: 'again', status, answer: text, ...(afterSeconds !== undefined && { afterSeconds }) }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

/** A service may repeat what it was sent. */
function hider(secrets: readonly string[]): (text: string) => string {
  const long = secrets.filter((one) => one.length >= 6)
  return (text) => long.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

/** A text at a path of an answer; undefined when there is none. */
export function textAt(json: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : null,
    json,
  )
  return typeof found === 'string' ? found : undefined
}

export function listAt(json: unknown, key: string): readonly unknown[] {
  const found = typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[key] : null
  return Array.isArray(found) ? found : []
}

/** The address of the interface: its own, unless the integration names another, such as a gateway of the company. */
export const apiBase = (out: Pick<Outgoing, 'settings'>, usual: string): string => {
  const own = out.settings.apiUrl
  return (typeof own === 'string' && own !== '' ? own : usual).replace(/\/+$/, '')
}

/** Throws `Ended` when the integration has no such secret, or is gone. */
export function secretOf(out: Outgoing, name: string, service: string): string {
  const secret = out.secrets[name]
  if (secret === undefined || secret === '')
    throw new Ended(refused(`${service} is not set up in this workspace, or its ${name} is missing.`))
  return secret
}
