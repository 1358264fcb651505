// What a plan can find out about a repository, with the tools that every agent has.
import { asks, call, type PlanResult, type PlanStep } from './plan.ts'

const STOP_WORDS = new Set(
  (
    'about after again also and any are because been before being but can could did does doing done down each else every ' +
    'explain file files find for from give had has have here how into its just know last like list look make many more ' +
    'most much need not now off one only other our out over please project repository same say see shall should show ' +
    'some such tell than that the their them then there these they thing this those through too under until use used ' +
    'using very want was way well were what when where which while who whom why will with would you your'
  ).split(' '),
)

const MOST_WORDS = 3
const README = /^readme(?:\.md|\.txt|\.rst)?$/i

/** The words of a message that are worth a search: names of files and models first, then the longest. */
export function searchWords(message: string): string[] {
  const words = [...message.matchAll(/[\p{L}\p{N}_][\p{L}\p{N}_./-]*[\p{L}\p{N}_]/gu)].map((match) => match[0])
  const telling = [...new Set(words)].filter((word) => word.length >= 3 && !STOP_WORDS.has(word.toLowerCase()))
  const isName = (word: string): boolean => /[_./\d]/.test(word)
  return telling
    .sort((one, other) => Number(isName(other)) - Number(isName(one)) || other.length - one.length)
    .slice(0, MOST_WORDS)
}

const escaped = (word: string): string => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** One a line; those of folders end with a slash. */
const namesIn = (listing: string): string[] => listing.split('\n').map((line) => line.trim())

interface Found {
  readonly word: string
  /** `path:line:text`, one a line. */
  readonly text: string
}

interface FoundFile {
  readonly name: string
  readonly text: string
}

export interface Surroundings {
  readonly listing: PlanResult
  readonly readme: FoundFile | null
  readonly found: readonly Found[]
  /** Those whose names hold a word of the message. */
  readonly files: readonly FoundFile[]
}

const MOST_FILES = 2

type Steps<T> = Generator<PlanStep, T, readonly PlanResult[]>

/** Lists the folder, reads the README, searches for the words of the message and reads the files that they name. */
export function* lookAround(message: string): Steps<Surroundings> {
  const [listing] = yield asks('I look at what the repository holds.', call('list_directory', { path: '.' }))
  const name = listing!.isError ? undefined : namesIn(listing!.text).find((one) => README.test(one))
  const [readme = null] = name === undefined ? [] : yield* read([name])
  const words = searchWords(message)
  if (words.length === 0) return { listing: listing!, readme, found: [], files: [] }
  const said = `I search for ${words.map((word) => `\`${word}\``).join(', ')}.`
  const results = yield asks(
    said,
    ...words.map((word) => call('ripgrep_search', { pattern: escaped(word), ignore_case: true })),
    ...words.map((word) => call('search_files_and_directories', { pattern: word.includes('/') ? word : `*${word}*` })),
  )
  const found = words.flatMap((word, at) => {
    const lines = linesOf(results[at]!).filter((line) => /^.+?:\d+:/.test(line))
    return lines.length === 0 ? [] : [{ word, text: lines.join('\n') }]
  })
  const named = results.slice(words.length).flatMap(linesOf)
  const paths = [...new Set(named)].filter((path) => !path.endsWith('/') && path !== name)
  return { listing: listing!, readme, found, files: yield* read(paths.slice(0, MOST_FILES)) }
}

/** What was found, without what a search says about itself. */
const linesOf = ({ text, isError }: PlanResult): string[] =>
  isError
    ? []
    : text.split('\n').filter((line) => line !== '' && line !== 'Nothing was found.' && !line.startsWith('['))

function* read(paths: readonly string[]): Steps<FoundFile[]> {
  if (paths.length === 0) return []
  const results = yield asks('', ...paths.map((path) => call('read_file', { path })))
  return paths.flatMap((name, at) => (results[at]!.isError ? [] : [{ name, text: results[at]!.text }]))
}

/** The first lines, and how many there are beside them. */
export function firstLines(text: string, count: number): string {
  const lines = text.trimEnd().split('\n')
  const shown = lines
    .slice(0, count)
    .map((line) => (line.length > 240 ? `${line.slice(0, 240).toWellFormed()}…` : line))
  return lines.length > count ? [...shown, `… ${lines.length - count} more lines`].join('\n') : shown.join('\n')
}

export function lastLines(text: string, count: number): string {
  const lines = text.trimEnd().split('\n')
  return lines
    .slice(-count)
    .map((line) => (line.length > 400 ? `${line.slice(0, 400).toWellFormed()}…` : line))
    .join('\n')
}

/** Longer fences than any inside, so that text of a repository cannot end the block. */
export function block(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
