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
const README = /^(?:\.\/)?(readme(?:\.md|\.txt|\.rst)?)\/?$/i

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

/** The first word of each line, without what a listing puts around it. */
const namesIn = (listing: string): string[] =>
  listing.split('\n').flatMap((line) => line.trim().match(/^(?:[-*]\s+)?(?:(?:dir|file)\s+)?(\S+)/)?.[1] ?? [])

export interface Surroundings {
  readonly listing: PlanResult
  readonly readme: { readonly name: string; readonly text: string } | null
  readonly found: readonly { readonly word: string; readonly text: string }[]
}

/** Lists the folder, reads the README and searches for the words of the message. */
export function* lookAround(message: string): Generator<PlanStep, Surroundings, readonly PlanResult[]> {
  const [listing] = yield asks('I look at what the repository holds.', call('list_directory', { path: '.' }))
  const name = namesIn(listing!.text).find((one) => README.test(one))
  let readme: Surroundings['readme'] = null
  if (!listing!.isError && name !== undefined) {
    const [text] = yield asks('', call('read_file', { path: name }))
    if (!text!.isError) readme = { name, text: text!.text }
  }
  const words = searchWords(message)
  if (words.length === 0) return { listing: listing!, readme, found: [] }
  const said = `I search for ${words.map((word) => `\`${word}\``).join(', ')}.`
  const results = yield asks(said, ...words.map((word) => call('ripgrep_search', { pattern: escaped(word) })))
  const found = words.flatMap((word, at) => {
    const { text, isError } = results[at]!
    return isError || text.trim() === '' ? [] : [{ word, text: text.trim() }]
  })
  return { listing: listing!, readme, found }
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
