// Takes the changes of a hostile tree into an index, file by file. git lists what changed (ignored files left out), each
// path is looked at here, and git is given the names of plain files and symbolic links alone. Nested repositories are
// left out, and so is what is too large; what is left out is said.
import { constants, type Stats } from 'node:fs'
import { access, lstat } from 'node:fs/promises'
import { SourceFault } from '../../ports/source.ts'
import type { RunGit } from './run-git.ts'

const MIB = 1024 * 1024
export const MOST_FILE_BYTES = 20 * MIB
export const MOST_BYTES = 200 * MIB
export const MOST_FILES = 20_000
const MOST_NOTES = 10

export interface Staged {
  readonly files: number
  readonly notes: readonly string[]
}

interface Change {
  readonly path: Buffer
  readonly size: number
}

/** `paths`: only these files and folders; null is everything. */
export async function stage(folder: string, run: RunGit, paths: readonly string[] | null): Promise<Staged> {
  const notes: string[] = []
  const say = (path: Buffer, why: string): void => void notes.push(`${JSON.stringify(path.toString())} ${why}`)
  const links = await submodules(run)
  const look = looker(folder)
  const removed: Buffer[] = []
  const found: Change[] = []
  for (const path of await listed(run, notes)) {
    if (links.has(path.toString('latin1')) || !isWanted(path, paths)) continue
    if (path.at(-1) === 0x2f) {
      say(path, 'is a repository of its own and was left out')
      continue
    }
    const stats = await look(path)
    const isFile = stats !== null && (stats.isFile() || stats.isSymbolicLink())
    if (!isFile) removed.push(path)
    else if (stats.size > MOST_FILE_BYTES) say(path, `is larger than ${MOST_FILE_BYTES / MIB} MiB and was left out`)
    else if (stats.isFile() && !(await isReadable(folder, path))) say(path, 'cannot be read and was left out')
    else found.push({ path, size: stats.size })
  }
  const taken = fitting(found, say)
  // An id of zeros is a removal, also where a folder or a pipe stands in the place of the file.
  const gone = removed.map((path) => Buffer.concat([Buffer.from(`0 ${'0'.repeat(40)}\t`), path]))
  if (gone.length > 0) await run(['update-index', '-z', '--index-info'], { input: joined(gone) })
  const names = taken.map(({ path }) => path)
  if (names.length > 0)
    await run(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], { input: joined(names) })
  const more = notes.length - MOST_NOTES
  return {
    files: taken.length + removed.length,
    notes: more > 0 ? [...notes.slice(0, MOST_NOTES), `and ${more} more were left out`] : notes,
  }
}

/** The small ones first: one that is too large takes nobody else along. */
function fitting(found: readonly Change[], say: (path: Buffer, why: string) => void): Change[] {
  let total = 0
  const taken: Change[] = []
  for (const change of found.toSorted((a, b) => a.size - b.size)) {
    total += change.size
    if (total > MOST_BYTES)
      say(change.path, `was left out: the changes are larger than ${MOST_BYTES / MIB} MiB together`)
    else if (taken.length >= MOST_FILES) say(change.path, `was left out: more than ${MOST_FILES} files changed`)
    else taken.push(change)
  }
  return taken
}

async function listed(run: RunGit, notes: string[]): Promise<Buffer[]> {
  const changed = ['ls-files', '-z', '--modified', '--deleted']
  try {
    return unique((await run([...changed, '--others', '--exclude-standard'])).stdout)
  } catch (error) {
    if (!(error instanceof SourceFault) || !/more output/.test(error.message)) throw error
    notes.push('There are more new files than can be listed: none of them was taken')
    return unique((await run(changed)).stdout)
  }
}

async function submodules(run: RunGit): Promise<ReadonlySet<string>> {
  const all = split((await run(['ls-files', '-z', '--stage'])).stdout)
  const links = all.filter((line) => line.subarray(0, 7).toString() === '160000 ')
  return new Set(links.map((line) => line.subarray(line.indexOf(0x09) + 1).toString('latin1')))
}

/** What is at a path, without going through a link; null: nothing that git could have taken. */
function looker(folder: string): (path: Buffer) => Promise<Stats | null> {
  const folders = new Map<string, Promise<boolean>>()
  const statsOf = (path: Buffer): Promise<Stats | null> => lstat(pathIn(folder, path)).catch(() => null)
  const isFolder = (path: Buffer): Promise<boolean> => {
    const key = path.toString('latin1')
    const known = folders.get(key)
    if (known !== undefined) return known
    const found = (async () => (await hasFolders(path)) && (await statsOf(path))?.isDirectory() === true)()
    folders.set(key, found)
    return found
  }
  const hasFolders = async (path: Buffer): Promise<boolean> => {
    const end = path.lastIndexOf(0x2f)
    return end === -1 || (await isFolder(path.subarray(0, end)))
  }
  return async (path) => ((await hasFolders(path)) ? await statsOf(path) : null)
}

const pathIn = (folder: string, path: Buffer): Buffer => Buffer.concat([Buffer.from(`${folder}/`), path])

const isReadable = (folder: string, path: Buffer): Promise<boolean> =>
  access(pathIn(folder, path), constants.R_OK).then(
    () => true,
    () => false,
  )

function isWanted(path: Buffer, paths: readonly string[] | null): boolean {
  if (paths === null) return true
  const text = path.toString()
  return paths.some((one) => one === '' || text === one || text.startsWith(`${one}/`))
}

const unique = (bytes: Buffer): Buffer[] => [
  ...new Map(split(bytes).map((path) => [path.toString('latin1'), path])).values(),
]

function split(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let from = 0, end = bytes.indexOf(0); end !== -1; from = end + 1, end = bytes.indexOf(0, from))
    parts.push(bytes.subarray(from, end))
  return parts
}

const joined = (parts: readonly Buffer[]): Buffer => Buffer.concat(parts.flatMap((part) => [part, Buffer.alloc(1)]))
