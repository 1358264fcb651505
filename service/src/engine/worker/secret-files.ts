// Secret files lie in a private folder of the run for its time only.
import { chown, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface SecretFile {
  readonly name: string
  readonly content: string
}

/** `profiles.yml` → `YARDMASTER_FILE_PROFILES_YML`. */
export const variableOf = (name: string): string => `YARDMASTER_FILE_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`

/** Gives the variables that name the files; dbt finds its profiles by its own variable. */
export async function laySecretFiles(folder: string, files: readonly SecretFile[]): Promise<Record<string, string>> {
  if (files.length === 0) return {}
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const owner = await stat(folder)
  const environment: Record<string, string> = {}
  for (const { name, content } of files) {
    const path = join(folder, name)
    await writeFile(path, content, { mode: 0o600, flag: 'wx' })
    if (owner.uid !== process.getuid?.()) await chown(path, owner.uid, owner.gid)
    environment[variableOf(name)] = path
    if (name === 'profiles.yml') environment.DBT_PROFILES_DIR = folder
  }
  return environment
}
