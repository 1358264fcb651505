// Whether a mend holds: the project is built in a sandbox, against DuckDB in memory. Other warehouses cannot be reached from
// there, and are not.

const DONE = 'yardmaster-check:'
const NO_DBT = 127

/** Null where it cannot be checked so: another adapter, or names that a shell would take for something else. */
export function checkCommand(of: {
  /** Of the project, ending in a slash; empty for the root. */
  readonly folder: string
  readonly profile: string
  /** Of the run: dbt says in it which adapters it uses. */
  readonly output: string
}): string | null {
  const adapter = /Registered adapter: (\w+)=/.exec(of.output)?.[1]
  if (adapter !== undefined && adapter !== 'duckdb') return null
  if (!/^[\w-]+$/.test(of.profile) || !/^(?:[\w.-]+\/)*$/.test(of.folder)) return null
  // YAML takes JSON. The environment's own profile is a secret whose lines are masked wherever they stand, also in what is
  // asked of a shell; this looks like none of them.
  const outputs = { check: { type: 'duckdb', path: ':memory:' } }
  const profile = JSON.stringify({ [of.profile]: { target: 'check', outputs } })
  return [
    `command -v dbt > /dev/null || { echo "${DONE} ${NO_DBT}"; exit 0; }`,
    'check=$(mktemp -d)',
    `echo '${profile}' > "$check/profiles.yml"`,
    `cd "./${of.folder}"`,
    'export DBT_SEND_ANONYMOUS_USAGE_STATS=false',
    'dbt --no-use-colors build --profiles-dir "$check" --target-path "$check/target" --log-path "$check/logs" 2>&1',
    `echo "${DONE} $?"`,
    'rm -rf "$check"',
  ].join('\n')
}

export function readCheck(output: string): 'passed' | 'failed' | 'unavailable' {
  const code = new RegExp(`^${DONE} (\\d+)$`, 'm').exec(output)?.[1]
  // Without its last line it was ended from outside, by a limit.
  if (code === undefined || Number(code) === NO_DBT) return 'unavailable'
  return code === '0' ? 'passed' : 'failed'
}
