// What a run needs installed. The environment's own step, or what the checkout asks for: a virtual environment from
// requirements.txt or pyproject.toml beside the environment's packages, and dbt's packages.
//
// A virtual environment is kept under a key of everything it is made from: files, packages, Python, platform; the commit
// where the repository itself is installed; the day where versions are not pinned. Everything is made by the install
// step as a command like any other; the service itself never reads or copies what a checkout holds.
import { createHash } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type DependencyCache, type Draft, draftOf, findKept, tidyUp } from './dependency-cache.ts'
import { isPinned, readInside, readRequirements } from './requirements.ts'

export interface DependencyRequest {
  readonly cache: DependencyCache
  readonly checkout: string
  readonly commit: string
  readonly installStep: string | null
  readonly pythonPackages: readonly string[]
  /** Python's version and the platform, such as `3.11.7 linux-x64`; null where there is no Python. */
  readonly python: string | null
}

export interface InstallCommand {
  /** What a shell runs; null when everything is there already. */
  readonly script: string | null
  readonly venv: string | null
  /** Folders that the script may write, and those that it needs; user commands write neither. */
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
  /** Called when the script succeeded: keeps what it made. */
  keep(): Promise<void>
  /** Called when it did not: nothing of it is left. */
  discard(): Promise<void>
}

export async function planInstall(request: DependencyRequest): Promise<InstallCommand> {
  const { cache, checkout, installStep } = request
  await tidyUp(cache)
  const parts: Part[] = []
  const base = await planVenv(request)
  if (base !== null) parts.push(base)
  // A step of the environment's own may install whatever it likes: into a copy that goes with the run.
  const venv = base === null || installStep === null ? base : await copyOf(base.folder, cache.run)
  if (venv !== null && venv !== base) parts.push(venv)
  if (installStep === null) parts.push(...(await planDbtPackages(request)))
  const activate = venv === null ? [] : activation(venv.folder)
  const lines = [...parts.flatMap((part) => part.before), ...activate, ...parts.flatMap((part) => part.after)]
  if (installStep !== null) lines.push(installStep)
  const isNothing = installStep === null && parts.every((part) => part.before.length + part.after.length === 0)
  return {
    script: isNothing ? null : ['set -e', `cd ${quote(checkout)}`, ...lines].join('\n'),
    venv: venv?.folder ?? null,
    writable: parts.flatMap((part) => (part.isMade ? [part.folder] : [])),
    readOnly: parts.flatMap((part) => (part.isMade ? [] : [part.folder])),
    keep: async () => {
      for (const { draft, proof } of parts) {
        if (draft === null) continue
        const isThere = await lstat(join(draft.folder, proof)).catch(() => null)
        await (isThere === null ? draft.discard() : draft.keep())
      }
    },
    discard: async () => {
      for (const { draft } of parts) await draft?.discard()
    },
  }
}

interface Part {
  readonly folder: string
  /** Lines of the script before and after the virtual environment is in PATH. */
  readonly before: readonly string[]
  readonly after: readonly string[]
  /** Whether the script writes there. */
  readonly isMade: boolean
  readonly draft: Draft | null
  /** What is in the draft when there is something to keep. */
  readonly proof: string
}

const kept = (folder: string, after: readonly string[] = []): Part => ({
  folder,
  before: [],
  after,
  isMade: false,
  draft: null,
  proof: '',
})

const activation = (venv: string): string[] => [
  `export VIRTUAL_ENV=${quote(venv)}`,
  `export PATH=${quote(join(venv, 'bin'))}:"$PATH"`,
]

/** The virtual environment that an earlier run kept for the same; null where there is none. Nothing is made. */
export async function findKeptVenv(request: DependencyRequest): Promise<string | null> {
  const wanted = await wantedVenv(request)
  return wanted === null ? null : await findKept(request.cache, wanted.key)
}

interface WantedVenv {
  readonly asked: Awaited<ReturnType<typeof readRequirements>>
  readonly key: string
}

