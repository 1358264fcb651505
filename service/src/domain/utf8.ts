// Where a stream of bytes may be cut so that its parts, each decoded by itself, are the decoded whole: not inside a
// character, and not inside the beginning of one that breaks off, which decodes to a single U+FFFD.

/** The last such place that is not after `at`. What follows the bytes is unknown: an open character at their end is one. */
export function cutBefore(bytes: Buffer, at: number): number {
  for (let back = 1; back <= 3 && back <= at; back++) {
    const lead = bytes[at - back]!
    if (lead >= 0x80 && lead < 0xc0) continue
    if (lengthOf(lead) <= back || !isOpening(bytes, at - back, at)) return at
    const next = bytes[at]
    return next === undefined || continues(lead, back, next) ? at - back : at
  }
  return at
}

const lengthOf = (lead: number): number =>
  lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 1

function isOpening(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start + 1; at < end; at++) if (!continues(bytes[start]!, at - start, bytes[at]!)) return false
  return true
}

/** Whether a byte can stand at this place of a character: the second one is narrower after some leads. */
function continues(lead: number, place: number, byte: number): boolean {
  if (place > 1) return byte >= 0x80 && byte < 0xc0
  const low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  return byte >= low && byte <= high
}

/** Invalid bytes become U+FFFD. A byte order mark stays. */
export const decodeUtf8 = (bytes: Buffer): string => bytes.toString('utf8')
