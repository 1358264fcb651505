// Patterns of file names: `*` and `?` within a name, `**` across folders, `[abc]`, `{a,b}`. A pattern without a slash is
// about the last name alone. Made into a regular expression, which a hostile pattern can make slow: only ever used where
// it can be stopped (search-worker.ts).

const LONGEST = 500

/** Null for what is no pattern. */
export function globExpression(pattern: string): RegExp | null {
  if (pattern === '' || pattern.length > LONGEST) return null
  const text = pattern.replace(/^\.?\//, '')
  let source = text.includes('/') ? '^' : '(?:^|/)'
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const one = text[at]!
    if (one === '*') {
      const isDeep = text[at + 1] === '*'
      while (text[at + 1] === '*') at++
      // `**/` may also be no folder at all.
      if (isDeep && text[at + 1] === '/') {
        at++
        source += '(?:[^/]+/)*'
      } else source += isDeep ? '.*' : '[^/]*'
    } else if (one === '?') source += '[^/]'
    else if (one === '{') {
      depth++
      source += '(?:'
    } else if (one === '}' && depth > 0) {
      depth--
      source += ')'
    } else if (one === ',' && depth > 0) source += '|'
    else if (one === '[') {
      const end = text.indexOf(']', at + 2)
      if (end === -1) source += '\\['
      else {
        const inside = text
          .slice(at + 1, end)
          .replace(/^!/, '^')
          .replaceAll('\\', '\\\\')
          .replaceAll('[', '\\[')
        source += `[${inside}]`
        at = end
      }
    } else source += one.replace(/[\\^$.|+()\]}]/, '\\$&')
  }
  if (depth > 0) return null
  try {
    return new RegExp(`${source}$`, 's')
  } catch {
    return null
  }
}
