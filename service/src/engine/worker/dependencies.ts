// What a run needs installed. The environment's own step, or what the checkout asks for: a virtual environment from
// requirements.txt or pyproject.toml beside the environment's packages, and dbt's packages.
//
// A virtual environment is kept under a key of everything it is made from (files, packages, Python, platform; the day
// too where versions are not pinned), is made by the install step alone, and user commands may not write to it. It is
// made in its last place, because virtual environments cannot be moved, and counts once its marker is there: one that a
// killed run left half-made is made anew.
import { createHash } from 'node:crypto'
import { cp, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface DependencyRequest {
  /** The cache of this workspace alone. */
  readonly cacheFolder: string
  readonly checkout: string
  readonly installStep: string | null
  readonly pythonPackages: readonly string[]
  /** Python's version and the platform, such as `3.11.7 linux-x64`; null where there is no Python. */
  readonly python: string | null
  readonly now: Date
}

export interface InstallCommand {
  /** What the run lists. */
  readonly title: string
  /** What a shell runs; null when everything is there already. */
  readonly script: string | null
  readonly venv: string | null
  /** Called when the script succeeded: keeps what it made. */
  keep(): Promise<void>
}

export interface Prepared {
  readonly environment: Readonly<Record<string, string>>
  readonly readOnly: readonly string[]
}

const REQUIREMENTS = ['requirements.txt', 'pyproject.toml'] as const
const DBT_PACKAGES = ['dependencies.yml', 'packages.yml'] as const

export async function planInstall(request: DependencyRequest): Promise<InstallCommand> {
  const { checkout, installStep } = request
  const venv = await planVenv(request)
  const packages = installStep === null ? await planDbtPackages(request) : null
  const lines = [...(venv?.script ?? []), ...(installStep === null ? (packages?.script ?? []) : [installStep])]
  const activate =
    venv === null
      ? []
      : [`export VIRTUAL_ENV=${quote(venv.folder)}`, `export PATH=${quote(join(venv.folder, 'bin'))}:"$PATH"`]
  return {
    title: installStep ?? 'install dependencies',
    script: lines.length === 0 ? null : ['set -e', `cd ${quote(checkout)}`, ...activate, ...lines].join('\n'),
    venv: venv?.folder ?? null,
    keep: async () => {
      if (venv !== null) await writeFile(join(venv.folder, MARKER), '')
      await packages?.keep()
    },
  }
}

/** What the commands after the install step get. */
export function prepared(install: InstallCommand, path: string): Prepared {
  if (install.venv === null) return { environment: {}, readOnly: [] }
  return {
    environment: { VIRTUAL_ENV: install.venv, PATH: `${join(install.venv, 'bin')}:${path}` },
    readOnly: [install.venv],
  }
}

const MARKER = '.yardmaster-complete'

interface Venv {
  readonly folder: string
  readonly script: readonly string[]
}

async function planVenv(request: DependencyRequest): Promise<Venv | null> {
  const { checkout, pythonPackages, cacheFolder } = request
  const found = request.installStep === null ? await firstOf(checkout, REQUIREMENTS) : null
  if (found === null && pythonPackages.length === 0) return null
  if (request.python === null) throw new Error('Python packages are asked for, and there is no python3 on this worker')
  const pinned = [
    ...pythonPackages,
    ...(found?.name === 'requirements.txt' ? requirementLines(found.content) : []),
  ].every(isPinned)
  const exact = pinned && found?.name !== 'pyproject.toml'
  const key = hash([
    request.python,
    found?.name ?? '',
    found?.content ?? '',
    ...pythonPackages,
    exact ? '' : request.now.toISOString().slice(0, 10),
  ])
  const folder = join(cacheFolder, `venv-${key}`)
  if (await exists(join(folder, MARKER))) return { folder, script: [] }
  await rm(folder, { recursive: true, force: true })
  await mkdir(cacheFolder, { recursive: true, mode: 0o700 })
  const pip = `${quote(join(folder, 'bin', 'python'))} -m pip --disable-pip-version-check --no-input install --quiet`
  return {
    folder,
    script: [
      `python3 -m venv ${quote(folder)}`,
      ...(pythonPackages.length === 0 ? [] : [`${pip} -- ${pythonPackages.map(quote).join(' ')}`]),
      ...(found === null
        ? []
        : [found.name === 'requirements.txt' ? `${pip} --requirement requirements.txt` : `${pip} .`]),
    ],
  }
}

interface DbtPackages {
  readonly script: readonly string[]
  keep(): Promise<void>
}

/** dbt's packages are copied from the cache, because dbt looks for them inside the checkout. */
async function planDbtPackages({ checkout, cacheFolder }: DependencyRequest): Promise<DbtPackages | null> {
  const asked = await firstOf(checkout, DBT_PACKAGES)
  if (asked === null || !(await exists(join(checkout, 'dbt_project.yml')))) return null
  const lock = await readText(join(checkout, 'package-lock.yml'))
  const kept = join(cacheFolder, `dbt-${hash([asked.content, lock ?? ''])}`)
  const folder = join(checkout, 'dbt_packages')
  if (await exists(join(kept, MARKER))) {
    await cp(join(kept, 'dbt_packages'), folder, { recursive: true })
    return { script: [], keep: async () => {} }
  }
  return {
    script: ['dbt deps'],
    keep: async () => {
      if (!(await exists(folder))) return
      await rm(kept, { recursive: true, force: true })
      await mkdir(kept, { recursive: true, mode: 0o700 })
      await cp(folder, join(kept, 'dbt_packages'), { recursive: true })
      await writeFile(join(kept, MARKER), '')
    },
  }
}

const requirementLines = (content: string): string[] =>
  content
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')

const isPinned = (line: string): boolean =>
  /^[A-Za-z0-9._[\],-]+\s*={2,3}\s*[A-Za-z0-9.+!_-]+$/.test(line.split(';')[0]!.trim())

async function firstOf(folder: string, names: readonly string[]): Promise<{ name: string; content: string } | null> {
  for (const name of names) {
    const content = await readText(join(folder, name))
    if (content !== null) return { name, content }
  }
  return null
}

async function readText(path: string): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (found === null || !found.isFile() || found.size > 1024 * 1024) return null
  return await readFile(path, 'utf8').catch(() => null)
}

const hash = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24)

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
