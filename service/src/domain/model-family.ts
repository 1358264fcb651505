// Which model stands behind the name that agents use for it: the settings and secrets of each provider. Settings are
// shown; secrets are written and never read back.
import { invalidInput } from './errors.ts'
import { hasControl, quoted } from './text.ts'

export const MODEL_PROVIDERS = ['anthropic', 'openai', 'google', 'bedrock', 'openai_compatible'] as const
export type ModelProvider = (typeof MODEL_PROVIDERS)[number]

/** The family of the scripted model, which needs nothing to be set up. No other can have its name. */
export const SCRIPTED_FAMILY = 'scripted'

export type Values = Readonly<Record<string, string>>

/** Microdollars of a million tokens. */
export interface ModelPrices {
  readonly input: number
  readonly cached: number
  readonly output: number
}

/** What it takes to reach a model. */
export interface ModelAccess {
  readonly provider: ModelProvider
  readonly model: string
  /** Empty: the provider's own. */
  readonly address: string
  /** Of Bedrock. */
  readonly region: string
  readonly contextTokens: number
  readonly maxOutputTokens: number
  /** Null: not known. */
  readonly prices: ModelPrices | null
  /** Never in a log, a fault or an answer. */
  readonly secrets: Values
}

interface Field {
  /** What a refusal says that it must be. */
  readonly form: string
  readonly pattern: RegExp
}

const price: Field = { form: 'dollars of a million tokens, such as 0.25', pattern: /^\d{1,6}(\.\d{1,6})?$/ }
const tokens: Field = { form: 'a number of tokens, from 1000 to 9999999', pattern: /^[1-9]\d{3,6}$/ }

export const SETTINGS = {
  address: { form: 'an http:// or https:// address', pattern: /^https?:\/\/[^@\s?#]{1,1000}$/ },
  region: { form: 'a region, such as eu-central-1', pattern: /^[a-z]{2,}(-[a-z0-9]+){1,4}$/ },
  contextTokens: tokens,
  maxOutputTokens: tokens,
  priceInput: price,
  priceCached: price,
  priceOutput: price,
} as const satisfies Readonly<Record<string, Field>>

const secret: Field = { form: 'a key of 4 to 4096 printable characters', pattern: /^[!-~]{4,4096}$/ }

interface Provider {
  /** Roughly what its models can read. */
  readonly contextTokens: number
  readonly needs: readonly (keyof typeof SETTINGS)[]
  readonly secrets: readonly string[]
  /** One of these sets of secrets must be there. */
  readonly anyOf: readonly (readonly string[])[]
}

const byKey = { secrets: ['apiKey'], anyOf: [['apiKey']] } as const

export const PROVIDERS: Readonly<Record<ModelProvider, Provider>> = {
  anthropic: { contextTokens: 200_000, needs: [], ...byKey },
  openai: { contextTokens: 128_000, needs: [], ...byKey },
  google: { contextTokens: 1_000_000, needs: [], ...byKey },
  bedrock: {
    contextTokens: 128_000,
    needs: ['region'],
    secrets: ['apiKey', 'accessKeyId', 'secretAccessKey', 'sessionToken'],
    anyOf: [['apiKey'], ['accessKeyId', 'secretAccessKey']],
  },
  // One's own server often asks for no key.
  openai_compatible: { contextTokens: 32_000, needs: ['address'], secrets: ['apiKey'], anyOf: [[]] },
}

export function parseFamilyName(text: string): string {
  const name = text.trim().toLowerCase()
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name))
    throw invalidInput('name: up to 64 lower-case letters, digits, dots, dashes and underscores, such as claude.')
  if (name === SCRIPTED_FAMILY) throw invalidInput(`name: ${SCRIPTED_FAMILY} is the built-in one, choose another.`)
  return name
}

export function parseProvider(text: string): ModelProvider {
  const provider = text.trim().toLowerCase().replaceAll('-', '_') as ModelProvider
  if (MODEL_PROVIDERS.includes(provider)) return provider
  throw invalidInput(`provider: no ${quoted(text)}. Allowed: ${MODEL_PROVIDERS.join(', ')}.`)
}

export function parseModel(text: string): string {
  const model = text.trim()
  if (model === '' || model.length > 256 || hasControl(model))
    throw invalidInput('model: the name that the provider has for it, one line of up to 256 characters.')
  return model
}

/** Given values over those that are there; a value of '' takes one away. */
export function parseFamilySettings(provider: ModelProvider, given: Values, old: Values = {}): Values {
  refuseUnknown('settings', given, Object.keys(SETTINGS))
  const all: Record<string, string> = {}
  for (const [name, field] of Object.entries(SETTINGS)) {
    const value = given[name]?.trim() ?? old[name] ?? ''
    if (value !== '') all[name] = checked(`settings.${name}`, value, field)
  }
  const missing = PROVIDERS[provider].needs.find((name) => all[name] === undefined)
  if (missing !== undefined) throw invalidInput(`settings.${missing}: needed, ${SETTINGS[missing].form}.`)
  if ((all.priceInput === undefined) !== (all.priceOutput === undefined))
    throw invalidInput('settings: give priceInput and priceOutput together, or neither.')
  return all
}

/** The secrets that were given; `known` are the names of those that are stored and stay. */
export function parseFamilySecrets(provider: ModelProvider, given: Values, known: readonly string[]): Values {
  const { secrets, anyOf } = PROVIDERS[provider]
  refuseUnknown('secrets', given, secrets)
  const all: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value.trim() !== '') all[name] = checked(`secrets.${name}`, value.trim(), secret)
  }
  const isThere = (name: string): boolean => Object.hasOwn(all, name) || known.includes(name)
  if (!anyOf.some((set) => set.every(isThere))) {
    throw invalidInput(`secrets: ${provider} needs ${anyOf.map((set) => set.join(' and ')).join(', or ')}.`)
  }
  return all
}

function refuseUnknown(what: string, given: Values, known: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) throw invalidInput(`${what}: no ${quoted(unknown)} there. Allowed: ${known.join(', ')}.`)
}

/** The message never repeats the value: it may be a secret. */
function checked(field: string, value: string, { pattern, form }: Field): string {
  if (!pattern.test(value)) throw invalidInput(`${field}: not ${form}.`)
  return value
}

/** An answer takes up to this much of what a model can read, so that there is room for the question. */
const LARGEST_ANSWER = 16_000
const ANSWER_SHARE = 4

export interface FamilyValues {
  readonly provider: ModelProvider
  readonly model: string
  readonly settings: Values
  readonly secrets: Values
}

export function accessOf({ provider, model, settings, secrets }: FamilyValues): ModelAccess {
  const contextTokens = Number(settings.contextTokens ?? PROVIDERS[provider].contextTokens)
  const largest = Math.min(LARGEST_ANSWER, Math.floor(contextTokens / ANSWER_SHARE))
  return {
    provider,
    model,
    address: settings.address ?? '',
    region: settings.region ?? '',
    contextTokens,
    maxOutputTokens: Number(settings.maxOutputTokens ?? largest),
    prices: pricesOf(settings),
    secrets,
  }
}

function pricesOf({ priceInput, priceCached, priceOutput }: Values): ModelPrices | null {
  if (priceInput === undefined || priceOutput === undefined) return null
  const microdollars = (dollars: string): number => Math.round(Number(dollars) * 1_000_000)
  return {
    input: microdollars(priceInput),
    cached: microdollars(priceCached ?? priceInput),
    output: microdollars(priceOutput),
  }
}
