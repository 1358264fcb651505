// Files of a checkout, by names that were checked (paths.ts). Every step goes through an open folder.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink, rename, unlink } from 'node:fs/promises'
import { folderOf, giveTo, openFile, requireInside, within } from '../../worker/beneath.ts'
import { isGitName, PathRefused } from './paths.ts'

const MIB = 1024 * 1024
export const MOST_READ = 16 * MIB
export const MOST_WRITTEN = 2 * MIB

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

const bytesOf = (names: readonly string[]): Buffer[] => names.map((name) => Buffer.from(name))
const shown = (names: readonly string[]): string => names.join('/') || '.'

function refusal(names: readonly string[], error: unknown): PathRefused {
  const { code = '' } = error as NodeJS.ErrnoException
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file or folder',
    ENOTDIR: 'a part of the path is not a folder',
    ELOOP: 'a symbolic link was put into the path',
    EACCES: 'it may not be opened',
    EISDIR: 'it is a folder',
    ENOSPC: 'the disk is full',
    EEXIST: 'something is there already',
  }
  return new PathRefused(`${shown(names)}: ${words[code] ?? 'it is not a regular file'}.`)
}

/** The whole file. Rejects with PathRefused. */
export async function readWhole(root: string, names: readonly string[]): Promise<Buffer> {
  if (names.length === 0) throw new PathRefused('That is a folder: use list_directory.')
  let file: FileHandle
  try {
    file = await openFile(root, Buffer.from(names.join('/')))
  } catch (error) {
    throw refusal(names, error)
  }
  try {
    const { size } = await file.stat()
    if (size > MOST_READ) {
      const advice = 'Look at parts of it with run_terminal_command.'
      throw new PathRefused(`${shown(names)} has ${Math.ceil(size / MIB)} MiB, more than can be read. ${advice}`)
    }
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Puts a text in the place of a file, whole or not at all, with the mode that it had. Folders on the way are made. */
export async function writeWhole(root: string, names: readonly string[], text: string): Promise<void> {
  const name = names.at(-1)
  if (name === undefined) throw new PathRefused('That is a folder.')
  if (Buffer.byteLength(text) > MOST_WRITTEN)
    throw new PathRefused(`The text is larger than ${MOST_WRITTEN / MIB} MiB, which is the most that can be written.`)
  let folder: FileHandle | undefined
  try {
    folder = await folderOf(root, bytesOf(names.slice(0, -1)), true)
    const target = within(folder, Buffer.from(name))
    const before = await lstat(target).catch(() => null)
    if (before !== null && !before.isFile()) throw new PathRefused(`${shown(names)} is not a regular file.`)
    await requireFolderInside(root, folder)
    const draft = within(folder, Buffer.from(`.yardmaster-${randomBytes(8).toString('hex')}`))
    const file = await open(draft, NEW_FILE, 0o644)
    try {
      await file.writeFile(text)
      await file.chmod(before === null ? 0o644 : before.mode & 0o777)
      await giveTo(file, await folder.stat())
      await rename(draft, target)
    } catch (error) {
      await unlink(draft).catch(() => {})
      throw error
    } finally {
      await file.close()
    }
  } catch (error) {
    throw error instanceof PathRefused ? error : refusal(names, error)
  } finally {
    await folder?.close()
  }
}

/** The checkout itself is inside too. */
async function requireFolderInside(root: string, folder: FileHandle): Promise<void> {
  const place = await readlink(`/proc/self/fd/${folder.fd}`)
  if (place !== root) await requireInside(root, folder)
}

export interface Entry {
  readonly name: string
  readonly kind: 'folder' | 'file' | 'link' | 'other'
  /** Of a link, as it is written. */
  readonly target?: string
}

/** Sorted; the git folder is not among them. */
export async function listFolder(root: string, names: readonly string[]): Promise<Entry[]> {
  let folder: FileHandle | undefined
  try {
    folder = await folderOf(root, bytesOf(names), false)
    await requireFolderInside(root, folder)
    const found = await readdir(`/proc/self/fd/${folder.fd}`, { withFileTypes: true })
    const entries: Entry[] = []
    for (const one of found) {
      if (isGitName(one.name)) continue
      const kind = one.isDirectory() ? 'folder' : one.isFile() ? 'file' : one.isSymbolicLink() ? 'link' : 'other'
      const target =
        kind === 'link' ? await readlink(within(folder, Buffer.from(one.name))).catch(() => '?') : undefined
      entries.push({ name: one.name, kind, ...(target !== undefined && { target: String(target) }) })
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTDIR') throw new PathRefused(`${shown(names)} is not a folder: use read_file.`)
    throw error instanceof PathRefused ? error : refusal(names, error)
  } finally {
    await folder?.close()
  }
}
