// What a dbt project has names for, read from its files as texts.
import { parse } from 'yaml'

export interface Project {
  /** By path, relative to the project: models, YAML files, macros, seeds. */
  readonly files: ReadonlyMap<string, string>
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '')

export const nodeNames = ({ files }: Project): string[] =>
  [...files.keys()].filter((path) => /\.(?:sql|py|csv)$/.test(path) && !/^(?:macros|tests)\//.test(path)).map(nameOf)

export const macroNames = ({ files }: Project): string[] =>
  [...files.values()].flatMap((text) => [...text.matchAll(/\{%-?\s*macro\s+(\w+)/g)].map((match) => match[1]!))

/** `source.table`. */
export const sourceNames = (project: Project): string[] =>
  yamlFiles(project).flatMap((file) =>
    listOf(file, 'sources').flatMap((source) =>
      listOf(source, 'tables').map((table) => `${String(field(source, 'name'))}.${String(field(table, 'name'))}`),
    ),
  )

function yamlFiles({ files }: Project): unknown[] {
  return [...files].filter(([path]) => /\.ya?ml$/.test(path)).flatMap(([, text]) => parsed(text))
}

/** A list of one, or none where it is no YAML. */
export function parsed(text: string): unknown[] {
  try {
    return [parse(text, { logLevel: 'silent' })]
  } catch {
    return []
  }
}

export const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

export const listOf = (value: unknown, name: string): unknown[] => {
  const found = field(value, name)
  return Array.isArray(found) ? found : []
}

/** The values of the column in the seeds that have one of this name. */
export function dataOf({ files }: Project, column: string): Set<string> {
  const values = new Set<string>()
  for (const [path, text] of files) {
    const [head = '', ...rows] = text.trimEnd().split(/\r?\n/)
    // Quoted fields are for a parser; what it would say is not guessed.
    const at = head.split(',').indexOf(column)
    if (!/^seeds\/.*\.csv$/.test(path) || at === -1 || text.includes('"')) continue
    for (const row of rows) values.add(row.split(',')[at] ?? '')
  }
  return values
}