/** Null where no Python packages are asked for. */
async function wantedVenv(request: DependencyRequest): Promise<WantedVenv | null> {
  const { checkout, pythonPackages, cache, python } = request
  const asked = request.installStep === null ? await readRequirements(checkout) : null
  if (asked === null && pythonPackages.length === 0) return null
  if (python === null) throw new Error('Python packages are asked for, and there is no python3 on this worker')
  const exact = pythonPackages.every(isPinned) && (asked?.isExact ?? true)
  const key = keyOf('venv', [
    python,
    ...(asked === null ? [] : [asked.name, ...asked.contents]),
    asked?.installsRepository ? request.commit : '',
    JSON.stringify(pythonPackages),
    exact ? '' : dayOf(cache.now),
  ])
  return { asked, key }
}

async function planVenv(request: DependencyRequest): Promise<Part | null> {
  const { pythonPackages, cache } = request
  const wanted = await wantedVenv(request)
  if (wanted === null) return null
  const { asked, key } = wanted
  const found = await findKept(cache, key)
  if (found !== null) return kept(found)
  const draft = await draftOf(cache, key)
  const { folder } = draft
  const pip = `${quote(join(folder, 'bin', 'python'))} -m pip --disable-pip-version-check --no-input install --quiet`
  const before = [`python3 -m venv ${quote(folder)}`]
  if (pythonPackages.length > 0) before.push(`${pip} -- ${pythonPackages.map(quote).join(' ')}`)
  if (asked !== null) before.push(asked.name === 'pyproject.toml' ? `${pip} .` : `${pip} --requirement ${asked.name}`)
  before.push(readOnly(folder))
  return { folder, before, after: [], isMade: true, draft, proof: 'bin/python' }
}

/** Without the right to write there, a job that tries is told so, and does not spoil it by accident. */
const readOnly = (folder: string): string => `chmod -R a-w ${quote(folder)}`

async function copyOf(venv: string, run: string): Promise<Part> {
  const folder = join(run, 'venv')
  await mkdir(folder, { recursive: true, mode: 0o755 })
  const [from, to] = [venv.replace(/[\\.*[\]^$|]/g, '\\$&'), folder.replace(/[\\&|]/g, '\\$&')]
  const before = [
    `cp -R ${quote(venv)}/. ${quote(folder)}/`,
    `chmod -R u+w ${quote(folder)}`,
    // Its programs name the Python that they belong to.
    `for file in ${quote(join(folder, 'bin'))}/*; do`,
    `  if [ -f "$file" ] && [ ! -L "$file" ] && grep -Iq . "$file"; then sed -i ${quote(`s|${from}|${to}|g`)} "$file"; fi`,
    'done',
  ]
  return { folder, before, after: [], isMade: true, draft: null, proof: '' }
}

const DBT_PACKAGES = ['dependencies.yml', 'packages.yml'] as const

/** dbt's packages are copied from the cache, because dbt looks for them inside the checkout. */
async function planDbtPackages({ checkout, cache }: DependencyRequest): Promise<Part[]> {
  const read = (name: string): Promise<string | null> => readInside(checkout, name)
  const asked = (await Promise.all(DBT_PACKAGES.map(read))).filter((content) => content !== null)
  if (asked.length === 0 || (await read('dbt_project.yml')) === null) return []
  const lock = await read('package-lock.yml')
  // Without its lock file dbt takes the newest that fits.
  const key = keyOf('dbt', [...asked, lock ?? dayOf(cache.now)])
  const found = await findKept(cache, key)
  if (found !== null) {
    const copy = `cp -R ${quote(join(found, 'dbt_packages'))} dbt_packages`
    return [kept(found, ['rm -rf dbt_packages', copy, 'chmod -R u+w dbt_packages'])]
  }
  const draft = await draftOf(cache, key)
  const copy = `cp -R dbt_packages ${quote(draft.folder)}/; ${readOnly(draft.folder)}`
  // A package of the repository itself is a link into this checkout, which no other run has.
  const mayKeep = '[ -d dbt_packages ] && [ ! -L dbt_packages ] && [ -z "$(find dbt_packages -type l)" ]'
  const after = ['dbt deps', `if ${mayKeep}; then ${copy}; fi`]
  return [{ folder: draft.folder, before: [], after, isMade: true, draft, proof: 'dbt_packages' }]
}

const dayOf = (now: Date): string => now.toISOString().slice(0, 10)

const keyOf = (what: string, parts: readonly string[]): string =>
  `${what}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24)}`

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
