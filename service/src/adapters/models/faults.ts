// What went wrong at a provider, as a ModelFault whose words may be shown to a workspace and written to a journal. The
// errors of the client hold the whole question and the provider's headers: they are not passed on as causes.
import { ModelFault } from '../../ports/model.ts'
import { OutgoingFault } from '../../ports/outgoing-http.ts'

const LONGEST_DETAIL = 300
const LONGEST_WAIT_SECONDS = 3600

/** What the client's errors have of what is of interest, each under its own class. */
interface ProviderError {
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly data?: unknown
  readonly message?: unknown
  readonly cause?: unknown
}

export interface FaultContext {
  /** Texts that must not be repeated. */
  readonly secrets: readonly string[]
  readonly now: () => number
}

export function faultOf(error: unknown, of: FaultContext): ModelFault {
  if (error instanceof ModelFault) return error
  const outgoing = causesOf(error).find((one) => one instanceof OutgoingFault)
  if (outgoing !== undefined) {
    const text = `The call to the model's provider failed: ${outgoing.message}`
    return new ModelFault(outgoing.refused ? 'refused' : 'again', text)
  }
  const found = (typeof error === 'object' && error !== null ? error : {}) as ProviderError
  const status = typeof found.statusCode === 'number' ? found.statusCode : null
  return status === null ? withoutStatus(error, found, of) : withStatus(status, found, of)
}

function withoutStatus(error: unknown, found: ProviderError, of: FaultContext): ModelFault {
  const name = error instanceof Error ? error.name : ''
  if (/NoOutputGenerated|EmptyResponseBody/.test(name)) return cutStream()
  if (/JSONParse|TypeValidation|InvalidResponseData/.test(name)) {
    return new ModelFault('again', 'The provider sent something that is no answer of a model.')
  }
  return new ModelFault('again', `The provider failed while it answered${detailOf(found, of)}`)
}

export const cutStream = (): ModelFault => new ModelFault('again', 'The answer of the model broke off before its end.')

/** Anything else of 4xx will not pass by itself. */
const PASSES = [408, 409, 425, 429]

function withStatus(status: number, found: ProviderError, of: FaultContext): ModelFault {
  // Providers repeat part of a wrong key in their words.
  if (status === 401) return refused("The provider refuses the key of the model's family (401): set another one.")
  if (status === 403) return refused("The provider does not let the key of the model's family do this (403).")
  if (status === 404) return refused(`The provider does not know the model or the address (404)${detailOf(found, of)}`)
  if (status === 402 || isOutOfCredit(found)) {
    return refused(`The provider wants to be paid first (${status})${detailOf(found, of)}`)
  }
  if (status >= 500 || PASSES.includes(status)) {
    const afterSeconds = waitOf(found.responseHeaders, of.now())
    const what = status === 429 ? 'takes no more questions for now' : 'failed'
    const text = `The provider ${what} (${status})${detailOf(found, of)}`
    return new ModelFault('again', text, afterSeconds === undefined ? {} : { afterSeconds })
  }
  if (status < 400) return refused(`The provider answered ${status}, which is no answer of a model: check the address.`)
  return refused(`The provider refuses the question (${status})${detailOf(found, of)}`)
}

const refused = (text: string): ModelFault => new ModelFault('refused', text)

/** OpenAI says 429 for an account without credit too. */
const isOutOfCredit = ({ data }: ProviderError): boolean => {
  const { error } = (data ?? {}) as { error?: { code?: unknown; type?: unknown } }
  return error?.code === 'insufficient_quota' || error?.type === 'insufficient_quota'
}

function waitOf(headers: ProviderError['responseHeaders'], now: number): number | undefined {
  const milliseconds = Number(headers?.['retry-after-ms'] ?? Number.NaN)
  const text = headers?.['retry-after'] ?? ''
  const seconds = Number.isFinite(milliseconds)
    ? milliseconds / 1000
    : /^\d+(\.\d+)?$/.test(text)
      ? Number(text)
      : (Date.parse(text) - now) / 1000
  if (!Number.isFinite(seconds)) return undefined
  return Math.min(Math.max(0, Math.ceil(seconds)), LONGEST_WAIT_SECONDS)
}

/** The provider's own words, on one line, without what is secret; ends the sentence in any case. */
function detailOf({ message }: ProviderError, { secrets }: FaultContext): string {
  if (typeof message !== 'string') return '.'
  const hidden = secrets.reduce((text, secret) => (secret === '' ? text : text.replaceAll(secret, '***')), message)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const line = hidden.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim()
  if (line === '') return '.'
  return `: ${line.length > LONGEST_DETAIL ? `${line.slice(0, LONGEST_DETAIL).toWellFormed()}…` : line}`
}

function causesOf(error: unknown): unknown[] {
  const all: unknown[] = []
  for (let one = error; one instanceof Error && all.length < 8; one = one.cause) all.push(one)
  return all
}
