// The environment of a command, layer on layer: what the worker lets through, the workspace's variables, the
// environment's, the schedule's, and last what the service sets, which nobody can override. Nothing else reaches it.
//
// Names that the loader, a shell, git or Node give meaning to never come from a user: set for a whole run they would
// change what the infrastructure commands do. An operator who wants one on every command names it in full in the
// worker's allow-list (a pattern is not enough). The service's own names never pass, from anybody.

export type Variables = Readonly<Record<string, string>>

export interface CommandEnvironmentInput {
  /** The worker's own variables; of these only what `allowList` names. */
  readonly worker: Readonly<Record<string, string | undefined>>
  /** Names, or beginnings of names with a `*` at the end. */
  readonly allowList: readonly string[]
  readonly workspace: Variables
  readonly environment: Variables
  readonly schedule: Variables
  readonly service: ServiceVariables
}

export interface ServiceVariables {
  /** An infrastructure command keeps the worker's PATH, whatever users set. */
  readonly commandKind: 'infrastructure' | 'user'
  readonly runId: number
  readonly commandId: number
  readonly attempt: number
  readonly scheduleSlug: string
  readonly scheduleName: string
  readonly workspaceUid: string
  readonly branch: string
  readonly commit: string
  readonly prNumber: number | null
  readonly actor: string
  readonly reason: string
  /** One folder per earlier command of the run. */
  readonly resourcesDirectory: string
  readonly deferStateDir: string | null
  readonly schemaPrefix: string | null
  /** Folders that come first in PATH, such as the virtual environment's `bin`. */
  readonly pathPrefix: readonly string[]
  /** HOME, TMPDIR, VIRTUAL_ENV, DBT_PROFILES_DIR, YARDMASTER_FILE_<NAME> and the like. */
  readonly further: Variables
}

/** What a job on any host needs to find programs, speak a language and reach the network. */
export const DEFAULT_ALLOW_LIST: readonly string[] = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'TZ',
  'LANG',
  'LANGUAGE',
  'LC_*',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'ALL_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'all_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'NODE_EXTRA_CA_CERTS',
  'PIP_INDEX_URL',
  'PIP_EXTRA_INDEX_URL',
  'PIP_CERT',
  'UV_INDEX_URL',
  'UV_DEFAULT_INDEX',
]

/** Used when neither the worker nor a user has one. */
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const OURS = /^(YARDMASTER_|PARADIME_SCHEDULE_NAME$|PARADIME_RESOURCES_DIRECTORY$)/
const STEERS =
  /^(LD_|DYLD_|GIT_|BASH_FUNC_|(NODE_OPTIONS|BASH_ENV|ENV|IFS|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|PERL5OPT|PERL5LIB|RUBYOPT|PYTHONSTARTUP)$)/

/** Whether a user's variable of this name is left out. */
export const isReserved = (name: string): boolean => !NAME.test(name) || OURS.test(name) || STEERS.test(name)

function passes(name: string, allowList: readonly string[]): boolean {
  // The worker's DATABASE_URL is that of the service; a job may have one of its own.
  if (!NAME.test(name) || OURS.test(name) || name === 'DATABASE_URL') return false
  if (allowList.includes(name)) return true
  if (STEERS.test(name)) return false
  return allowList.some((entry) => entry.endsWith('*') && name.startsWith(entry.slice(0, -1)))
}

export function commandEnvironment(input: CommandEnvironmentInput): Record<string, string> {
  const { worker, allowList, service } = input
  // A map, because a user's variable may be called __proto__.
  const all = new Map<string, string>()
  for (const [name, value] of Object.entries(worker)) {
    if (value !== undefined && passes(name, allowList)) all.set(name, value)
  }
  const ownPath = all.get('PATH')
  for (const layer of [input.workspace, input.environment, input.schedule]) {
    for (const [name, value] of Object.entries(layer)) if (!isReserved(name)) all.set(name, value)
  }
  for (const [name, value] of Object.entries(service.further)) all.set(name, value)
  for (const [name, value] of Object.entries(serviceNames(service))) all.set(name, value)
  const path = (service.commandKind === 'user' ? all.get('PATH') : ownPath) || SYSTEM_PATH
  all.set('PATH', [...service.pathPrefix, path].join(':'))
  return Object.fromEntries(all)
}

/** Always all of them, empty where there is nothing to say, so that `set -u` and dbt's env_var find them. */
function serviceNames(service: ServiceVariables): Record<string, string> {
  return {
    YARDMASTER_RUN_ID: String(service.runId),
    YARDMASTER_COMMAND_ID: String(service.commandId),
    YARDMASTER_ATTEMPT: String(service.attempt),
    YARDMASTER_SCHEDULE_SLUG: service.scheduleSlug,
    YARDMASTER_SCHEDULE_NAME: service.scheduleName,
    YARDMASTER_WORKSPACE_UID: service.workspaceUid,
    YARDMASTER_BRANCH: service.branch,
    YARDMASTER_COMMIT: service.commit,
    YARDMASTER_PR_NUMBER: service.prNumber === null ? '' : String(service.prNumber),
    YARDMASTER_ACTOR: service.actor,
    YARDMASTER_REASON: service.reason,
    YARDMASTER_RESOURCES_DIRECTORY: service.resourcesDirectory,
    YARDMASTER_DEFER_STATE_DIR: service.deferStateDir ?? '',
    YARDMASTER_SCHEMA_PREFIX: service.schemaPrefix ?? '',
    PARADIME_SCHEDULE_NAME: service.scheduleName,
    PARADIME_RESOURCES_DIRECTORY: service.resourcesDirectory,
  }
}
