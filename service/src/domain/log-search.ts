// Finds the lines of a stream that hold a text, however the stream is cut into pieces.
import { decodeUtf8 } from './utf8.ts'

export interface FoundLine {
  /** From 1. */
  readonly number: number
  /** Where the line begins, in bytes: half of a cursor. */
  readonly offset: number
  /** The line without its terminator, or where it is long the part of it that begins at the match. */
  readonly line: string
}

const LONGEST_SHOWN = 1_000

/** One match per line. Of an unfinished line only as much is carried over as a match and what is shown of it may need. */
export class LineSearch {
  readonly #needle: Buffer
  readonly #carry: number
  #rest: Buffer = Buffer.alloc(0)
  /** Of the line that is open. */
  #offset = 0
  #number = 1
  /** This line was reported already. */
  #done = false
  /** Bytes of the open line that were let go. */
  #skipped = 0

  constructor(needle: Buffer) {
    this.#needle = folded(needle)
    this.#carry = needle.length + 4 * LONGEST_SHOWN
  }

  *feed(piece: Buffer): Generator<FoundLine> {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const text = folded(bytes)
    let at = 0
    let hit = text.indexOf(this.#needle)
    for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, at)) {
      if (hit !== -1 && hit < end) {
        if (!this.#done) yield this.#found(bytes, at, hit, end)
        hit = text.indexOf(this.#needle, end)
      }
      this.#offset += end + 1 - at + this.#skipped
      this.#skipped = 0
      this.#number++
      this.#done = false
      at = end + 1
    }
    const keep = Math.max(at, bytes.length - this.#carry)
    // A match whose surroundings have come whole; a later one waits for what follows it.
    if (hit !== -1 && hit < keep && !this.#done) {
      this.#done = true
      yield this.#found(bytes, at, hit, bytes.length)
    }
    this.#skipped += keep - at
    this.#rest = Buffer.from(bytes.subarray(keep))
  }

  *end(): Generator<FoundLine> {
    const hit = folded(this.#rest).indexOf(this.#needle)
    if (hit !== -1 && !this.#done) yield this.#found(this.#rest, 0, hit, this.#rest.length)
  }

  #found(bytes: Buffer, from: number, hit: number, to: number): FoundLine {
    const long = to - from > LONGEST_SHOWN || this.#skipped > 0
    const line = decodeUtf8(bytes.subarray(long ? hit : from, Math.min(to, (long ? hit : from) + LONGEST_SHOWN)))
    return { number: this.#number, offset: this.#offset, line }
  }
}

const LOWER = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte))

/** With small latin letters for capital ones. Other letters are compared as they are: their case is not a matter of bytes. */
function folded(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  for (let at = 0; at < bytes.length; at++) out[at] = LOWER[bytes[at]!]!
  return out
}
