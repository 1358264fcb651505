// A repository on this machine is read with the rights of the service. It may not lead into the service's own folders,
// where mirrors of other workspaces and checkouts of other runs are, by whatever way a repository can name another place.
//
// Whoever can change files on the host while git reads them could still exchange one after it was looked at here.
import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { SourceFault } from '../../ports/source.ts'
import { isWithin } from '../executor/view.ts'

export interface OwnFolders {
  readonly closed: readonly string[]
  /** Inside of them, and open all the same. */
  readonly open: readonly string[]
}

const MOST_PLACES = 50

export async function refuseOwnFolders(address: string, own: OwnFolders): Promise<void> {
  const [closed, opened] = await Promise.all([realPaths(own.closed), realPaths(own.open)])
  for (const place of await placesOf(address)) {
    const isOurs = closed.some((folder) => isWithin(place, folder)) && !opened.some((folder) => isWithin(place, folder))
    if (isOurs) throw new SourceFault('the repository address leads into the folders of the service')
  }
}

/** The real paths of everything that git would read for this address. */
async function placesOf(address: string): Promise<ReadonlySet<string>> {
  const places = new Set<string>()
  const add = async (path: string): Promise<string | null> => {
    const real = await realpath(path).catch(() => null)
    if (real === null || places.size >= MOST_PLACES) return null
    places.add(real)
    return real
  }
  const objects = async (folder: string): Promise<void> => {
    const known = places.size
    const real = await add(folder)
    if (real === null || places.size === known) return
    for (const name of await readdir(real).catch(() => [])) await add(join(real, name))
    for (const line of (await firstBytes(join(real, 'info', 'alternates'))).split('\n')) {
      if (line !== '' && !line.startsWith('#')) await objects(resolve(real, line.replace(/^"|"$/g, '')))
    }
  }
  const gitFolder = async (folder: string): Promise<void> => {
    const real = await add(folder)
    if (real === null) return
    const pointed = /^gitdir: (.*)/.exec(await firstBytes(real))?.[1]
    if (pointed !== undefined) return await gitFolder(resolve(dirname(real), pointed.trim()))
    const common = (await firstBytes(join(real, 'commondir'))).trim()
    if (common !== '') await gitFolder(resolve(real, common))
    await objects(join(real, 'objects'))
    for (const name of ['HEAD', 'refs', 'packed-refs', 'config', 'shallow']) await add(join(real, name))
  }
  // The forms in which git looks for a repository at a path.
  for (const suffix of ['', '/.git', '.git', '.git/.git']) await gitFolder(`${address}${suffix}`)
  return places
}

/** Empty for a folder, for what is not there, and for what is no file. */
async function firstBytes(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return ''
  try {
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(16_384), 0, 16_384, 0)
    return buffer.subarray(0, bytesRead).toString()
  } finally {
    await file.close()
  }
}

const realPaths = (paths: readonly string[]): Promise<string[]> =>
  Promise.all(paths.map((path) => realpath(path).catch(() => path)))
