// The environment variables: which are settings, which are passed over, and which are probably mistyped.
import { type Fault, nearest } from './faults.ts'
import { type Setting, settings } from './settings.ts'

export interface VariableEntry {
  readonly setting: Setting
  readonly form: 'value' | 'file'
  readonly variable: string
  readonly value: string
}

/** The variable that names the configuration file. */
export const CONFIG_VARIABLE = 'YARDMASTER_CONFIG'

// Set by the service for the commands of a run, which may well call `yardmaster`.
const OF_A_RUN =
  'RUN_ID COMMAND_ID ATTEMPT SCHEDULE_SLUG SCHEDULE_NAME WORKSPACE_UID BRANCH COMMIT PR_NUMBER ACTOR REASON RESOURCES_DIRECTORY DEFER_STATE_DIR SCHEMA_PREFIX'.split(
    ' ',
  )

/** Variables that begin with YARDMASTER_ and are no settings of the service, with the reason for the reference. */
export const passedOver: readonly { readonly names: string; readonly why: string; matches(name: string): boolean }[] = [
  { names: `\`${CONFIG_VARIABLE}\``, why: 'names the configuration file', matches: (name) => name === CONFIG_VARIABLE },
  {
    names: '`YARDMASTER_TEST_…`',
    why: "set the project's own tests up",
    matches: (name) => name.startsWith('YARDMASTER_TEST_'),
  },
  {
    names: '`YARDMASTER_RUN_…`, `YARDMASTER_COMMAND_ID` and the like',
    why: 'are what a run tells its commands',
    matches: (name) => name.startsWith('YARDMASTER_RUN_') || OF_A_RUN.includes(name.slice('YARDMASTER_'.length)),
  },
  {
    names: '`YARDMASTER_…SERVICE_HOST`, `YARDMASTER_…PORT_4400_TCP` and the like',
    why: 'are set by Kubernetes for a Service whose name begins with `yardmaster`; its `YARDMASTER_PORT=tcp://…` is passed over too',
    matches: (name) => /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name),
  },
]

const KUBERNETES_LINK = /^(tcp|udp|sctp):\/\//

/** What the environment says. An empty variable counts as not given, which is how a compose file leaves one out. */
export function readEnvironment(env: Readonly<Record<string, string | undefined>>): {
  entries: readonly VariableEntry[]
  faults: readonly Fault[]
} {
  const entries: VariableEntry[] = []
  const names = new Set<string>()
  for (const setting of settings) {
    const forms = [{ form: 'value' as const, variable: setting.env }]
    const all = setting.secret ? [...forms, { form: 'file' as const, variable: `${setting.env}_FILE` }] : forms
    for (const { form, variable } of all) {
      names.add(variable)
      const value = env[variable]
      if (value === undefined || value === '' || isLink(variable, value)) continue
      entries.push({ setting, form, variable, value })
    }
  }
  const faults = Object.keys(env)
    .filter((name) => name.startsWith('YARDMASTER_') && env[name] !== '' && !names.has(name))
    .filter((name) => !passedOver.some(({ matches }) => matches(name)) && !isLink(name, env[name] ?? ''))
    .sort()
    .map((name) => ({ subject: name, text: unknownVariable(name, names) }))
  return { entries, faults }
}

function isLink(name: string, value: string): boolean {
  return name.endsWith('_PORT') && KUBERNETES_LINK.test(value)
}

function unknownVariable(name: string, names: ReadonlySet<string>): string {
  const plain = name.replace(/_FILE$/, '')
  if (plain !== name && names.has(plain)) {
    return `is not a variable of Yardmaster: only secrets can be given as a file. Set ${plain} instead.`
  }
  // Compared without the prefix, which would make every name look near, and which DATABASE_URL does not have.
  const short = (one: string) => one.replace(/^YARDMASTER_/, '')
  const meant = nearest(short(name), [...names, CONFIG_VARIABLE].map(short))
  const full = meant && [...names, CONFIG_VARIABLE].find((one) => short(one) === meant)
  return `is not a variable of Yardmaster. ${full ? `Did you mean ${full}? ` : ''}Remove or rename it; docs/configuration.md lists all.`
}
