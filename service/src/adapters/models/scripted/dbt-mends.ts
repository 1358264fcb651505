// The smallest change of a file that mends a fault, where there is one that nobody needs to decide about: a name that is
// nearly another one, a comma, a parenthesis. Everything is a function of texts; null means that no rule fits.
import { nearest } from '../../../domain/nearest.ts'
import type { DbtFault } from './dbt-faults.ts'
import type { Project } from './dbt-project.ts'
import { dataOf, field, listOf, macroNames, nodeNames, parsed, sourceNames } from './dbt-project.ts'

export interface Mend {
  readonly file: string
  readonly before: string
  readonly after: string
  /** What was wrong, as a clause. */
  readonly why: string
}

export function mendOf(fault: DbtFault, project: Project): Mend | null {
  const before = project.files.get(fault.file)
  if (before === undefined) return null
  const change = changeOf(fault, before, project)
  // What is not in the file any more, somebody has mended already.
  return change === null || change.after === before ? null : { file: fault.file, before, ...change }
}

type Change = { readonly after: string; readonly why: string } | null

function changeOf(fault: DbtFault, text: string, project: Project): Change {
  switch (fault.kind) {
    case 'node':
      return rename(fault.name, nodeNames(project), 'model', (meant) =>
        text.replaceAll(new RegExp(`(\\bref\\(\\s*)(['"])${escaped(fault.name)}\\2`, 'g'), `$1$2${meant}$2`),
      )
    case 'source':
      return rename(fault.name, sourceNames(project), 'source', (meant) => renameSource(text, fault.name, meant))
    case 'macro':
      return rename(fault.name, macroNames(project), 'macro', (meant) =>
        text.replaceAll(new RegExp(`\\b${escaped(fault.name)}(?=\\s*\\()`, 'g'), meant),
      )
    case 'column':
      return rename(fault.name, fault.candidates, 'column', (meant) => renameColumn(fault, text, meant))
    case 'syntax':
      return mendSyntax(fault, text)
    case 'test':
      return mendAcceptedValue(fault.node, text, project)
    case 'other':
      return null
  }
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

function rename(name: string, known: Iterable<string>, what: string, change: (meant: string) => string | null): Change {
  const meant = nearest(name, known)
  const after = meant === undefined ? null : change(meant)
  return after === null ? null : { after, why: `there is no ${what} \`${name}\`; \`${meant}\` is meant` }
}

function renameSource(text: string, name: string, meant: string): string {
  const [source, table] = name.split('.').map(escaped)
  const [newSource, newTable] = meant.split('.')
  const pattern = new RegExp(`(\\bsource\\(\\s*)(['"])${source}\\2(\\s*,\\s*)(['"])${table}\\4`, 'g')
  return text.replaceAll(pattern, `$1$2${newSource}$2$3$4${newTable}$4`)
}

function renameColumn(fault: DbtFault & { readonly name: string }, text: string, meant: string): string | null {
  const name = escaped(fault.name)
  if (!/\.ya?ml$/.test(fault.file)) return text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), meant)
  return replaceOnce(text, new RegExp(`^(\\s*- name: *['"]?)${name}(['"]?[^\\S\\n]*)$`, 'gm'), `$1${meant}$2`)
}

/** Null where it is not there exactly once: which of them is meant, a rule cannot say. */
function replaceOnce(text: string, pattern: RegExp, by: string): string | null {
  return [...text.matchAll(pattern)].length === 1 ? text.replace(pattern, by) : null
}

/** After these nothing is missing. */
const OPEN_END = /(?:[,(]|\b(?:select|distinct|from|where|and|or|on|by|as|with|case|when|then|else|join|union|all))$/i

/**
 * Two mistakes that the place of the error gives away: the line before lacks its comma, where the error is at the first
 * word of a line; a parenthesis is open on the line, where the error is at a word that cannot stand inside of it.
 */
function mendSyntax(fault: Extract<DbtFault, { kind: 'syntax' }>, text: string): Change {
  const lines = text.split('\n')
  const at = lines.findIndex((line) => line.trim() === fault.line.trim())
  if (at === -1 || lines.findLastIndex((line) => line.trim() === fault.line.trim()) !== at) return null
  const line = lines[at]!
  const column = line.indexOf(line.trim()) + fault.before.trimStart().length
  if (fault.before.trim() === '') {
    const above = lines.slice(0, at).findLastIndex((one) => one.trim() !== '')
    const bare = lines[above]?.trimEnd() ?? ''
    if (above === -1 || OPEN_END.test(bare) || bare.includes('--') || bare.endsWith('}')) return null
    return {
      after: lines.with(above, `${bare},`).join('\n'),
      why: `a comma is missing after \`${bare.trim()}\``,
    }
  }
  const open = line.slice(0, column)
  if (/^(?:as|from|where|group|order)$/i.test(fault.token) && count(open, '(') === count(open, ')') + 1) {
    const after = lines.with(at, `${open.trimEnd()}) ${line.slice(column)}`).join('\n')
    return { after, why: `a parenthesis is not closed before \`${fault.token}\` in \`${line.trim()}\`` }
  }
  return null
}

const count = (text: string, one: string): number => text.split(one).length - 1

/**
 * A value of the data that the test does not accept, and an accepted one that no row has and that is nearly the same: the
 * test is misspelt. A new value in the data is a person's to judge.
 */
function mendAcceptedValue(test: string, text: string, project: Project): Change {
  const found = parsed(text)
    .flatMap((file) => listOf(file, 'models'))
    .flatMap((model) => listOf(model, 'columns').map((column) => ({ model, column })))
    .flatMap(({ model, column }) => {
      const name = `accepted_values_${String(field(model, 'name'))}_${String(field(column, 'name'))}_`
      return test.startsWith(name) ? acceptedOf(column).map((values) => ({ column, values })) : []
    })
  if (found.length !== 1) return null
  const { column, values } = found[0]!
  const data = dataOf(project, String(field(column, 'name')))
  const refused = [...data].filter((value) => !values.includes(value))
  const unused = values.filter((value) => !data.has(value))
  if (refused.length !== 1 || unused.length !== 1 || nearest(unused[0]!, refused) === undefined) return null
  const after = replaceOnce(
    text,
    new RegExp(`(['"\\s[,-])${escaped(unused[0]!)}(?=['"\\s\\],]|$)`, 'gm'),
    `$1${refused[0]}`,
  )
  if (after === null) return null
  return { after, why: `the accepted value \`${unused[0]}\` is in no row; \`${refused[0]}\` is meant, which is` }
}

const acceptedOf = (column: unknown): string[][] =>
  ['tests', 'data_tests']
    .flatMap((key) => listOf(column, key))
    .flatMap((test) => {
      const accepted = field(test, 'accepted_values')
      const values = listOf(accepted, 'values').concat(listOf(field(accepted, 'arguments'), 'values'))
      return values.length === 0 ? [] : [values.map(String)]
    })
