// A command of dbt as a user writes it: one simple command whose first word is `dbt`. Anything that a shell would do more
// with than split and unquote is not looked into.

export interface Word {
  readonly value: string
  /** As it was written, with its quotes. */
  readonly raw: string
}

const KEPT_FLAGS = ['--project-dir', '--profiles-dir', '--target', '-t', '--target-path']

export interface DbtCommand {
  readonly command: string
  /** The words of the flags that go over to `dbt retry`, as they were written. */
  readonly kept: readonly string[]
}

/** Null for anything but one simple command whose first word is `dbt`. */
export function parseDbt(text: string): DbtCommand | null {
  const words = simpleWords(text)
  if (words === null || words[0]?.value !== 'dbt') return null
  const kept: string[] = []
  let command = ''
  for (let at = 1; at < words.length; at++) {
    const { value, raw } = words[at]!
    const flag = KEPT_FLAGS.find((one) => value === one || value.startsWith(`${one}=`))
    if (flag !== undefined) {
      kept.push(raw)
      const next = words[at + 1]
      if (value === flag && next !== undefined) {
        kept.push(next.raw)
        at++
      }
    } else if (command === '' && !value.startsWith('-')) command = value
  }
  return command === '' ? null : { command, kept }
}

/** The words of one simple command; null when a shell would do more with it than split and unquote. */
export function simpleWords(text: string): Word[] | null {
  const words: Word[] = []
  const pattern = /\s*((?:[^\s"'\\;&|<>()$`#!*?[\]{}~]|"[^"$`\\!]*"|'[^']*')+)(?=\s|$)/y
  let at = 0
  const trimmed = text.trimEnd()
  while (at < trimmed.length) {
    pattern.lastIndex = at
    const match = pattern.exec(trimmed)
    if (match === null) return null
    const raw = match[1]!
    words.push({ raw, value: raw.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single ?? '') })
    at = pattern.lastIndex
  }
  // `A=1 dbt run` is an assignment before a command, and its first word is not dbt anyway.
  return words.length === 0 || /\n/.test(trimmed) ? null : words
}
