// Finding files and lines, each search in a thread of its own that is ended when it takes too long.
import { Worker } from 'node:worker_threads'
import { answering } from './files.ts'
import { pathIn } from './paths.ts'
import { type SearchMessage, type SearchRequest, SKIPPED } from './search-request.ts'
import { refused, said, type Tool, type ToolContext, type ToolResult } from './tool.ts'

const MOST_FOUND = 200
const SECONDS = 10
const MEMORY_MIB = 256

type Outcome =
  | { readonly kind: 'found'; readonly lines: readonly string[]; readonly note: string }
  | { readonly kind: 'fault'; readonly text: string }

export function runSearch(request: SearchRequest, signal: AbortSignal, seconds = SECONDS): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const lines: string[] = []
  const worker = new Worker(new URL('./search-worker.ts', import.meta.url), {
    workerData: request,
    env: {},
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB, maxYoungGenerationSizeMb: 32 },
  })
  let isOver = false
  const end = (outcome: Outcome): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    // Also out of a regular expression that goes on and on.
    void worker.terminate().then(() => resolve(outcome))
  }
  const stopped = (note: string): void => end({ kind: 'found', lines, note })
  const timer = setTimeout(
    () => stopped(`[stopped after ${seconds} s: use a simpler pattern or a narrower path]`),
    seconds * 1000,
  )
  const onAbort = (): void => stopped('[stopped]')
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  worker.on('message', (message: SearchMessage) => {
    if (message.kind === 'found') lines.push(message.line)
    else end(message.kind === 'done' ? { kind: 'found', lines, note: message.note } : message)
  })
  worker.on('error', () => end({ kind: 'fault', text: 'The search took more memory than it may: narrow it.' }))
  worker.on('exit', () => end({ kind: 'fault', text: 'The search ended early.' }))
  return promise
}

async function answer(
  of: ToolContext,
  path: unknown,
  rest: Omit<SearchRequest, 'root' | 'names' | 'most'>,
): Promise<ToolResult> {
  return await answering(async () => {
    const { folder } = of.checkout
    const names = await pathIn(folder, typeof path === 'string' ? path : '.')
    const found = await runSearch({ ...rest, root: folder, names, most: MOST_FOUND }, of.signal)
    if (found.kind === 'fault') return refused(found.text)
    const lines = [...found.lines, ...(found.note === '' ? [] : [found.note])]
    return said(lines.length === 0 ? 'Nothing was found.' : lines.join('\n'))
  })
}

const LEFT_OUT = `Left out, unless path names them: ${SKIPPED.join(', ')}.`
const PATH = { type: 'string', minLength: 1, description: 'Where to begin; without it the root of the repository.' }

const searchNames: Tool = {
  name: 'search_files_and_directories',
  description: `Finds files and folders by a pattern of their names: * ? ** [abc] {a,b}. A pattern without a slash is about the last name. One path a line. ${LEFT_OUT}`,
  input: {
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, maxLength: 500, description: 'Such as *.sql or models/**/*.yml' },
      path: PATH,
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  run: (of, { pattern, path }) =>
    answer(of, path, { kind: 'names', pattern: String(pattern), ignoreCase: false, glob: '' }),
}

const searchContents: Tool = {
  name: 'ripgrep_search',
  description: `Finds lines of text files by a regular expression. One line each: path:line:text. ${LEFT_OUT}`,
  input: {
    type: 'object',
    properties: {
      pattern: { type: 'string', minLength: 1, maxLength: 2000, description: 'A regular expression.' },
      path: PATH,
      glob: { type: 'string', minLength: 1, maxLength: 500, description: 'Only files with such names, as *.sql' },
      ignore_case: { type: 'boolean' },
    },
    required: ['pattern'],
    additionalProperties: false,
  },
  run: (of, { pattern, path, glob, ignore_case }) => {
    const ignoreCase = ignore_case === true
    return answer(of, path, { kind: 'contents', pattern: String(pattern), ignoreCase, glob: String(glob ?? '') })
  },
}

export const searchTools: readonly Tool[] = [searchNames, searchContents]
