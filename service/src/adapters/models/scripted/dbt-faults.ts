// What dbt says went wrong, read from its output. Only what its own words and DuckDB's tell for certain has a kind of its
// own; everything else is `other`, which nobody mends by rule.
import { stripVTControlCharacters } from 'node:util'

interface Where {
  /** Relative to the project. */
  readonly file: string
  /** Of the model or test, as the error names it. */
  readonly node: string
  /** In its own words, one line. */
  readonly said: string
}

export type DbtFault = Where &
  (
    | { readonly kind: 'node' | 'source' | 'macro'; readonly name: string }
    | { readonly kind: 'column'; readonly name: string; readonly candidates: readonly string[] }
    /** `line` is the line of the compiled text, `before` what stands in it before the token. */
    | { readonly kind: 'syntax'; readonly token: string; readonly line: string; readonly before: string }
    | { readonly kind: 'test' }
    | { readonly kind: 'other' }
  )

const STAMP = /^\d{2}:\d{2}:\d{2} {2}/
const MISSING_NODE =
  /^\s*\w+ '([^']+)' \(([^)]+)\) depends on a (node|source) named '([^']+)'(?: in package '[^']*')? which was not found/
const ERROR_IN = /^\s*(?:\w+ Error) in (?:\w+) (\S+) \(([^)]+)\)\s*$/
const FAILURE_IN = /^\s*Failure in test (\S+) \(([^)]+)\)\s*$/

/** Each once, in the order of the output. */
export function readFaults(output: string): DbtFault[] {
  const lines = stripVTControlCharacters(output).split(/\r?\n/)
  const faults: DbtFault[] = []
  for (const [at, stamped] of lines.entries()) {
    const line = stamped.replace(STAMP, '')
    const missing = MISSING_NODE.exec(line)
    // A warning about the same does not make a run fail.
    if (missing !== null && !line.includes('[WARNING]')) {
      const [, node = '', file = '', kind, name = ''] = missing
      faults.push({ kind: kind as 'node' | 'source', file, node: lastPart(node), name, said: line.trim() })
    }
    const error = ERROR_IN.exec(line)
    if (error !== null) faults.push(kindOf(messageAfter(lines, at), { node: error[1]!, file: error[2]! }))
    const failure = FAILURE_IN.exec(line)
    if (failure !== null) {
      faults.push({ kind: 'test', node: failure[1]!, file: failure[2]!, said: `the test ${failure[1]} failed` })
    }
  }
  const seen = new Set<string>()
  return faults.filter((one) => !seen.has(JSON.stringify(one)) && seen.add(JSON.stringify(one)))
}

const lastPart = (uniqueId: string): string => uniqueId.slice(uniqueId.lastIndexOf('.') + 1)

/** The lines of one message: those after its head that have no time before them. */
function messageAfter(lines: readonly string[], at: number): string[] {
  const end = lines.findIndex((line, index) => index > at && STAMP.test(line))
  return lines.slice(at + 1, end === -1 ? undefined : end)
}

function kindOf(message: readonly string[], { node, file }: { node: string; file: string }): DbtFault {
  const text = message.join('\n')
  const said = message.find((line) => line.trim() !== '')?.trim() ?? 'dbt gives no reason'
  const where = { node, file, said }
  const column =
    /Referenced column "([^"]+)" not found in FROM clause!\s*Candidate bindings: ([^\n]*)/.exec(text) ??
    /does not have a column named "([^"]+)"\s*Candidate bindings: ([^\n]*)/.exec(text)
  if (column !== null) {
    const candidates = [...column[2]!.matchAll(/"([^"]+)"/g)].map((match) => lastPart(match[1]!))
    return { kind: 'column', ...where, name: column[1]!, candidates }
  }
  const macro = /'([A-Za-z_]\w*)' is undefined/.exec(text)
  if (macro !== null) return { kind: 'macro', ...where, name: macro[1]! }
  return syntaxOf(message, where) ?? { kind: 'other', ...where }
}

function syntaxOf(message: readonly string[], where: Where): DbtFault | null {
  const token = /syntax error at or near "([^"]+)"/.exec(message.join('\n'))?.[1]
  const at = message.findIndex((line) => /^\s*LINE \d+: /.test(line))
  if (token === undefined || at === -1) return null
  const head = /^\s*LINE \d+: /.exec(message[at]!)![0]
  const caret = message[at + 1]?.search(/\^/) ?? -1
  // Long lines are cut by DuckDB: what is left cannot be found again.
  if (caret < head.length || message[at]!.includes('...')) return null
  const line = message[at]!.slice(head.length)
  return { kind: 'syntax', ...where, token, line, before: line.slice(0, caret - head.length) }
}
