// Deferral: dbt compares with, and reads from, what another schedule built. The state is laid into a folder of the
// checkout; a dbt command that takes one is told where it is. Without a state yet, what needs one is taken out of the
// command, so that the first run builds everything.
import { posix } from 'node:path'
import { parseDbt, simpleWords, type Word } from './dbt-command.ts'
import type { Deferral } from './schedule.ts'

/** In the checkout. Every run has it in the same place: `dbt retry` finds it where the failed command had it. */
export const STATE_FOLDER = '.yardmaster/state'

/** What of a run another one defers to. */
export const DEFERRED_FILES = ['manifest.json', 'run_results.json', 'sources.json'] as const

/** A pull request's run defers as Turbo CI says, every other one as the schedule does. Null: not at all. */
export function deferralOf(schedule: {
  readonly prNumber: number | null
  readonly turboCi: Deferral | null
  readonly deferredSchedule: Deferral | null
}): Deferral | null {
  const { prNumber, turboCi, deferredSchedule } = schedule
  const chosen = prNumber !== null && turboCi?.enabled ? turboCi : deferredSchedule
  return chosen?.enabled ? chosen : null
}

/** For a schema, or a prefix of one, that belongs to the pull request alone; null for any other run. */
export const schemaPrefixOf = (prNumber: number | null): string | null => (prNumber === null ? null : `pr_${prNumber}`)

// `dbt retry --state` means something else: where the results of the failed command are.
const TAKES_STATE = [
  'build',
  'clone',
  'compile',
  'docs',
  'list',
  'ls',
  'run',
  'seed',
  'show',
  'snapshot',
  'source',
  'test',
]
const STATE_FLAGS = ['--state', '--defer-state']

/** The same command with `--state`, where it takes one and says none itself. dbt reads it from its project's folder. */
export function withState(text: string): string {
  const dbt = parseDbt(text)
  const words = simpleWords(text)
  if (dbt === null || words === null || !TAKES_STATE.includes(dbt.command)) return text
  if (words.some(({ value }) => STATE_FLAGS.some((flag) => value === flag || value.startsWith(`${flag}=`)))) return text
  const project = optionOf(words, '--project-dir') ?? '.'
  // From elsewhere the way back is not known here; the variable names the folder for those.
  if (posix.isAbsolute(project) || posix.normalize(project).startsWith('..')) return text
  return `${text.trimEnd()} --state ${posix.relative(project, STATE_FOLDER)}`
}

function optionOf(words: readonly Word[], flag: string): string | null {
  const at = words.findLastIndex(({ value }) => value === flag || value.startsWith(`${flag}=`))
  if (at === -1) return null
  const { value } = words[at]!
  return value === flag ? (words[at + 1]?.value ?? null) : value.slice(flag.length + 1)
}

const SELECTS = ['--select', '-s', '--models', '--model', '-m']
const EXCLUDES = ['--exclude']
const DEFERS = ['--defer', '--no-defer', '--favor-state', '--no-favor-state']

/** The same command without anything that needs a state. */
export function withoutState(text: string): string {
  const dbt = parseDbt(text)
  const words = simpleWords(text)
  if (dbt === null || words === null || !TAKES_STATE.includes(dbt.command)) return text
  const kept: string[] = []
  let changed = false
  for (let at = 0; at < words.length; at++) {
    const { value, raw } = words[at]!
    if (DEFERS.includes(value)) {
      changed = true
      continue
    }
    const [flag = '', given] = splitOnce(value)
    const exclude = EXCLUDES.includes(flag)
    if (!exclude && !SELECTS.includes(flag)) {
      kept.push(raw)
      continue
    }
    // dbt takes all words up to the next option.
    const values = given === undefined ? [] : [given]
    const from = at + 1
    while (given === undefined && at + 1 < words.length && !words[at + 1]!.value.startsWith('-')) {
      values.push(words[++at]!.value)
    }
    const criteria = values.flatMap((one) => one.split(/\s+/)).filter((one) => one !== '')
    if (!criteria.some(needsState)) {
      kept.push(raw, ...words.slice(from, at + 1).map((one) => one.raw))
      continue
    }
    changed = true
    const left = criteria.map((one) => stateless(one, exclude)).filter((one) => one !== '')
    if (left.length > 0) kept.push(flag, ...left.map(quoted))
  }
  return changed ? kept.join(' ') : text
}

function splitOnce(value: string): [string, string?] {
  const at = value.startsWith('-') ? value.indexOf('=') : -1
  return at === -1 ? [value] : [value.slice(0, at), value.slice(at + 1)]
}

const NEEDS_STATE = /^[+@\d]*(state|result|source_status):/
const needsState = (criterion: string): boolean => criterion.split(',').some((one) => NEEDS_STATE.test(one))

/** An intersection loses the parts that need a state; an exclusion that needs one excludes nothing. */
function stateless(criterion: string, exclude: boolean): string {
  if (!needsState(criterion)) return criterion
  return exclude
    ? ''
    : criterion
        .split(',')
        .filter((one) => !NEEDS_STATE.test(one))
        .join(',')
}

const quoted = (word: string): string => (/^[\w.,:/+@=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)
