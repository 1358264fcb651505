// The files that a command created or changed. The checkout belongs to a command that may be hostile and may still have
// children at work: the walk goes from open folder to open folder, looks at regular files only, and reads nothing;
// each file is opened again, and looked at again, when it is stored.
import { isUtf8 } from 'node:buffer'
import type { BigIntStats, Dirent } from 'node:fs'
import { type FileHandle, lstat, opendir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { DBT_STATE_FILES } from '../../domain/dbt-results.ts'
import { type FilePatterns, filePatterns } from '../../domain/file-pattern.ts'
import { openFile, openFolder, openRoot, within } from './beneath.ts'

export const MOST_FILE_BYTES = 64 * 1024 * 1024
export const MOST_FILES = 1_000
export const MOST_BYTES = 1024 * 1024 * 1024

const WALK_MS = 5_000
const MOST_ENTRIES = 200_000
const DEEPEST = 100
/** Folders in which there is much and nothing of ours: never looked into when they are excluded. */
const HEAVY = new Set(['.git', '.venv', 'node_modules', 'dbt_packages', '__pycache__'])

export interface Snapshot {
  /** By path (bytes as latin1): what changes when a file does. */
  readonly files: ReadonlyMap<string, string>
  /** False when there were too many: then the time of the last change decides for the others. */
  readonly complete: boolean
  readonly startedNs: bigint
}

export interface CollectLimits {
  readonly excluded: readonly string[]
  readonly maxFileBytes?: number
  /** What is left of these for the run. */
  readonly maxFiles?: number
  readonly maxBytes?: number
  readonly walkMs?: number
}

export interface CollectedFile {
  /** From the root of the checkout, with slashes. */
  readonly path: string
  readonly size: number
  /** False for what is excluded and kept for a retry. */
  readonly listed: boolean
  /** Null when it is no longer the file that was found. The stream must be read or destroyed. */
  open(): Promise<Readable | null>
}

export interface Collection {
  readonly files: readonly CollectedFile[]
  /** What was left out, as lines for the command's stderr. */
  readonly notes: readonly string[]
}

/** Before a command. */
export async function snapshot(root: string, excluded: readonly string[] = []): Promise<Snapshot> {
  const files = new Map<string, string>()
  // A little earlier than now: the clock of file systems is coarse.
  const startedNs = BigInt(Math.floor((performance.timeOrigin + performance.now() - 50) * 1_000)) * 1_000n
  const walked = await walk(root, filePatterns(excluded), WALK_MS, (path, stats) => {
    files.set(path.toString('latin1'), signature(stats))
  })
  return { files, complete: walked === 'all', startedNs }
}

// ctime as well: it tells of content that was changed under an old mtime, and nobody can set it.
const signature = ({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string => `${size}:${mtimeNs}:${ctimeNs}:${ino}`

interface Candidate {
  readonly path: Buffer
  readonly stats: BigIntStats
}

export async function collect(root: string, before: Snapshot, limits: CollectLimits): Promise<Collection> {
  const patterns = filePatterns(limits.excluded)
  const changed: Candidate[] = []
  /** How many names of one file are inside: one that has more of them has some outside. */
  const links = new Map<bigint, bigint>()
  const walked = await walk(root, patterns, limits.walkMs ?? WALK_MS, (path, stats) => {
    if (stats.nlink > 1n) links.set(stats.ino, (links.get(stats.ino) ?? 0n) + 1n)
    const known = before.files.get(path.toString('latin1'))
    const same = known === undefined ? !before.complete && stats.ctimeNs < before.startedNs : known === signature(stats)
    if (!same) changed.push({ path, stats })
  })
  const notes = new Notes()
  if (walked === 'gone') notes.say('The checkout is gone: no files were kept.')
  if (walked === 'some') notes.say('The checkout holds so many files that some were not looked at, and are not kept.')
  const usable = changed.filter(({ path, stats }) => {
    if (!isUtf8(path)) return notes.leave('names are not UTF-8', path)
    if (stats.nlink > (links.get(stats.ino) ?? 1n)) return notes.leave('are linked from outside of the checkout', path)
    return true
  })
  return { files: choose(root, usable, patterns, links, limits, notes), notes: notes.lines() }
}

/** State for a retry first, so that no limit takes it; then by path. */
function choose(
  root: string,
  usable: readonly Candidate[],
  patterns: FilePatterns,
  links: ReadonlyMap<bigint, bigint>,
  limits: CollectLimits,
  notes: Notes,
): CollectedFile[] {
  const { maxFileBytes = MOST_FILE_BYTES, maxFiles = MOST_FILES, maxBytes = MOST_BYTES } = limits
  const found = usable.map(({ path, stats }) => ({ path: path.toString(), bytes: path, stats }))
  const results = new Set(
    found.filter((one) => nameOf(one.path) === DBT_STATE_FILES[0]).map((one) => folderOf(one.path)),
  )
  const rank = (path: string): number =>
    results.has(folderOf(path)) && DBT_STATE_FILES.includes(nameOf(path))
      ? DBT_STATE_FILES.indexOf(nameOf(path))
      : DBT_STATE_FILES.length
  found.sort((a, b) => rank(a.path) - rank(b.path) || Buffer.compare(a.bytes, b.bytes))
  const files: CollectedFile[] = []
  let total = 0
  for (const { path, bytes, stats } of found) {
    const state = rank(path) < DBT_STATE_FILES.length
    const listed = !patterns.matches(path)
    const size = Number(stats.size)
    if (!listed && !state) notes.leave('are excluded by the environment', bytes)
    else if (size > maxFileBytes) notes.leave(`are over ${sizeText(maxFileBytes)}`, bytes)
    else if (!state && files.length >= maxFiles) notes.leave('are more than a run may keep', bytes)
    else if (!state && total + size > maxBytes) notes.leave(`are past the ${sizeText(MOST_BYTES)} of a run`, bytes)
    else {
      total += size
      files.push({ path, size, listed, open: () => openAgain(root, bytes, stats, links, maxFileBytes) })
    }
  }
  return files
}

async function openAgain(
  root: string,
  path: Buffer,
  found: BigIntStats,
  links: ReadonlyMap<bigint, bigint>,
  most: number,
): Promise<Readable | null> {
  let handle: FileHandle
  try {
    handle = await openFile(root, path)
  } catch {
    return null
  }
  const stats = await handle.stat({ bigint: true })
  const same = stats.ino === found.ino && stats.dev === found.dev && stats.nlink <= (links.get(stats.ino) ?? 1n)
  if (same && stats.size > 0n && stats.size <= BigInt(most)) {
    // No further than the size that was looked at, however fast it grows.
    return handle.createReadStream({ start: 0, end: Number(stats.size) - 1 })
  }
  await handle.close()
  return same && stats.size === 0n ? Readable.from([]) : null
}

type Visit = (path: Buffer, stats: BigIntStats) => void

/** Every regular file below the root, on its file system. `some`: too many, too deep or too slow; `gone`: no root. */
async function walk(root: string, patterns: FilePatterns, ms: number, visit: Visit): Promise<'all' | 'some' | 'gone'> {
  const until = performance.now() + ms
  let entries = 0
  let complete = true
  let stopped = false
  let device = 0n

  const into = async (folder: FileHandle, path: Buffer, depth: number): Promise<void> => {
    const inside = (name: Buffer): Buffer => (path.length === 0 ? name : Buffer.concat([path, SLASH, name]))
    const folders: Buffer[] = []
    let files: Buffer[] = []
    const look = async (): Promise<void> => {
      const names = files
      files = []
      const all = await Promise.all(
        names.map((name) => lstat(within(folder, name), { bigint: true }).catch(() => null)),
      )
      for (const [at, stats] of all.entries()) {
        if (stats?.isFile() && stats.dev === device) visit(inside(names[at]!), stats)
      }
    }
    // As bytes: a name that is not UTF-8 would otherwise not be found again.
    const list = await opendir(`/proc/self/fd/${folder.fd}`, { encoding: 'buffer' as BufferEncoding, bufferSize: 256 })
    for await (const entry of list as AsyncIterable<Dirent>) {
      if (++entries > MOST_ENTRIES || performance.now() > until) {
        complete = false
        stopped = true
        break
      }
      const name = entry.name as unknown as Buffer
      if (entry.isDirectory()) folders.push(name)
      else if (entry.isFile() && files.push(name) >= 64) await look()
    }
    await look()
    for (const name of folders) {
      const next = inside(name)
      if (HEAVY.has(name.toString('latin1')) && patterns.covers(next.toString())) continue
      if (stopped) return
      if (depth >= DEEPEST) {
        complete = false
        continue
      }
      const handle = await openFolder(folder, name).catch(() => null)
      if (handle === null) continue
      try {
        if ((await handle.stat({ bigint: true })).dev === device) await into(handle, next, depth + 1)
      } finally {
        await handle.close()
      }
    }
  }

  const base = await openRoot(root).catch(() => null)
  if (base === null) return 'gone'
  try {
    device = (await base.stat({ bigint: true })).dev
    await into(base, Buffer.alloc(0), 0)
  } finally {
    await base.close()
  }
  return complete ? 'all' : 'some'
}

const SLASH = Buffer.from('/')

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
const sizeText = (bytes: number): string =>
  bytes >= 1024 ** 3 ? `${bytes / 1024 ** 3} GiB` : `${Math.round((bytes / 1024 ** 2) * 10) / 10} MiB`

const NAMED = 5

class Notes {
  readonly #said: string[] = []
  readonly #left = new Map<string, { count: number; names: string[] }>()

  say(text: string): void {
    this.#said.push(text)
  }

  /** Gives false, for the filters that it stands in. */
  leave(why: string, path: Buffer): false {
    const group = this.#left.get(why) ?? { count: 0, names: [] }
    this.#left.set(why, group)
    // A name may hold line breaks and control characters: in quotes, with escapes, it is one line.
    if (++group.count <= NAMED) group.names.push(JSON.stringify(path.toString()).slice(0, 300))
    return false
  }

  lines(): string[] {
    const left = [...this.#left].map(([why, { count, names }]) => {
      const files = count === 1 ? '1 file was' : `${count} files were`
      const more = count > names.length ? ` and ${count - names.length} more` : ''
      return `${files} not kept because they ${why}: ${names.join(', ')}${more}`
    })
    return [...this.#said, ...left]
  }
}
