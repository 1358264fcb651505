/** The beginning and the end of what a command says: an error stands at the end, what led to it at the beginning. */
export class OutputWindow {
  readonly #half: number
  #head = Buffer.alloc(0)
  #tail: Buffer[] = []
  #tailBytes = 0
  total = 0

  constructor(mostBytes: number) {
    this.#half = Math.max(1, Math.floor(mostBytes / 2))
  }

  add(bytes: Buffer): void {
    this.total += bytes.length
    const room = this.#half - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)])
    const rest = room > 0 ? bytes.subarray(room) : bytes
    if (rest.length === 0) return
    // A copy, or a few bytes would hold a whole buffer.
    this.#tail.push(Buffer.from(rest.subarray(-this.#half)))
    this.#tailBytes += this.#tail.at(-1)!.length
    while (this.#tailBytes - this.#tail[0]!.length >= this.#half) this.#tailBytes -= this.#tail.shift()!.length
  }

  #end(): Buffer {
    return Buffer.concat(this.#tail).subarray(-this.#half)
  }

  get dropped(): number {
    return this.total - this.#head.length - this.#end().length
  }

  /** As UTF-8; what is none is replaced, a cut character too. */
  text(): string {
    const [dropped, end] = [this.dropped, this.#end()]
    if (dropped === 0) return Buffer.concat([this.#head, end]).toString()
    return `${this.#head.toString()}\n[${dropped} bytes were left out here]\n${end.toString()}`
  }
}
