// What an agent may ask a warehouse: one query that reads. This is the first of three walls and the weakest one: the role
// of the environment's profile decides what a query can do at all, and a DuckDB file is opened for reading alone. It is
// here so that a query that was meant to change something is refused with a word that helps.
//
// dbt renders what it is given, and a template can run statements and read variables: of templates only plain references to
// models and sources pass.

export type CheckedQuery = { readonly sql: string } | { readonly refused: string }

export const LONGEST_QUERY = 20_000

const REFERENCE = /^\{\{\s*(?:ref|source)\s*\(\s*'[\w.-]+'(?:\s*,\s*'[\w.-]+')?\s*\)\s*\}\}/
const DOUBLE_REFERENCE = /^\{\{\s*(?:ref|source)\s*\(\s*"[\w.-]+"(?:\s*,\s*"[\w.-]+")?\s*\)\s*\}\}/

/** Words that change something, reach files or the network, or change what later statements do. */
const REFUSED = new Set(
  `insert update delete merge upsert replace drop alter create truncate grant revoke copy attach detach install pragma call
  export import vacuum analyze execute exec prepare deallocate into unload put lock set reset begin commit rollback declare
  use listen notify checkpoint comment reindex refresh do handler load`
    .split(/\s+/)
    .filter((one) => one !== ''),
)
/** A column or function may be called like these; only as the first word of a statement or subquery they do something. */
const HARMLESS_INSIDE = new Set([
  'replace',
  'comment',
  'analyze',
  'use',
  'do',
  'load',
  'handler',
  'put',
  'notify',
  'lock',
])

/** Functions that read files, reach other machines, wait, or run a text as a statement. */
const REFUSED_FUNCTIONS =
  /^(?:read_\w+|parquet_\w+|sniff_csv|glob|getenv|query|query_table|sqlite_\w+|postgres_\w+|mysql_\w+|pg_read\w*|pg_ls\w*|pg_stat_file|pg_sleep\w*|pg_terminate_backend|pg_cancel_backend|pg_reload_conf|pg_advisory\w*|lo_\w+|dblink\w*|set_config|nextval|setval|query_to_xml\w*|xp_\w+|sp_\w+|openrowset|opendatasource|external_query|http_\w+|net_\w+|load_file|sys_exec|system\w*|duckdb_secrets|which_secret)$/

type Token =
  | { readonly kind: 'word'; readonly text: string }
  | { readonly kind: 'string' | 'quoted' | 'reference' | 'other'; readonly text: string }

export function checkQuery(text: string): CheckedQuery {
  const query = text.trim().replace(/;\s*$/, '').trimEnd()
  if (query === '') return refuse('The query is empty.')
  if (query.length > LONGEST_QUERY) return refuse(`A query has at most ${LONGEST_QUERY} characters.`)
  const tokens = tokensOf(query)
  if (typeof tokens === 'string') return refuse(tokens)
  const words = tokens.flatMap((one) => (one.kind === 'word' ? [one.text] : []))
  if (words[0] !== 'select' && words[0] !== 'with')
    return refuse('Only one select is taken: begin with SELECT or WITH.')
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1]
    const next = tokens[at + 1]
    if (token.kind === 'other' && token.text === ';') return refuse('Only one statement is taken.')
    if (token.kind === 'string' && before?.kind === 'word' && (before.text === 'from' || before.text === 'join')) {
      return refuse('A file is no table: read from models and sources.')
    }
    if (
      token.kind === 'quoted' &&
      next?.text === '(' &&
      REFUSED_FUNCTIONS.test(token.text.slice(1, -1).toLowerCase())
    ) {
      return refuse(`The function ${token.text} is not taken.`)
    }
    if (token.kind !== 'word') continue
    const isBegin = before === undefined || before.text === '(' || before.text === 'as'
    if (REFUSED.has(token.text) && (isBegin || !HARMLESS_INSIDE.has(token.text)) && before?.text !== '.') {
      return refuse(`A query reads and changes nothing: the word ${token.text.toUpperCase()} is not taken.`)
    }
    if (next?.text === '(' && REFUSED_FUNCTIONS.test(token.text))
      return refuse(`The function ${token.text} is not taken.`)
  }
  return { sql: query }
}

const refuse = (refused: string): CheckedQuery => ({ refused })

/** What a comment could hide differs between dialects, so none is taken; a string must end. */
function tokensOf(text: string): Token[] | string {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const rest = text.slice(at, at + 400)
    const one = rest[0]!
    if (/\s/.test(one)) {
      at += 1
      continue
    }
    if (rest.startsWith('--') || rest.startsWith('/*') || one === '#') return 'A query has no comments: leave them out.'
    if (rest.startsWith('{%') || rest.startsWith('{#'))
      return 'Templates are not rendered: only {{ ref(…) }} and {{ source(…) }}.'
    if (rest.startsWith('{{')) {
      const reference = REFERENCE.exec(rest) ?? DOUBLE_REFERENCE.exec(rest)
      if (reference === null) return 'Templates are not rendered: only {{ ref(…) }} and {{ source(…) }}.'
      tokens.push({ kind: 'reference', text: reference[0] })
      at += reference[0].length
      continue
    }
    if (one === '\\') return 'A query has no backslashes: dialects read them differently.'
    if (one === '$' && /^\$\w*\$/.test(rest)) return 'Dollar quotes are not taken.'
    if (one === "'" || one === '"' || one === '`') {
      const end = endOfQuote(text, at, one)
      if (end === -1) return 'A quote does not end.'
      const whole = text.slice(at, end)
      if (whole.includes('{{') || whole.includes('{%') || whole.includes('{#'))
        return 'Templates are not rendered inside quotes.'
      if (whole.includes('\\')) return 'A query has no backslashes: dialects read them differently.'
      tokens.push({ kind: one === "'" ? 'string' : 'quoted', text: whole })
      at = end
      continue
    }
    const word = /^[\p{L}_][\p{L}\p{N}_$]*/u.exec(rest)?.[0]
    tokens.push(word === undefined ? { kind: 'other', text: one } : { kind: 'word', text: word.toLowerCase() })
    at += word?.length ?? 1
  }
  return tokens
}

function endOfQuote(text: string, start: number, quote: string): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] !== quote) continue
    if (text[at + 1] === quote) at += 1
    else return at + 1
  }
  return -1
}
