// Files of a folder that somebody else may change at the same time: every step goes through an open folder, so that
// nothing that is exchanged on the way (a link in place of a folder, a pipe in place of a file) leads out of it or hangs.
// /proc/self/fd/<n>/<name> is `openat` in the words that Node has.
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink, unlink } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/** The path of something in an open folder. Bytes, because names need not be UTF-8. */
export const within = (folder: FileHandle, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name])

export const openRoot = (root: string): Promise<FileHandle> => open(root, FOLDER)

/** Rejects (ELOOP, ENOTDIR) for what is not, or no longer, a folder. */
export const openFolder = (parent: FileHandle, name: Buffer): Promise<FileHandle> =>
  // Node's own types know paths of bytes only where it documents them.
  open(within(parent, name), FOLDER)

/** The folder that a path leads to, made on the way where asked; never through a link. */
export async function folderOf(root: string, names: readonly Buffer[], make: boolean): Promise<FileHandle> {
  let folder = await openRoot(root)
  const owner = make ? await folder.stat() : null
  try {
    for (const name of names) {
      const made = make && (await makeFolder(folder, name))
      const next = await openFolder(folder, name)
      await folder.close()
      folder = next
      if (made && owner !== null) await giveTo(folder, owner)
    }
    return folder
  } catch (error) {
    await folder.close()
    throw error
  }
}

async function makeFolder(parent: FileHandle, name: Buffer): Promise<boolean> {
  try {
    await mkdir(within(parent, name), 0o755)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** A service that runs as root makes files for a command that may not. */
export async function giveTo(handle: FileHandle, owner: { readonly uid: number; readonly gid: number }): Promise<void> {
  if (process.getuid?.() === 0 && owner.uid !== 0) await handle.chown(owner.uid, owner.gid)
}

function namesOf(path: Buffer): { folders: Buffer[]; name: Buffer } {
  const names: Buffer[] = []
  let from = 0
  for (let at = path.indexOf(0x2f); ; at = path.indexOf(0x2f, from)) {
    const name = path.subarray(from, at === -1 ? path.length : at)
    const text = name.toString('latin1')
    if (text === '' || text === '.' || text === '..' || text.includes('\0'))
      throw new Error('not a path inside a folder')
    names.push(name)
    if (at === -1) break
    from = at + 1
  }
  return { folders: names.slice(0, -1), name: names.at(-1)! }
}

/** A regular file inside of `root`, open; rejects for anything else. */
export async function openFile(root: string, path: Buffer): Promise<FileHandle> {
  const { folders, name } = namesOf(path)
  const folder = await folderOf(root, folders, false)
  try {
    const target = within(folder, name)
    // Before opening: opening a device can already do something.
    if (!(await lstat(target)).isFile()) throw new Error('not a regular file')
    const handle = await open(target, FILE)
    try {
      if (!(await handle.stat()).isFile()) throw new Error('not a regular file')
      await requireInside(root, handle)
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  } finally {
    await folder.close()
  }
}

/** A second look at where the file is: a folder may have been moved out of the root on the way. */
export async function requireInside(root: string, handle: FileHandle): Promise<void> {
  const base = await openRoot(root)
  try {
    const [inside, file] = await Promise.all(
      [base, handle].map((one) => readlink(`/proc/self/fd/${one.fd}`, { encoding: 'buffer' })),
    )
    const start = Buffer.concat([inside!, Buffer.from('/')])
    if (!file!.subarray(0, start.length).equals(start)) throw new Error('outside of the folder')
  } finally {
    await base.close()
  }
}

/** Writes a new file, in place of one of that name; folders on the way are made, links are never followed. */
export async function writeFile(root: string, path: Buffer, content: Readable): Promise<void> {
  const { folders, name } = namesOf(path)
  let folder: FileHandle
  try {
    folder = await folderOf(root, folders, true)
  } catch (error) {
    content.destroy()
    throw error
  }
  try {
    const target = within(folder, name)
    await unlink(target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    const handle = await open(target, NEW_FILE, 0o644)
    await giveTo(handle, await folder.stat())
    await pipeline(content, handle.createWriteStream())
  } catch (error) {
    content.destroy()
    throw error
  } finally {
    await folder.close()
  }
}
