// What is wrong with a file as YAML, in words. The parser's own words quote the file, which may hold a secret.
import { nearest } from './nearest.ts'
import { quoted } from './text.ts'

const SYNTAX: Readonly<Record<string, string>> = {
  BAD_ALIAS: 'a text that begins with * or & needs quotes',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  BAD_INDENT: 'the indentation does not fit the lines above',
  MULTIPLE_DOCS: 'more than one document in a file (---)',
  BAD_PROP_ORDER: 'an anchor or tag in the wrong place',
  MISSING_CHAR: 'a bracket, quote, comma or colon is missing',
  UNEXPECTED_TOKEN: 'something unexpected; a text with special characters, such as @daily or * * * * *, needs quotes',
}

export const syntaxFault = (code: string): string =>
  `is not YAML: ${SYNTAX[code] ?? 'check indentation, colons and quotes'}.`

export function unknownKey(name: string, parent: string, known: readonly string[]): string {
  const where = parent === '' ? 'the file' : parent
  const meant = nearest(name, known)
  return `${where}: ${quoted(name)} is not a key here. ${meant ? `Did you mean ${meant}?` : `Allowed: ${known.join(', ')}.`}`
}

const MOST_DEPTH = 1000

/**
 * The first line at which brackets or hyphens are nested beyond what a person writes. The parser works its way down by
 * recursion; brackets in texts are counted too, which does no harm at a thousand.
 */
export function findDepthFault(text: string): number | null {
  let depth = 0
  let line = 1
  let hyphens = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 10) {
      line++
      hyphens = 0
    } else if (code === 91 || code === 123) depth++
    else if ((code === 93 || code === 125) && depth > 0) depth--
    else if ((code === 45 || code === 63) && text.charCodeAt(at + 1) === 32) hyphens++
    if (depth > MOST_DEPTH || hyphens > MOST_DEPTH) return line
  }
  return null
}
