// What installs leave for later runs, in a folder for each workspace.
//
// What is kept stands under a key in a folder `<key>.<run>-<attempt>` that its run made for it alone, because a virtual
// environment cannot be moved; a small file `<key>.json` names it, and is written when it is whole. So a run that was
// killed leaves nothing that anybody uses, and of two runs that make the same at once each has its own, and the first
// one's is kept. The folder is written by the install step of its run and by nobody after that; where commands cannot be
// held off it (L0), it is sealed, and one that was changed is not used again.
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

export interface DependencyCache {
  /** Of this workspace alone. */
  readonly folder: string
  /** Where the run works; what it left half-made is nobody's once this is gone. */
  readonly run: string
  /** Whether what is kept must be looked at before it is used, because commands could have written to it. */
  readonly isOpenToCommands: boolean
  readonly now: Date
}

export interface Draft {
  readonly folder: string
  /** It is whole: later runs may use it. */
  keep(): Promise<void>
  discard(): Promise<void>
}

/** What nobody used this long is removed; with it go those of versions that were renewed. */
const KEPT_DAYS = 7
const DAY_MS = 86_400_000

interface Pointer {
  readonly folder: string
  readonly seal: string
}

/** The folder that stands under the key; null when there is none, or none that can be trusted. */
export async function findKept(cache: DependencyCache, key: string): Promise<string | null> {
  const file = join(cache.folder, `${key}.json`)
  const pointer = await readPointer(file)
  if (pointer === null) return null
  const folder = join(cache.folder, pointer.folder)
  const isWhole = cache.isOpenToCommands ? (await sealOf(folder)) === pointer.seal : await exists(folder)
  if (isWhole) {
    await utimes(file, cache.now, cache.now).catch(() => {})
    return folder
  }
  // Other runs may be using it: it goes when none of them can be there any more.
  await writeFile(`${folder}.spoilt`, '').catch(() => {})
  await rm(file, { force: true })
  return null
}

export async function draftOf(cache: DependencyCache, key: string): Promise<Draft> {
  const folder = join(cache.folder, `${key}.${basename(cache.run)}`)
  await mkdir(cache.folder, { recursive: true, mode: 0o700 })
  await removeTree(folder)
  await mkdir(folder, { mode: 0o755 })
  return {
    folder,
    keep: async () => {
      const pointer: Pointer = { folder: basename(folder), seal: await sealOf(folder) }
      const written = `${folder}.json`
      await writeFile(written, JSON.stringify(pointer), { mode: 0o600 })
      // Another run may have been first: then this one is used by its own run and goes after it.
      await link(written, join(cache.folder, `${key}.json`)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
      await rm(written)
    },
    discard: () => removeTree(folder),
  }
}

/** Removes what nobody can be using: half-made by runs that are gone, spoilt, or not asked for in a week. */
export async function tidyUp({ folder, run, now }: DependencyCache): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const used = new Set<string>()
  for (const name of names.filter((one) => /^[a-z]+-[0-9a-f]+\.json$/.test(one))) {
    const pointer = await readPointer(join(folder, name))
    if (await isOld(join(folder, name), now)) {
      await rm(join(folder, name), { force: true })
      if (pointer !== null) await removeTree(join(folder, pointer.folder))
    } else if (pointer !== null) used.add(pointer.folder)
  }
  for (const name of names) {
    const maker = /^[a-z]+-[0-9a-f]+\.(\d+-\d+)$/.exec(name)?.[1]
    if (maker === undefined || used.has(name)) continue
    const spoilt = `${join(folder, name)}.spoilt`
    const isDone = (await exists(spoilt)) ? await isOld(spoilt, now) : !(await exists(join(dirname(run), maker)))
    if (!isDone) continue
    await removeTree(join(folder, name))
    await rm(spoilt, { force: true })
  }
}

const isOld = async (path: string, now: Date): Promise<boolean> => {
  const found = await stat(path).catch(() => null)
  return found !== null && now.getTime() - found.mtimeMs > KEPT_DAYS * DAY_MS
}

async function readPointer(file: string): Promise<Pointer | null> {
  try {
    const { folder, seal } = JSON.parse(await readFile(file, 'utf8')) as Partial<Pointer>
    return typeof folder === 'string' && basename(folder) === folder && typeof seal === 'string'
      ? { folder, seal }
      : null
  } catch {
    return null
  }
}

/** Changes when anything inside does: nobody can set the time of a change, which is part of it. */
async function sealOf(root: string): Promise<string> {
  const hash = createHash('sha256')
  const into = async (folder: string): Promise<void> => {
    const names = (await readdir(join(root, folder)).catch(() => [])).sort()
    const all = await Promise.all(
      names.map((name) => lstat(join(root, folder, name), { bigint: true }).catch(() => null)),
    )
    for (const [at, stats] of all.entries()) {
      const path = join(folder, names[at]!)
      hash.update(`${path}\0${stats === null ? 'gone' : signature(stats)}\0`)
      if (stats?.isSymbolicLink()) hash.update(await readlink(join(root, path)).catch(() => ''))
      if (stats?.isDirectory()) await into(path)
    }
  }
  await into('')
  return hash.digest('hex')
}

const signature = ({ mode, size, mtimeNs, ctimeNs, ino }: BigIntStats): string =>
  [mode, size, mtimeNs, ctimeNs, ino].join(':')

/** Folders in it may have been made read-only, which holds off everybody but root. */
async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM') throw error
    await makeWritable(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o700)
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name))
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
