// yardmaster.yaml: the same settings as nested keys. Gives what the file says, each value with its line, and the faults
// of the file itself (no YAML, unknown keys, a list where a section belongs).
import { readFileSync } from 'node:fs'
import { isAlias, isMap, isNode, isScalar, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { type Fault, nearest, shownValue } from './faults.ts'
import { plainError } from './files.ts'
import { type Setting, sections, settings } from './settings.ts'

export interface FileEntry {
  readonly setting: Setting
  /** `value`: what is written; `file`: the path of the file that holds the secret. */
  readonly form: 'value' | 'file'
  readonly value: unknown
  readonly key: string
  readonly line: number
}

export interface FileContent {
  readonly entries: readonly FileEntry[]
  readonly faults: readonly Fault[]
}

/** The keys that may stand at a path: settings, the `…File` forms of secrets, and sections. */
const known = new Map<string, { setting: Setting; form: 'value' | 'file' } | 'section'>([
  ...[...sections].map((name) => [name, 'section'] as const),
  ...settings.map((setting) => [setting.path, { setting, form: 'value' as const }] as const),
  ...settings
    .filter((setting) => setting.secret)
    .map((setting) => [`${setting.path}File`, { setting, form: 'file' as const }] as const),
])

/** `label` is how faults name the file. A file that is not there is a fault only when it was asked for by name. */
export function readYamlFile(path: string, label: string, required: boolean): FileContent {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (absent && !required) return { entries: [], faults: [] }
    const mend = 'Name a file that Yardmaster can read (YARDMASTER_CONFIG or --config), or remove the name.'
    return { entries: [], faults: [{ subject: label, text: `${plainError(error)}. ${mend}` }] }
  }
  return parseYaml(text, label)
}

export function parseYaml(text: string, label: string): FileContent {
  const lines = new LineCounter()
  // Without prettyErrors, which quote the line: it may hold a secret. For the same reason only the code is told.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const broken = [...document.errors, ...document.warnings]
  if (broken.length > 0) {
    return {
      entries: [],
      // The first of each line: the parser finds the same mistake several times.
      faults: broken
        .map((error) => ({ ...lines.linePos(error.pos[0]), what: error.code.toLowerCase().replaceAll('_', ' ') }))
        .filter(({ line }, index, all) => all.findIndex((other) => other.line === line) === index)
        .map(({ line, col, what }) => {
          const mend = 'Check indentation, colons and quotes there; a text with special characters needs quotes.'
          return { subject: `${label}:${line}`, text: `is not valid YAML at column ${col} (${what}). ${mend}` }
        }),
    }
  }

  const entries: FileEntry[] = []
  const faults: Fault[] = []
  const lineOf = (node: unknown) => (isNode(node) && node.range ? lines.linePos(node.range[0]).line : 1)
  const resolved = (node: unknown) => (isAlias(node) ? node.resolve(document) : node)

  // The name is not told: an unquoted secret that begins with * reads as an alias.
  const badAlias = (line: number): Fault => ({
    subject: `${label}:${line}`,
    text: 'refers (*) to an anchor (&) that is not there. Put a text that begins with * in quotes.',
  })

  const readMap = (map: YAMLMap, parent: string) => {
    for (const pair of map.items as Pair<Node, Node | null>[]) {
      const name = isScalar(pair.key) ? String(pair.key.value) : '(not a text)'
      const key = parent ? `${parent}.${name}` : name
      const line = lineOf(pair.key)
      const value = resolved(pair.value)
      const here = known.get(key)
      if (isAlias(pair.value) && value === undefined) {
        faults.push(badAlias(line))
      } else if (here === undefined) {
        faults.push({ subject: `${label}:${line}`, text: unknownKey(key) })
      } else if (value === null || value === undefined || (isScalar(value) && value.value === null)) {
        // `port:` with nothing behind it: not given, as with an empty variable.
      } else if (here !== 'section') {
        try {
          entries.push({ ...here, key, line, value: (value as Node).toJS(document) })
        } catch {
          // Inside a list or a map an alias is looked up only here, and the library throws with its name.
          faults.push(badAlias(line))
        }
      } else if (isMap(value)) {
        readMap(value, key)
      } else {
        const inner = [...known.keys()].filter((path) => path.startsWith(`${key}.`))
        const mend = `Write it as a section with keys below it: ${inner.map((path) => path.slice(key.length + 1)).join(', ')}.`
        faults.push({ subject: `${label}:${line}`, text: `${key} holds no settings. ${mend}` })
      }
    }
  }

  const root = document.contents
  if (isMap(root)) readMap(root, '')
  else if (root !== null && !(isScalar(root) && root.value === null)) {
    const mend = 'Write settings as keys, for example port: 4400.'
    faults.push({ subject: `${label}:${lineOf(root)}`, text: `holds no settings. ${mend}` })
  }
  return { entries, faults }
}

function unknownKey(key: string): string {
  const meant = nearest(key, known.keys()) ?? nearest(key.split('.').at(-1)!, known.keys())
  const shown = shownValue(key).slice(1, -1)
  return `${shown} is not a setting. ${meant ? `Did you mean ${meant}? ` : ''}Remove or rename it; docs/configuration.md lists all.`
}
