// The dbt project of a checkout, for a query of an agent.
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readOnlyProfile } from './duckdb-profile.ts'

const PROJECT = 'dbt_project.yml'
const isFile = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null))?.isFile() === true

/** At the root, else in the first folder that has one; null: there is none. */
export async function projectFolder(checkout: string): Promise<string | null> {
  if (await isFile(join(checkout, PROJECT))) return checkout
  const below = (await readdir(checkout, { withFileTypes: true })).filter(
    (one) => one.isDirectory() && !one.name.startsWith('.'),
  )
  for (const { name } of below.toSorted((a, b) => a.name.localeCompare(b.name))) {
    if (await isFile(join(checkout, name, PROJECT))) return join(checkout, name)
  }
  return null
}

/** A profile that lies in the repository, for an environment without one. */
export async function closeOwnProfile(project: string): Promise<void> {
  const path = join(project, 'profiles.yml')
  if (!(await isFile(path))) return
  const closed = readOnlyProfile(await readFile(path, 'utf8'))
  if (closed !== null) await writeFile(path, closed)
}
