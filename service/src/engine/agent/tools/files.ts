// Reading and changing files of the checkout, on the host, each path checked.
import { PathRefused, pathIn } from './paths.ts'
import { smallDiff } from './small-diff.ts'
import { refused, said, type Tool, type ToolContext, type ToolResult } from './tool.ts'
import { listFolder, readWhole, writeWhole } from './tree-files.ts'

const MOST_LINES = 2000
const MOST_CHARS = 100_000
const MOST_ENTRIES = 1000

const PATH = { type: 'string', minLength: 1, description: 'Relative to the root of the repository.' }

/** What a path or a file refuses is for the model; everything else is a fault of ours. */
export async function answering(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PathRefused) return refused(error.message)
    throw error
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

async function textIn({ checkout }: ToolContext, names: readonly string[]): Promise<string> {
  const bytes = await readWhole(checkout.folder, names)
  try {
    if (bytes.subarray(0, 8192).includes(0)) throw new Error('binary')
    return decoder.decode(bytes)
  } catch {
    throw new PathRefused(`${names.join('/')} is not text in UTF-8 (${bytes.length} bytes).`)
  }
}

const readFile: Tool = {
  name: 'read_file',
  description:
    'Reads a text file of the repository, or some of its lines. The answer is the text itself; when it is cut, the last line says which lines it was.',
  input: {
    type: 'object',
    properties: {
      path: PATH,
      from_line: { type: 'integer', minimum: 1, description: 'The first line, counted from 1.' },
      to_line: { type: 'integer', minimum: 1, description: 'The last line, included.' },
    },
    required: ['path'],
    additionalProperties: false,
  },
  run: (of, { path, from_line, to_line }) =>
    answering(async () => {
      const text = await textIn(of, await pathIn(of.checkout.folder, String(path)))
      const lines = text.split('\n')
      // A line feed at the end is the end of the last line and not the beginning of another.
      const count = lines.at(-1) === '' ? lines.length - 1 : lines.length
      const from = typeof from_line === 'number' ? from_line : 1
      const until = Math.min(typeof to_line === 'number' ? to_line : count, count)
      if (count === 0) return said('')
      if (from > count) return refused(`The file has ${count} lines.`)
      if (until < from) return refused('to_line comes before from_line.')
      let taken = 0
      let chars = 0
      for (; from + taken <= until && taken < MOST_LINES; taken++) {
        chars += lines[from - 1 + taken]!.length + 1
        if (chars > MOST_CHARS && taken > 0) break
      }
      const last = from + taken - 1
      if (from === 1 && last === count) return said(text.slice(0, MOST_CHARS))
      const shown = lines
        .slice(from - 1, last)
        .join('\n')
        .slice(0, MOST_CHARS)
      const next = last < until ? `; read on with from_line ${last + 1}` : ''
      return said(`${shown}\n[lines ${from}-${last} of ${count}${next}]`)
    }),
}

const listDirectory: Tool = {
  name: 'list_directory',
  description:
    'Lists a folder of the repository, one entry a line: folders end with a slash, links are shown with their target.',
  input: {
    type: 'object',
    properties: { path: { ...PATH, description: 'Relative to the root of the repository; without it the root.' } },
    additionalProperties: false,
  },
  run: (of, { path }) =>
    answering(async () => {
      const { folder } = of.checkout
      const entries = await listFolder(folder, await pathIn(folder, String(path ?? '.')))
      const lines = entries
        .slice(0, MOST_ENTRIES)
        .map(({ name, kind, target }) =>
          kind === 'folder' ? `${name}/` : kind === 'link' ? `${name} -> ${target}` : name,
        )
      const more = entries.length - lines.length
      if (entries.length === 0) return said('The folder is empty.')
      return said([...lines, ...(more > 0 ? [`[${more} more entries]`] : [])].join('\n'))
    }),
}

const writeFile: Tool = {
  name: 'write_file',
  description:
    'Writes a whole text file of the repository, in place of what was there; folders on the way are made. To change a part of a file use edit_file.',
  input: {
    type: 'object',
    properties: { path: PATH, content: { type: 'string', description: 'The whole text.' } },
    required: ['path', 'content'],
    additionalProperties: false,
  },
  run: (of, { path, content }) =>
    answering(async () => {
      const names = await pathIn(of.checkout.folder, String(path))
      const before = await textIn(of, names).catch(() => null)
      const text = String(content)
      await writeWhole(of.checkout.folder, names, text)
      const shown = names.join('/')
      if (before === null) return said(`Wrote ${shown} (${text.split('\n').length - 1} lines).`)
      if (before === text) return said(`${shown} had this content already.`)
      return said(`Wrote ${shown}.\n${smallDiff(before, text)}`)
    }),
}

const editFile: Tool = {
  name: 'edit_file',
  description:
    'Replaces a part of a text file. old_text must be in the file exactly as given, with its spaces and line breaks, and only once (or set replace_all). The answer shows what changed.',
  input: {
    type: 'object',
    properties: {
      path: PATH,
      old_text: { type: 'string', minLength: 1, description: 'What is there now, with enough around it to be unique.' },
      new_text: { type: 'string', description: 'What is to be there.' },
      replace_all: { type: 'boolean', description: 'Replace every place where old_text is.' },
    },
    required: ['path', 'old_text', 'new_text'],
    additionalProperties: false,
  },
  run: (of, { path, old_text, new_text, replace_all }) =>
    answering(async () => {
      const names = await pathIn(of.checkout.folder, String(path))
      const [old, now] = [String(old_text), String(new_text)]
      if (old === '') return refused('old_text is empty. To write a whole file use write_file.')
      if (old === now) return refused('old_text and new_text are the same.')
      const before = await textIn(of, names)
      const parts = before.split(old)
      const count = parts.length - 1
      if (count === 0)
        return refused(`old_text is not in ${names.join('/')}. Read the file again: it must match exactly.`)
      if (count > 1 && replace_all !== true)
        return refused(
          `old_text is ${count} times in ${names.join('/')}. Give more of what is around it, or set replace_all.`,
        )
      const after = parts.join(now)
      await writeWhole(of.checkout.folder, names, after)
      return said(`Changed ${names.join('/')}${count > 1 ? ` in ${count} places` : ''}.\n${smallDiff(before, after)}`)
    }),
}

export const fileTools: readonly Tool[] = [readFile, listDirectory, writeFile, editFile]
