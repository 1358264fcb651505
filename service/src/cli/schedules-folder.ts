// Files that hold schedules, out of a checkout. As from git: symbolic links are not followed.
import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import type { ScheduleFileNames } from '../domain/schedule-file-names.ts'
import { isScheduleFile } from '../domain/schedule-file-names.ts'
import type { SourceFile } from '../ports/source.ts'
import { refusal } from './errors.ts'

const MOST_FILE_BYTES = 1024 * 1024

/** Of a folder all that a server would read there; of a file that one, whatever its name. */
export async function readCheckout(path: string, names: ScheduleFileNames): Promise<SourceFile[]> {
  const found = await lstat(path).catch(() => null)
  if (found === null) throw refusal(`There is no ${path}. Name a checkout, or a file.`)
  if (!found.isDirectory()) return [{ path: basename(path), content: await contentOf(path) }]
  const accepts = isScheduleFile(names)
  const paths = new Set<string>()
  for (const folder of names.folders) {
    for (const one of await readdir(join(path, folder), { recursive: true, withFileTypes: true }).catch(() => [])) {
      if (!one.isDirectory()) paths.add(relative(path, join(one.parentPath, one.name)).split(sep).join('/'))
    }
  }
  for (const file of names.files) if ((await lstat(join(path, file)).catch(() => null)) !== null) paths.add(file)
  const wanted = [...paths].filter(accepts).sort()
  if (wanted.length === 0) {
    const where = [...names.folders.map((one) => `${one}/`), ...names.files].join(', ')
    throw refusal(`No files with schedules in ${path}. They are looked for in ${where}.`)
  }
  return await Promise.all(wanted.map(async (one) => ({ path: one, content: await contentOf(join(path, one)) })))
}

async function contentOf(path: string): Promise<SourceFile['content']> {
  const found = await lstat(path)
  if (found.isSymbolicLink()) return { refused: 'is a symbolic link, which is not followed' }
  if (found.size > MOST_FILE_BYTES) return { refused: `is larger than ${MOST_FILE_BYTES / 1024} KiB` }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)) }
  } catch {
    return { refused: 'is not text in UTF-8' }
  }
}
