// What the healer reads with the tools: which run failed, where the project is, the files that a rule looks at.
import type { DbtFault } from './dbt-faults.ts'
import type { Project } from './dbt-project.ts'
import type { PlanResult, PlanStep } from './plan.ts'
import { asks, call } from './plan.ts'

export type Steps<T> = Generator<PlanStep, T, readonly PlanResult[]>

export interface ToolLine {
  readonly run_id?: number
  readonly command_id?: number
  readonly schedule?: string
  readonly state?: string
  readonly text?: string
}

/** The tools answer with one JSON object a line, among lines of words. */
export function linesOf(text: string): ToolLine[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    try {
      return [JSON.parse(line) as ToolLine]
    } catch {
      return []
    }
  })
}

/** The one that the message names, else the last that failed; a text where there is none. */
export function* findFailedRun(message: string): Steps<number | string> {
  const named = /\brun\s+(?:id\s+)?#?(\d{1,9})\b/i.exec(message)?.[1]
  if (named !== undefined) return Number(named)
  const [latest] = yield asks('I look for the last run that failed.', call('get_run_status', { limit: 20 }))
  if (latest!.isError) return `I could not look at the runs: ${latest!.text}`
  const failed = linesOf(latest!.text).find((one) => one.state === 'errored' || one.state === 'failed')
  return failed?.run_id ?? 'No run has failed lately: there is nothing to mend.'
}

/** Its folder ends in a slash; empty for the root. */
export function* findProject(command: string): Steps<{ readonly folder: string; readonly profile: string } | null> {
  const named =
    /--project-dir[= ]['"]?([\w./-]+)/.exec(command)?.[1] ?? /\bcd ['"]?([\w./-]+)['"]? *(?:&&|;)/.exec(command)?.[1]
  const folder = normal(named ?? '')
  const [file] = yield asks('', call('read_file', { path: `${folder}dbt_project.yml` }))
  if (file!.isError) return null
  const profile = /^profile: *['"]?([^'"\s#]+)/m.exec(file!.text)?.[1] ?? ''
  return { folder, profile }
}

const normal = (path: string): string => {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  return parts.length === 0 ? '' : `${parts.join('/')}/`
}

/** The folders that a project has unless it says otherwise. */
const FOLDERS = ['models', 'seeds', 'snapshots', 'macros']
const MOST_FOLDERS = 40
const MOST_READ = 40

/** The names of all files, and the texts of those that the rule for the fault reads. */
export function* readProject(folder: string, fault: DbtFault, changed: ReadonlyMap<string, string>): Steps<Project> {
  const paths = fault.kind === 'column' || fault.kind === 'syntax' ? [] : yield* listAll(folder)
  const wanted = [fault.file, ...paths.filter((path) => path !== fault.file && READ[fault.kind](path))].slice(
    0,
    MOST_READ,
  )
  const missing = wanted.filter((path) => !changed.has(path))
  const results =
    missing.length === 0
      ? []
      : yield asks('', ...missing.map((path) => call('read_file', { path: `${folder}${path}` })))
  const files = new Map(paths.map((path) => [path, '']))
  for (const [at, path] of missing.entries()) if (!results[at]!.isError) files.set(path, results[at]!.text)
  for (const [path, text] of changed) files.set(path, text)
  return { files }
}

const isYaml = (path: string): boolean => /\.ya?ml$/.test(path)

/** Beside the file of the fault. */
const READ: Readonly<Record<DbtFault['kind'], (path: string) => boolean>> = {
  node: () => false,
  source: isYaml,
  macro: (path) => path.startsWith('macros/'),
  column: () => false,
  syntax: () => false,
  test: (path) => /\.csv$/.test(path),
  other: () => false,
}

function* listAll(folder: string): Steps<string[]> {
  const found: string[] = []
  let level = FOLDERS
  for (let looked = 0; level.length > 0 && looked < MOST_FOLDERS; looked += level.length) {
    const results: readonly PlanResult[] = yield asks(
      '',
      ...level.map((path) => call('list_directory', { path: `${folder}${path}` })),
    )
    const below: string[] = []
    for (const [at, path] of level.entries()) {
      for (const name of results[at]!.isError ? [] : namesIn(results[at]!.text)) {
        if (name.endsWith('/')) below.push(`${path}/${name.slice(0, -1)}`)
        else found.push(`${path}/${name}`)
      }
    }
    level = below.slice(0, MOST_FOLDERS)
  }
  return found
}

/** Folders end in a slash. Links are not followed. */
const namesIn = (listing: string): string[] =>
  listing.split('\n').filter((line) => line.trim() !== '' && !line.includes(' -> '))
