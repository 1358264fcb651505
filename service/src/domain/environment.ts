import { invalidInput } from './errors.ts'
import { hasControl, parseName, refuseNul } from './text.ts'

export type EnvironmentType = 'scheduler' | 'agent'
export type SecretKind = 'variable' | 'file' | 'credential'

/** What an environment is, as far as a caller may set it. `undefined` leaves a field as it is. */
export interface EnvironmentFields {
  readonly displayName?: string
  readonly type?: EnvironmentType
  readonly isDefault?: boolean
  readonly repositoryUrl?: string
  readonly defaultBranch?: string
  readonly deploymentBranch?: string | null
  readonly installStep?: string | null
  readonly pythonPackages?: readonly string[]
  readonly excludedFiles?: readonly string[] | null
  /** Runs go to workers that have all of these. */
  readonly workerLabels?: readonly string[]
  /** How long a canceled command may take to end by itself, in all. */
  readonly stopSeconds?: number
}

export interface RepositoryAddress {
  readonly url: string
  /** Taken out of the address, to be kept as secrets. */
  readonly credentials: Readonly<Partial<Record<CredentialName, string>>>
}

export const CREDENTIAL_NAMES = ['username', 'token', 'ssh_key'] as const
export type CredentialName = (typeof CREDENTIAL_NAMES)[number]

/**
 * https, ssh, `git@host:path`, and absolute local paths. Transport helpers (`ext::`, `fd::`), options and control
 * characters are refused here already; git is called with argv and a protocol allow-list all the same.
 */
export function parseRepositoryUrl(text: string): RepositoryAddress {
  const address = text.trim()
  const bad = (why: string) =>
    invalidInput(
      `repositoryUrl: ${why}. Give https://host/path, ssh://git@host/path, git@host:path, or an absolute local path.`,
    )
  if (address === '') return { url: '', credentials: {} }
  if (address.length > 2048 || hasControl(address)) throw bad('too long or with control characters')
  if (address.startsWith('-') || address.includes('::')) throw bad('not an address that git may be given')
  if (address.startsWith('/')) return { url: address, credentials: {} }
  if (SCP_FORM.test(address)) return { url: address, credentials: {} }
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw bad('not an address')
  }
  // git decodes the whole of an ssh address, so what is written as %2d is a hyphen to it, and an option to ssh.
  const [host, user, password] = [url.hostname, url.username, url.password].map(decoded)
  if (host === undefined || user === undefined || password === undefined) throw bad('a % that encodes nothing')
  if (!['https:', 'http:', 'ssh:'].includes(url.protocol) || host === '' || /^-|[\s/\\]/.test(host)) {
    throw bad('not an address of a kind that is allowed')
  }
  if (hasControl(host + user + password) || user.startsWith('-')) throw bad('a user or password that git cannot use')
  const credentials: { username?: string; token?: string } = {}
  if (password !== '') credentials.token = password
  if (url.protocol !== 'ssh:' && user !== '') {
    // https://<token>@host is the common short form: without a password the user part is the token.
    if (password === '') credentials.token = user
    else credentials.username = user
    url.username = ''
  }
  url.password = ''
  return { url: url.toString(), credentials }
}

