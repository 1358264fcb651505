// What dbt's run_results.json and sources.json say, node by node. They are written by somebody else's program, in several
// versions, and may be cut off: what is not understood is left out.
import { clean, field, readJson } from './foreign-json.ts'

export interface DbtNode {
  readonly uniqueId: string
  readonly status: string
  readonly message: string
  /** As PostgreSQL reads it. */
  readonly startedAt: string | null
  readonly seconds: number | null
  readonly failures: number | null
}

export const DBT_RESULT_FILES = ['run_results.json', 'sources.json'] as const
export const DBT_MANIFEST = 'manifest.json'

/** run_results.json says to `dbt retry` what failed; the others, beside it, save dbt from parsing everything again. */
export const DBT_STATE_FILES: readonly string[] = [
  'run_results.json',
  'manifest.json',
  'sources.json',
  'partial_parse.msgpack',
]

/** dbt's own words for what did not come out well; `skipped` follows from another one's failure. */
const FAILED_STATUSES: readonly string[] = ['error', 'fail', 'runtime error', 'partial success']

export const isFailedStatus = (status: string): boolean => FAILED_STATUSES.includes(status.toLowerCase())

const MOST_NODES = 50_000
const LONGEST_ID = 500
const LONGEST_STATUS = 50
const LONGEST_MESSAGE = 10_000
const INT_MAX = 2 ** 31 - 1
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/

/** Empty for what is not such a file. */
export function parseDbtResults(text: string): DbtNode[] {
  const results = field(readJson(text), 'results')
  if (!Array.isArray(results)) return []
  const nodes = new Map<string, DbtNode>()
  for (const result of results.slice(0, MOST_NODES)) {
    const uniqueId = clean(field(result, 'unique_id'), LONGEST_ID)
    const status = clean(field(result, 'status'), LONGEST_STATUS)
    if (uniqueId === '' || status === '') continue
    // A source that could not be asked has its reason in another field.
    const message = clean(field(result, 'message'), LONGEST_MESSAGE) || clean(field(result, 'error'), LONGEST_MESSAGE)
    nodes.set(uniqueId, {
      uniqueId,
      status,
      message,
      startedAt: startOf(result),
      seconds: finite(field(result, 'execution_time')),
      failures: countOf(field(result, 'failures')),
    })
  }
  return [...nodes.values()]
}

/** When the first of its steps began: compiling, mostly. */
function startOf(result: unknown): string | null {
  const timing = field(result, 'timing')
  const starts = (Array.isArray(timing) ? timing : [])
    .map((step) => field(step, 'started_at'))
    .filter((one): one is string => typeof one === 'string' && ISO.test(one) && !Number.isNaN(Date.parse(one)))
    .map((one) => (/(Z|[+-]\d{2}:?\d{2})$/.test(one) ? one : `${one}Z`))
  return starts.sort()[0] ?? null
}

const finite = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)

const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= INT_MAX ? value : null
