// Accounts at other services that a workspace uses: which settings and secrets each kind has. Settings are shown to
// everybody who may read schedules; secrets are written and never read back.
import { invalidInput } from './errors.ts'
import { hasControl, quoted } from './text.ts'

export const INTEGRATION_KINDS = [
  'slack',
  'teams',
  'pagerduty',
  'incident_io',
  'datadog',
  'new_relic',
  'github',
  'gitlab',
] as const

export type IntegrationKind = (typeof INTEGRATION_KINDS)[number]

interface Field {
  /** What a refusal says that it must be. */
  readonly form: string
  readonly pattern: RegExp
  /** May be left out. */
  readonly optional?: true
}

interface Kind {
  /** Several of one kind in a workspace are told apart by their names; null: there is one, without a name. */
  readonly name: string | null
  readonly settings: Readonly<Record<string, Field>>
  readonly secrets: Readonly<Record<string, Field>>
}

const token: Field = { form: 'a token', pattern: /^[!-~]{8,512}$/ }
/** Whether pull requests are asked for, where the host cannot reach this service with its hooks. */
const poll: Field = { form: 'yes or no', pattern: /^(yes|no)$/, optional: true }
const https: Field = { form: 'an https:// address', pattern: /^https?:\/\/[!-~]{1,1000}$/ }
/** Another place of the same interface, such as a region, a gateway of the company or one's own server. */
const apiUrl: Field = { form: 'an https:// address', pattern: /^https?:\/\/[^@\s]{1,1000}$/, optional: true }

export const KINDS: Readonly<Record<IntegrationKind, Kind>> = {
  // The signing secret is needed for what comes in: answers in the threads of agents.
  slack: { name: null, settings: { apiUrl }, secrets: { token, signingSecret: { ...token, optional: true } } },
  // The address of an incoming webhook is all that it takes to post: it is a secret.
  teams: { name: 'the channel, as schedules name it', settings: {}, secrets: { url: https } },
  pagerduty: {
    name: null,
    settings: { apiUrl },
    secrets: { token },
  },
  incident_io: {
    name: null,
    settings: { apiUrl },
    secrets: { token },
  },
  datadog: {
    name: null,
    settings: { apiUrl },
    secrets: { apiKey: token, applicationKey: token },
  },
  new_relic: {
    name: null,
    settings: {
      apiUrl,
      accountId: { form: 'the number of an account', pattern: /^\d{1,12}$/ },
    },
    secrets: { licenseKey: token },
  },
  github: {
    name: null,
    settings: { apiUrl, poll },
    secrets: { token: { ...token, optional: true }, webhookSecret: { ...token, optional: true } },
  },
  gitlab: {
    name: null,
    settings: { apiUrl, poll },
    secrets: { token: { ...token, optional: true }, webhookSecret: { ...token, optional: true } },
  },
}

export type Values = Readonly<Record<string, string>>

export function parseKind(text: string): IntegrationKind {
  const kind = text.toLowerCase() as IntegrationKind
  if (INTEGRATION_KINDS.includes(kind)) return kind
  throw invalidInput(`kind: no integration ${quoted(text)}. Allowed: ${INTEGRATION_KINDS.join(', ')}.`)
}

export function parseIntegrationName(kind: IntegrationKind, text: string): string {
  const name = text.trim()
  const wanted = KINDS[kind].name
  if (wanted === null) {
    if (name !== '') throw invalidInput(`name: a workspace has one ${kind} integration, without a name.`)
    return ''
  }
  if (name === '' || name.length > 128 || hasControl(name)) {
    throw invalidInput(`name: ${wanted}, one line of up to 128 characters.`)
  }
  return name
}

/** Given values over those that are there; a value of '' takes one away. All that is needed must be there then. */
export function parseSettings(kind: IntegrationKind, given: Values, old: Values = {}): Values {
  const fields = KINDS[kind].settings
  refuseUnknown('settings', given, fields)
  const all: Record<string, string> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name]?.trim() ?? old[name] ?? ''
    if (value !== '') all[name] = checked(`settings.${name}`, value, field)
    else if (field.optional !== true) throw invalidInput(`settings.${name}: needed, ${field.form}.`)
  }
  return all
}

/** The secrets that were given; `known` are the names of those that are stored already. */
export function parseSecrets(kind: IntegrationKind, given: Values, known: readonly string[] = []): Values {
  const fields = KINDS[kind].secrets
  refuseUnknown('secrets', given, fields)
  const all: Record<string, string> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name]?.trim() ?? ''
    if (value !== '') all[name] = checked(`secrets.${name}`, value, field)
    else if (field.optional !== true && !known.includes(name))
      throw invalidInput(`secrets.${name}: needed, ${field.form}.`)
  }
  return all
}

function refuseUnknown(what: string, given: Values, fields: Kind['settings']): void {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name))
  if (unknown === undefined) return
  const known = Object.keys(fields).join(', ') || 'none'
  throw invalidInput(`${what}: no ${quoted(unknown)} there. Allowed: ${known}.`)
}

/** The message never repeats the value: it may be a secret. */
function checked(field: string, value: string, { pattern, form }: Field): string {
  if (!pattern.test(value)) throw invalidInput(`${field}: not ${form}.`)
  return value
}
