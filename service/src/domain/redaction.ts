// Which bytes give a secret away. A secret may be printed as it is or in the forms that programs give it: encoded for a
// URL, JSON or a shell, in hex, in base64 at any of the three places where it can stand in a longer text. All of them
// are looked for at once.
//
// It is a convenience, not a boundary: a value that is encoded twice, reversed or printed a letter a line gets through.

/** Shorter values would be found by chance. */
export const SHORTEST_SECRET = 6
/** A line of a secret of several lines is looked for by itself, unless it is this short. */
const SHORTEST_LINE = 12

/** The bytes to look for, without doubles. */
export function needlesOf(secrets: readonly string[]): Buffer[] {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue
    for (const value of [secret, secret.trim(), ...linesOf(secret)]) for (const form of formsOf(value)) forms.add(form)
  }
  return [...forms].map((form) => Buffer.from(form))
}

/** The lines of a key file are printed one by one by whatever indents or numbers them. */
function linesOf(secret: string): string[] {
  if (!secret.includes('\n')) return []
  return [...secret.split(/\r?\n/).map((line) => line.trim()), secret.replaceAll('\r\n', '\n')].filter(
    (line) => line.length >= SHORTEST_LINE && !line.startsWith('-----'),
  )
}

function formsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = json.replace(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const url = encodeURIComponent(value.toWellFormed())
  const strict = url.replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const urls = [url, strict, strict.replaceAll('%2F', '/'), new URLSearchParams([['', value]]).toString().slice(1)]
  return [
    value,
    ...[json, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/'), JSON.stringify(one).slice(1, -1)]),
    ...urls.flatMap((one) => [one, one.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...shellForms(value),
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    ...[0, 1, 2].flatMap((before) => base64Within(bytes, before)),
  ].filter((form) => form.length >= SHORTEST_SECRET)
}

/** Inside single quotes (two ways), inside double quotes, with every special character escaped, as `set -x` prints it. */
function shellForms(value: string): string[] {
  return [
    value.replaceAll("'", String.raw`'\''`),
    value.replaceAll("'", `'"'"'`),
    value.replace(/[$`"\\!]/g, String.raw`\$&`),
    value.replace(/[^\w@%+=:,./\u0080-\uffff-]/g, String.raw`\$&`),
    value
      .replace(/[\\']/g, String.raw`\$&`)
      .replaceAll('\n', String.raw`\n`)
      .replaceAll('\t', String.raw`\t`)
      .replaceAll('\r', String.raw`\r`),
  ]
}

// The characters that depend on the value alone when `before` bytes come before it and any number after it.
function base64Within(bytes: Buffer, before: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const sure = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  const plain = before === 0 ? [whole, sure] : [sure]
  // `base64` and openssl break their lines after 76 and 64 characters.
  const wrapped = before === 0 ? [76, 64].map((width) => sure.replace(new RegExp(`.{${width}}(?=.)`, 'g'), '$&\n')) : []
  return [...plain, ...wrapped].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

/**
 * Finds any of many byte strings in one pass, at a cost that does not grow with their number: a hash of the last four
 * bytes rolls along, and a table says whether any needle begins with such four.
 */
export class NeedleIndex {
  readonly longest: number
  readonly starts = new Uint8Array(65536)
  readonly #byHash = new Map<number, Buffer[]>()
  readonly #short: readonly Set<number>[] = [new Set(), new Set(), new Set()]

  constructor(needles: readonly Buffer[]) {
    // Longest first, so that a needle wins over one that it begins with.
    const sorted = [...needles].sort((a, b) => b.length - a.length)
    this.longest = sorted[0]?.length ?? 0
    for (const needle of sorted) {
      let hash = 0
      for (let at = 0; at < 4; at++) hash = roll(hash, needle[at]!)
      this.starts[hash] = 1
      this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), needle])
      for (let length = 1; length <= 3; length++) this.#short[length - 1]!.add(shortKey(needle, 0, length))
    }
  }

  /** The length of the longest needle at this place, whose first four bytes have this hash; 0 for none. */
  matchAt(bytes: Buffer, at: number, hash: number): number {
    for (const needle of this.#byHash.get(hash) ?? []) {
      const end = at + needle.length
      if (end <= bytes.length && bytes[at + 4] === needle[4] && bytes.compare(needle, 0, needle.length, at, end) === 0)
        return needle.length
    }
    return 0
  }

  /** Where the bytes that may be the beginning of a needle begin: the first place whose rest is the start of one. */
  openFrom(bytes: Buffer): number {
    const { length } = bytes
    let hash = 0
    const from = Math.max(0, length - this.longest + 1)
    for (let at = from; at < length; at++) {
      hash = roll(hash, bytes[at]!)
      const start = at - 3
      if (start >= from && this.starts[hash] === 1 && this.#opens(bytes, start, hash)) return start
    }
    for (let left = Math.min(3, length); left > 0; left--) {
      if (this.longest > 0 && this.#short[left - 1]!.has(shortKey(bytes, length - left, left))) return length - left
    }
    return length
  }

  #opens(bytes: Buffer, start: number, hash: number): boolean {
    const left = bytes.length - start
    return this.#byHash
      .get(hash)!
      .some((needle) => needle.length > left && bytes.compare(needle, 0, left, start, bytes.length) === 0)
  }
}

const shortKey = (bytes: Buffer, at: number, length: number): number => bytes.readUIntBE(at, length)

/** A byte moves up four bits with each one after it, and has left the sixteen bits after four. */
export const roll = (hash: number, byte: number): number => ((hash << 4) ^ byte) & 0xffff
