// Takes secrets out of a stream of bytes, whatever way it is cut into writes: what may be the beginning of a secret is
// held back until the next bytes say whether it is one. Ordinary text is held back for no more than a few bytes, and
// for none at the end of a line, so output is seen as it is written.
import { NeedleIndex, needlesOf, roll } from '../../domain/redaction.ts'

const MASK = Buffer.from('***')
const NOTHING = Buffer.alloc(0)

/** What is looked for; made once per run and shared by all its streams. */
export const indexSecrets = (secrets: readonly string[]): NeedleIndex => new NeedleIndex(needlesOf(secrets))

export class Redactor {
  readonly #index: NeedleIndex
  #held: Buffer = NOTHING
  /** How many of the held bytes belong to a secret whose mask was written already. */
  #covered = 0

  constructor(index: NeedleIndex) {
    this.#index = index
  }

  /** What is certain after these bytes. The result may share memory with them. */
  write(bytes: Buffer): Buffer {
    if (this.#index.longest === 0 || bytes.length === 0) return bytes
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    const limit = this.#index.openFrom(all)
    const clean = this.#clean(all, limit)
    // A copy, or a few bytes would keep the whole buffer in memory.
    this.#held = limit === all.length ? NOTHING : Buffer.from(all.subarray(limit))
    return clean
  }

  /** The rest, as if nothing came after it: what is written later begins anew. */
  end(): Buffer {
    const held = this.#held
    this.#held = NOTHING
    return this.#clean(held, held.length)
  }

  // Secrets that overlap are one mask: what is left of the second would otherwise stand there.
  #clean(bytes: Buffer, limit: number): Buffer {
    const { starts } = this.#index
    const parts: Buffer[] = []
    let covered = this.#covered
    let copied = Math.min(covered, limit)
    let hash = 0
    const last = Math.min(bytes.length, limit + 3)
    for (let at = 0; at < last; at++) {
      hash = roll(hash, bytes[at]!)
      if (starts[hash] === 0 || at < 3) continue
      const start = at - 3
      const length = this.#index.matchAt(bytes, start, hash)
      if (length === 0) continue
      if (start >= covered) parts.push(bytes.subarray(copied, start), MASK)
      covered = Math.max(covered, start + length)
      copied = Math.min(covered, limit)
    }
    this.#covered = Math.max(0, covered - limit)
    if (parts.length === 0) return bytes.subarray(copied, limit)
    parts.push(bytes.subarray(copied, limit))
    return Buffer.concat(parts)
  }
}

/** For a text that is there as a whole. */
export function redactText(index: NeedleIndex, text: string): string {
  const redactor = new Redactor(index)
  return Buffer.concat([redactor.write(Buffer.from(text)), redactor.end()]).toString()
}
