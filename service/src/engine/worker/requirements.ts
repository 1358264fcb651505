// What a checkout says about the Python packages that it needs. The checkout is somebody's repository: nothing is read
// that does not lie in it.
import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'

export interface Requirements {
  readonly name: 'requirements.txt' | 'pyproject.toml'
  /** Of the file and of all that it includes. */
  readonly contents: readonly string[]
  /** Every version is named: nothing newer can come of it tomorrow. */
  readonly isExact: boolean
  /** Code of the repository itself is installed, so that it follows every commit. */
  readonly installsRepository: boolean
}

const MOST_BYTES = 1024 * 1024
const MOST_INCLUDED = 50

export async function readRequirements(checkout: string): Promise<Requirements | null> {
  const listed = await readInside(checkout, 'requirements.txt')
  if (listed !== null) return await follow(checkout, listed)
  const project = await readInside(checkout, 'pyproject.toml')
  if (project === null) return null
  return { name: 'pyproject.toml', contents: [project], isExact: false, installsRepository: true }
}

async function follow(checkout: string, first: string): Promise<Requirements> {
  const contents: string[] = []
  const seen = new Set(['requirements.txt'])
  const lines: string[] = []
  const add = async (name: string, content: string): Promise<void> => {
    contents.push(name, content)
    for (const line of linesOf(content)) {
      const included = /^(?:-r|-c|--requirement|--constraint)[\s=]*(.+)$/.exec(line)?.[1]
      const path = included === undefined ? null : normalize(join(dirname(name), included))
      if (path === null) lines.push(line)
      else if (!seen.has(path) && seen.size < MOST_INCLUDED) {
        seen.add(path)
        const inner = await readInside(checkout, path)
        // An address, or a file that is not there: pip says what it thinks of it.
        if (inner === null) lines.push(line)
        else await add(path, inner)
      }
    }
  }
  await add('requirements.txt', first)
  return {
    name: 'requirements.txt',
    contents,
    isExact: lines.every((line) => isPinned(line) || line.startsWith('--hash')),
    installsRepository: lines.some((line) => /^(-e|--editable|\.|file:)|\s@\s+(file:|\.)|\/.*(?<!\.whl)$/.test(line)),
  }
}

const linesOf = (content: string): string[] =>
  content
    .replace(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')

/** `name==1.2`, with extras, a marker behind a semicolon, and hashes. */
export const isPinned = (line: string): boolean =>
  /^[A-Za-z0-9._-]+(\[[A-Za-z0-9,._ -]+\])?\s*={2,3}\s*[A-Za-z0-9.+!_-]+(\s+--hash=\S+)*$/.test(
    line.replace(/\s*;[\s\S]*?(?=\s--hash|$)/, '').trim(),
  )

/** A regular file of the checkout, also by a link that stays inside; null for anything else, and for what is too large. */
export async function readInside(checkout: string, name: string): Promise<string | null> {
  const [root, path] = await Promise.all([realpath(checkout), realpath(join(checkout, name))]).catch(() => [])
  if (root === undefined || path === undefined || !path.startsWith(`${root}/`)) return null
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null)
  if (file === null) return null
  try {
    const stats = await file.stat()
    return stats.isFile() && stats.size <= MOST_BYTES ? await file.readFile('utf8') : null
  } finally {
    await file.close()
  }
}