// `git@host:path`. Neither part may look like an option, and `//` behind the colon is the start of a URL gone wrong.
const SCP_FORM = /^[A-Za-z0-9_.][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:(?!-|\/\/)\S+$/

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

// The rules of git-check-ref-format, and no leading hyphen, which git would take for an option.
const BRANCH = /^(?!@$|[-/])(?!.*(?:\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|\/$|\.$))(?!\.)[^\s~^:?*[\\]{1,255}$/

export function parseBranch(text: string, field: string): string {
  if (hasControl(text) || !BRANCH.test(text)) throw invalidInput(`${field}: not a name that git allows for a branch.`)
  return text
}

const PACKAGE =
  /^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._-]+\])?\s*((===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+(\s*,\s*(==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+)*)?$/

const SHORTEST_STOP = 5
const LONGEST_STOP = 3600

export function parseFields(fields: EnvironmentFields): EnvironmentFields {
  const { displayName, defaultBranch, deploymentBranch, installStep } = fields
  const { pythonPackages, excludedFiles, workerLabels, stopSeconds } = fields
  for (const one of pythonPackages ?? []) {
    if (one.length > 200 || hasControl(one) || !PACKAGE.test(one)) {
      throw invalidInput(
        `pythonPackages: "${one.slice(0, 60)}" is not a package with an optional version (dbt-core==1.10.0).`,
      )
    }
  }
  for (const one of excludedFiles ?? []) {
    if (one === '' || one.length > 400 || hasControl(one))
      throw invalidInput('excludedFiles: a pattern is one line of up to 400 characters.')
  }
  for (const one of workerLabels ?? []) {
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/.test(one))
      throw invalidInput('workerLabels: a label is a word of up to 63 letters, digits, dots, hyphens and underscores.')
  }
  if (stopSeconds !== undefined && !(stopSeconds >= SHORTEST_STOP && stopSeconds <= LONGEST_STOP)) {
    throw invalidInput(`stopSeconds: ${SHORTEST_STOP} to ${LONGEST_STOP}, not ${stopSeconds}.`)
  }
  if (workerLabels !== undefined && workerLabels.length > 20) throw invalidInput('workerLabels: at most 20.')
  return {
    ...fields,
    ...(displayName === undefined ? {} : { displayName: parseName(displayName, 'displayName') }),
    ...(defaultBranch === undefined ? {} : { defaultBranch: parseBranch(defaultBranch, 'defaultBranch') }),
    ...(deploymentBranch === undefined
      ? {}
      : { deploymentBranch: deploymentBranch ? parseBranch(deploymentBranch, 'deploymentBranch') : null }),
    ...(installStep === undefined ? {} : { installStep: installStep ? refuseNul(installStep, 'installStep') : null }),
  }
}

/** `Production EU` → `production-eu`; a name with no latin letter or digit gets `environment`. */
export function environmentSlug(name: string, taken: ReadonlySet<string>): string {
  const base =
    name
      .normalize('NFKD')
      .replace(/\p{Mark}+/gu, '')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 60)
      .replace(/^-+|-+$/g, '') || 'environment'
  if (!taken.has(base)) return base
  let number = 2
  while (taken.has(`${base}-${number}`)) number++
  return `${base}-${number}`
}

/** By slug, else by the name that people see. */
export const matchEnvironment = <T extends { readonly slug: string; readonly displayName: string }>(
  all: readonly T[],
  text: string,
): T | null =>
  all.find((one) => one.slug === text) ??
  all.find((one) => one.displayName.toLowerCase() === text.toLowerCase()) ??
  null

// Names that a job's shell, loader or the service itself gives meaning to: setting them would change what runs.
const RESERVED =
  /^(YARDMASTER_|PARADIME_SCHEDULE_NAME$|PARADIME_RESOURCES_DIRECTORY$|LD_|DYLD_|NODE_OPTIONS$|BASH_ENV$|ENV$|GIT_|IFS$|SHELLOPTS$|BASHOPTS$|PROMPT_COMMAND$)/

export function parseVariableName(name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) {
    throw invalidInput('name: letters, digits and underscores, not beginning with a digit, at most 128 characters.')
  }
  if (RESERVED.test(name)) throw invalidInput(`name: ${name} is reserved and cannot be set.`)
  return name
}

const MAX_VALUE = 65_536

export function parseValue(value: string): string {
  refuseNul(value, 'value')
  if (Buffer.byteLength(value) > MAX_VALUE) throw invalidInput(`value: at most ${MAX_VALUE} bytes.`)
  return value
}

export function parseSecret(kind: SecretKind, name: string, value: string): { name: string; value: string } {
  // Shorter ones cannot be masked in output without masking half of every log.
  if (value.length < 6 && kind !== 'credential')
    throw invalidInput('value: a secret has at least 6 characters; use a variable for shorter values.')
  if (value.length === 0) throw invalidInput('value: must not be empty.')
  switch (kind) {
    case 'variable':
      return { name: parseVariableName(name), value: parseValue(value) }
    case 'file':
      if (!/^(?!\.\.?$)[A-Za-z0-9._-]{1,128}$/.test(name))
        throw invalidInput('name: a file name of letters, digits, dots, hyphens and underscores.')
      return { name, value: parseValue(value) }
    case 'credential':
      if (!(CREDENTIAL_NAMES as readonly string[]).includes(name))
        throw invalidInput(`name: a credential is one of ${CREDENTIAL_NAMES.join(', ')}.`)
      return { name, value: parseValue(value) }
  }
}
