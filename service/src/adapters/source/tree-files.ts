// Files of a commit out of a bare repository: one git lists them with their sizes, one gives all their contents.
// Symbolic links are told apart by their mode and never followed; what is too large is not even asked for.
import type { SourceFile } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'
import type { GitResult } from './git-process.ts'

export interface TreeWanted {
  readonly paths: readonly string[]
  readonly accepts: (path: string) => boolean
}

type RunGit = (argv: readonly string[], input?: string) => Promise<GitResult>

const MOST_FILES = 1000
const MOST_FILE_BYTES = 1024 * 1024
const MOST_BYTES = 8 * 1024 * 1024

interface Listed {
  readonly path: string
  readonly mode: string
  readonly id: string
  readonly size: number
}

export async function readTreeFiles(
  run: RunGit,
  commit: string,
  { paths, accepts }: TreeWanted,
): Promise<SourceFile[]> {
  // Without a path git would list the whole repository.
  if (paths.length === 0) return []
  const tree = await run(['ls-tree', '-r', '-l', '-z', '--full-tree', commit, '--', ...paths])
  if (tree.code !== 0) throw new SourceFault('the files of the commit could not be listed')
  const listed = tree.stdout
    .toString()
    .split('\0')
    .flatMap((line): Listed[] => {
      const match = /^(\d{6}) blob ([0-9a-f]+) +(\d+)\t(.+)$/s.exec(line)
      return match === null ? [] : [{ mode: match[1]!, id: match[2]!, size: Number(match[3]), path: match[4]! }]
    })
    .filter((one) => accepts(one.path))
  if (listed.length > MOST_FILES)
    throw new SourceFault(`${listed.length} files are more than the ${MOST_FILES} that are read`)
  const fetched = listed.filter((one) => refusal(one) === null)
  const total = fetched.reduce((sum, one) => sum + one.size, 0)
  if (total > MOST_BYTES) throw new SourceFault(`the files are larger than ${MOST_BYTES / 1024 / 1024} MiB together`)
  const contents = await readBlobs(run, fetched)
  return listed
    .map((one) => ({ path: one.path, content: contents.get(one.id) ?? { refused: refusal(one) ?? 'cannot be read' } }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

function refusal({ mode, size }: Listed): string | null {
  if (mode === '120000') return 'is a symbolic link, which is not followed'
  return size > MOST_FILE_BYTES ? `is larger than ${MOST_FILE_BYTES / 1024} KiB` : null
}

/** By id: `<id> blob <size>`, a line feed, the bytes, a line feed. */
async function readBlobs(run: RunGit, files: readonly Listed[]): Promise<Map<string, SourceFile['content']>> {
  const contents = new Map<string, SourceFile['content']>()
  if (files.length === 0) return contents
  const batch = await run(['cat-file', '--batch'], `${files.map((one) => one.id).join('\n')}\n`)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for (let at = 0; at < batch.stdout.length; ) {
    const end = batch.stdout.indexOf(10, at)
    const [id = '', kind, size] = batch.stdout.toString('latin1', at, end).split(' ')
    if (end < 0 || kind !== 'blob') throw new SourceFault('a file of the commit could not be read')
    const from = end + 1
    const bytes = batch.stdout.subarray(from, from + Number(size))
    try {
      contents.set(id, { text: decoder.decode(bytes) })
    } catch {
      contents.set(id, { refused: 'is not text in UTF-8' })
    }
    at = from + Number(size) + 1
  }
  return contents
}
