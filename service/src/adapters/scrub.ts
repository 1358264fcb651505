// Takes secrets out of log lines. Four nets, since none of them holds everything:
//   (a) what looks like one of our keys or link tokens, also inside base64, and what follows `Bearer` or `Basic`;
//   (b) what stands before the @ of a URL;
//   (c) exact values that were registered, in the forms in which libraries print them;
//   (d) the values of fields that hold credentials by their name, at any depth.
// A finished line is searched as it is; only when something is found is it taken apart, cleaned text by text and put
// together again, so that it stays JSON whatever was replaced. Every net has a cheap test before it, because each line
// of the service goes through here.
//
// It is a convenience, not a boundary: a value that was cut in two or encoded twice gets through.

const MASK = '[secret]'
const MIN_LENGTH = 6

// No \b before a token: in JSON text a line break before it is the letters \n.
const TOKEN = /((?:ym|prdm)_[a-z]{3}_|ymt_)[A-Za-z0-9]{20,}/g
// The shortest token is 24 characters, which are 32 in base64. Escapes are matched first, to be skipped as a whole.
const BASE64_RUN = 32
const BASE64 = /\\(?:u[0-9a-fA-F]{4}|.)|[A-Za-z0-9+/_-]{32,}={0,2}/g
const SCHEME = /((?:bearer|basic) +)[\w.~+/=-]{16,}/gi
const USER_INFO = /:\/\/([^\s/?#"'<>]+)@/g
const NAMES = '(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|x-api-secret|[\\w-]{0,40}password'
const SECRET_NAME = new RegExp(`^(?:${NAMES})$`, 'i')
// In a line, and in a text that holds JSON, where the quotes are escaped.
const SECRET_FIELD = new RegExp(`(?:${NAMES})\\\\*"\\s*:`, 'i')
const FIELD_IN_TEXT = new RegExp(`("(?:${NAMES})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi')

export interface Scrubber {
  /**
   * From now on this value is replaced wherever it is seen. Values shorter than six characters are not registered:
   * they would be found by chance. Call the result to forget it; a value registered twice must be forgotten twice.
   */
  mask(value: string): () => void
  /** Any text, without its secrets. */
  text(text: string): string
  /** A line of JSON, without its secrets; still a line of JSON. */
  line(line: string): string
}

export function createScrubber(): Scrubber {
  const uses = new Map<string, number>()
  let registered = formIndex([])

  const rebuild = () => {
    registered = formIndex([...uses.keys()].flatMap(formsOf))
  }

  const text = (input: string): string => {
    let output = registered.replace(input)
    if (has(output, 'ym_', 'ymt_', 'prdm_')) output = output.replace(TOKEN, '$1…')
    if (has(output, 'earer ', 'asic ', 'EARER ', 'ASIC ')) output = output.replace(SCHEME, `$1${MASK}`)
    if (hasLongRun(output)) output = output.replace(BASE64, (run) => (run[0] !== '\\' && holdsToken(run) ? MASK : run))
    if (output.includes('://') && output.includes('@')) output = output.replace(USER_INFO, withoutUser)
    return output
  }

  const cleanText = (input: string): string =>
    text(namesSecret(input) ? input.replace(FIELD_IN_TEXT, `$1"${MASK}"`) : input)

  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return cleanText(value)
    // A number may be a registered value; what is left of it would not be a number.
    if (typeof value === 'number') return text(String(value)) === String(value) ? value : MASK
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        text(key),
        SECRET_NAME.test(key) && inner !== null ? MASK : clean(inner),
      ]),
    )
  }

  return {
    mask(value) {
      if (value.length < MIN_LENGTH) return () => {}
      uses.set(value, (uses.get(value) ?? 0) + 1)
      if (uses.get(value) === 1) rebuild()
      let forgotten = false
      return () => {
        if (forgotten) return
        forgotten = true
        const left = (uses.get(value) ?? 1) - 1
        if (left > 0) uses.set(value, left)
        else if (uses.delete(value)) rebuild()
      }
    },
    text: cleanText,
    line(line) {
      const replaced = text(line)
      if (replaced === line && !(namesSecret(line) && SECRET_FIELD.test(line))) return line
      try {
        return `${JSON.stringify(clean(JSON.parse(line)))}\n`
      } catch {
        return replaced
      }
    },
  }
}

// Searching for fixed texts is many times faster than a pattern of alternatives.
function has(text: string, ...parts: string[]): boolean {
  return parts.some((part) => text.includes(part))
}

function namesSecret(text: string): boolean {
  return has(text, 'uthorization', 'ookie', '-api-', '-API-', '-Api-', 'assword', 'UTHORIZATION', 'OOKIE', 'ASSWORD')
}

function withoutUser(whole: string, user: string): string {
  // The user of nearly every ssh address, and no secret.
  return user === 'git' ? whole : `://${MASK}@`
}

const IN_BASE64 = new Uint8Array(128)
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-')
  IN_BASE64[letter.charCodeAt(0)] = 1

// Looks from the end of each possible run backwards, and so reads a few characters of each word only.
function hasLongRun(text: string): boolean {
  for (let end = BASE64_RUN - 1; end < text.length; ) {
    let at = end
    while (at > end - BASE64_RUN && IN_BASE64[text.charCodeAt(at)] === 1) at--
    if (end - at === BASE64_RUN) return true
    end = at + BASE64_RUN
  }
  return false
}

// A run may begin with letters that do not belong to it, so each of the four places where base64 can begin is tried.
function holdsToken(run: string): boolean {
  for (let start = 0; start < 4; start++) {
    if (Buffer.from(run.slice(start), 'base64').toString('latin1').search(TOKEN) >= 0) return true
  }
  return false
}

/** How a value may be written: plain, in a URL, in a form, in hex, in base64 at each of three places, in JSON (twice). */
function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const url = encodeURIComponent(value.toWellFormed())
  const encoded = [
    url,
    url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    new URLSearchParams([['', value]]).toString().slice(1),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((before) => base64Within(bytes, before)),
  ]
  const once = JSON.stringify(value).slice(1, -1)
  const twice = JSON.stringify(once).slice(1, -1)
  return [value, once, twice, ...encoded].filter((form) => form.length >= MIN_LENGTH)
}

// The characters that depend on the value alone when `before` bytes come before it and any number after it.
function base64Within(bytes: Buffer, before: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const sure = Math.floor(((before + bytes.length) * 8) / 6)
  const standard = whole.slice(Math.ceil((before * 8) / 6), sure)
  const own = before === 0 ? [whole] : []
  return [...own, standard].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

/**
 * Finds any of many texts in one pass, at a cost that does not grow with their number: a hash of the last four
 * characters rolls along, and a table says whether any text begins with such four.
 */
function formIndex(forms: readonly string[]): { replace(input: string): string } {
  if (forms.length === 0) return { replace: (input) => input }
  const starts = new Uint8Array(65536)
  const byHash = new Map<number, string[]>()
  // Longest first, so that a value wins over one that it begins with.
  for (const form of [...new Set(forms)].sort((a, b) => b.length - a.length)) {
    let hash = 0
    for (let at = 0; at < 4; at++) hash = roll(hash, form.charCodeAt(at))
    starts[hash] = 1
    byHash.set(hash, [...(byHash.get(hash) ?? []), form])
  }
  return {
    replace(input) {
      let output = ''
      let kept = 0
      let hash = 0
      for (let at = 0; at < input.length; at++) {
        hash = roll(hash, input.charCodeAt(at))
        if (starts[hash] === 0 || at - 3 < kept) continue
        const found = byHash.get(hash)!.find((form) => input.startsWith(form, at - 3))
        if (found === undefined) continue
        output += input.slice(kept, at - 3) + MASK
        kept = at - 3 + found.length
      }
      return kept === 0 ? input : output + input.slice(kept)
    },
  }
}

// A character moves up four bits with each one after it, and has left the sixteen bits after four.
function roll(hash: number, code: number): number {
  return ((hash << 4) ^ code) & 0xffff
}
