// Patterns of files that are left out, in the way of .gitignore without its negations: `*` and `?` stay inside a name,
// `**` crosses folders, `[a-z]` is one character; a pattern without a slash is for a name at any depth, one with a
// slash is for the path from the root; a pattern that fits a folder fits all that is in it.

export const DEFAULT_EXCLUDED: readonly string[] = [
  '.git/**',
  '.venv/**',
  'node_modules/**',
  'dbt_packages/**',
  '**/__pycache__/**',
  'target/compiled/**',
  'target/run/**',
  '*.duckdb*',
]

export interface FilePatterns {
  /** Whether a file is left out, by its path from the root. */
  matches(path: string): boolean
  /** Whether everything in a folder is, so that nobody needs to look into it. */
  covers(folder: string): boolean
}

export function filePatterns(patterns: readonly string[]): FilePatterns {
  const parsed = patterns.map(parse).filter((one) => one.length > 0)
  const fits = (path: string): boolean => {
    const names = path.split('/')
    return parsed.some((pattern) => {
      for (let length = names.length; length > 0; length--) if (fitsNames(pattern, names.slice(0, length))) return true
      return false
    })
  }
  return {
    matches: fits,
    // `folder/**` fits everything in the folder: any name in it shows that.
    covers: (folder) =>
      fits(folder) || parsed.some((one) => one.at(-1) === '**' && fitsNames(one, [...folder.split('/'), 'x'])),
  }
}

function parse(pattern: string): string[] {
  const anchored = pattern.replace(/^\.?\//, '').replace(/\/+$/, '')
  const names = anchored.split('/').filter((name) => name !== '')
  return names.length === 1 && !pattern.startsWith('/') && names[0] !== '**' ? ['**', ...names] : names
}

/** Without going back more than to the last `**`, so that no pattern takes long. */
function fitsNames(pattern: readonly string[], names: readonly string[]): boolean {
  let [at, name, star, from] = [0, 0, -1, 0]
  while (name < names.length) {
    if (pattern[at] === '**') {
      star = at++
      from = name
    } else if (at < pattern.length && fitsName(pattern[at]!, names[name]!)) {
      at++
      name++
    } else if (star >= 0) {
      at = star + 1
      name = ++from
    } else return false
  }
  return at === pattern.length
}

function fitsName(pattern: string, name: string): boolean {
  let [at, letter, star, from] = [0, 0, -1, 0]
  while (letter < name.length) {
    const one = at < pattern.length ? fitsLetter(pattern, at, name[letter]!) : 0
    if (pattern[at] === '*') {
      star = at++
      from = letter
    } else if (one > 0) {
      at += one
      letter++
    } else if (star >= 0) {
      at = star + 1
      letter = ++from
    } else return false
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** How much of the pattern stands for this letter; 0 when it does not. */
function fitsLetter(pattern: string, at: number, letter: string): number {
  const one = pattern[at]
  if (one === '?') return 1
  if (one === '\\' && at + 1 < pattern.length) return pattern[at + 1] === letter ? 2 : 0
  const end = one === '[' ? pattern.indexOf(']', at + 2) : -1
  if (end === -1) return one === letter ? 1 : 0
  const not = pattern[at + 1] === '!' || pattern[at + 1] === '^'
  const set = pattern.slice(at + (not ? 2 : 1), end)
  return inSet(set, letter) === not ? 0 : end + 1 - at
}

function inSet(set: string, letter: string): boolean {
  for (let at = 0; at < set.length; at++) {
    if (set[at + 1] === '-' && at + 2 < set.length) {
      if (letter >= set[at]! && letter <= set[at + 2]!) return true
      at += 2
    } else if (set[at] === letter) return true
  }
  return false
}
