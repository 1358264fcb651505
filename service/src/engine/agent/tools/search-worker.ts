// The thread of one search: a regular expression of a model may take for ever, and a thread can be ended. Goes through
// the checkout from folder to folder without following a link, and says what it finds in small messages.
import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { globExpression } from './glob.ts'
import { isGitName } from './paths.ts'
import { type SearchMessage, type SearchRequest, SKIPPED } from './search-request.ts'

const MIB = 1024 * 1024
const MOST_ENTRIES = 200_000
const MOST_FILE_BYTES = 2 * MIB
const MOST_DEPTH = 60
const LONGEST_LINE = 400

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const port = parentPort!
const send = (message: SearchMessage): void => port.postMessage(message)

/** For the model. */
class Fault extends Error {}
class Enough extends Error {}

let found = 0
let seen = 0

function say(line: string, most: number): void {
  if (found >= most) throw new Enough(`[only the first ${most} are shown: narrow the search]`)
  found++
  send({ kind: 'found', line })
}

function expressionOf({ pattern, ignoreCase }: SearchRequest): RegExp {
  // As ripgrep has it at the beginning of a pattern.
  const isInline = pattern.startsWith('(?i)')
  const [text, flag] = [isInline ? pattern.slice(4) : pattern, isInline || ignoreCase ? 'i' : '']
  try {
    return new RegExp(text, `u${flag}`)
  } catch {
    // The strict form refuses what is harmless, such as an escaped letter that needs none.
  }
  try {
    return new RegExp(text, flag)
  } catch (error) {
    throw new Fault(`That is no regular expression: ${(error as Error).message}`)
  }
}

function open(parent: number, name: string, flags: number): number | null {
  try {
    return openSync(`/proc/self/fd/${parent}/${name}`, flags)
  } catch {
    return null
  }
}

function walk(
  folder: number,
  path: string,
  depth: number,
  visit: (entry: Dirent, path: string, folder: number) => void,
): void {
  let entries: Dirent[]
  try {
    entries = readdirSync(`/proc/self/fd/${folder}`, { withFileTypes: true })
  } catch {
    return
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (isGitName(entry.name)) continue
    if (++seen > MOST_ENTRIES) throw new Enough(`[stopped after ${MOST_ENTRIES} files and folders]`)
    const at = path === '' ? entry.name : `${path}/${entry.name}`
    visit(entry, at, folder)
    if (!entry.isDirectory() || SKIPPED.includes(entry.name) || depth >= MOST_DEPTH) continue
    const inner = open(folder, entry.name, FOLDER)
    if (inner === null) continue
    try {
      walk(inner, at, depth + 1, visit)
    } finally {
      closeSync(inner)
    }
  }
}

function textOf(folder: number, name: string): string | null {
  const file = open(folder, name, FILE)
  if (file === null) return null
  try {
    const stats = fstatSync(file)
    if (!stats.isFile() || stats.size > MOST_FILE_BYTES) return null
    const bytes = Buffer.alloc(stats.size)
    const read = readSync(file, bytes, 0, stats.size, 0)
    return bytes.subarray(0, Math.min(read, 8192)).includes(0) ? null : bytes.toString('utf8', 0, read)
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

function search(request: SearchRequest): void {
  const { root, names, kind, pattern, glob, most } = request
  const byName = kind === 'names' ? globExpression(pattern) : glob === '' ? null : globExpression(glob)
  const expression = kind === 'contents' ? expressionOf(request) : null
  if (byName === null && (kind === 'names' || glob !== ''))
    throw new Fault('That is no pattern of file names; * ? ** [abc] and {a,b} are understood.')
  const inFile = (folder: number, name: string, path: string): void => {
    if (byName !== null && !byName.test(path)) return
    const text = textOf(folder, name)
    if (text === null && names.length > 0 && path === names.join('/'))
      throw new Fault(`${path} is neither a folder nor a text file that can be searched.`)
    for (const [at, line] of (text ?? '').split('\n').entries()) {
      if (expression!.test(line)) say(`${path}:${at + 1}:${shortened(line)}`, most)
    }
  }
  let folder: number | null = openSync(root, FOLDER)
  for (const [at, name] of names.entries()) {
    const inner = open(folder, name, FOLDER)
    if (inner === null && at === names.length - 1 && kind === 'contents') {
      inFile(folder, name, names.join('/'))
      return
    }
    if (inner === null) throw new Fault(`${names.join('/')} is not a folder.`)
    closeSync(folder)
    folder = inner
  }
  walk(folder, names.join('/'), 0, (entry, path, parent) => {
    if (kind === 'contents') {
      if (entry.isFile()) inFile(parent, entry.name, path)
    } else if (byName!.test(path)) say(entry.isDirectory() ? `${path}/` : path, most)
  })
}

const shortened = (line: string): string => {
  const text = line.replace(/\r$/, '')
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

try {
  search(workerData as SearchRequest)
  send({ kind: 'done', note: '' })
} catch (error) {
  if (error instanceof Fault) send({ kind: 'fault', text: error.message })
  else if (error instanceof Enough) send({ kind: 'done', note: error.message })
  else send({ kind: 'fault', text: 'The search failed.' })
}
