// The cap of a command's log: lets bytes through until it is reached, then keeps the last of each stream aside.
import { cutBefore } from '../../domain/utf8.ts'
import type { LogStream } from '../../store/command-logs.ts'

const TAIL_BYTES = 1024 * 1024
const NOTHING = Buffer.alloc(0)
const NEWLINE = Buffer.from('\n')

interface Aside {
  parts: Buffer[]
  bytes: number
  dropped: number
  /** Of what was let through: whether a line is open. */
  open: boolean
  capped: boolean
}

const fresh = (): Aside => ({ parts: [], bytes: 0, dropped: 0, open: false, capped: false })

export class LogTail {
  readonly #cap: number
  #stored: number
  #full = false
  #notes: Buffer[] = []
  readonly #aside: Readonly<Record<LogStream, Aside>> = { stdout: fresh(), stderr: fresh() }

  constructor(cap: number, stored: number) {
    this.#cap = cap
    this.#stored = stored
  }

  /** What of these bytes goes into the log now. */
  admit(stream: LogStream, bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes
    const aside = this.#aside[stream]
    if (!this.#full && this.#stored + bytes.length <= this.#cap) {
      this.#stored += bytes.length
      aside.open = bytes[bytes.length - 1] !== 0x0a
      return bytes
    }
    const room = this.#full ? 0 : cutBefore(bytes, this.#cap - this.#stored)
    this.#full = true
    const passed = bytes.subarray(0, room)
    this.#stored += room
    if (room > 0) aside.open = passed[room - 1] !== 0x0a
    this.#keep(aside, bytes.subarray(room))
    if (aside.capped) return passed
    aside.capped = true
    const notice = line(
      `This log has reached its limit of ${size(this.#cap)}: of what follows only the last ${size(TAIL_BYTES)} is kept.`,
    )
    const out = Buffer.concat([passed, aside.open ? NEWLINE : NOTHING, notice])
    aside.open = false
    return out
  }

  /** A line of our own: on a line of its own, and after everything else once the cap was reached. */
  note(note: Buffer): Buffer {
    const aside = this.#aside.stderr
    if (aside.capped) {
      this.#notes.push(note)
      return NOTHING
    }
    const out = aside.open ? Buffer.concat([NEWLINE, note]) : note
    aside.open = false
    return out
  }

  /** The end of a stream: what was kept aside, after a line that says how much is missing before it. */
  close(stream: LogStream): Buffer {
    const aside = this.#aside[stream]
    const notes = stream === 'stderr' ? this.#notes : []
    let kept = Buffer.concat(aside.parts)
    let missing = aside.dropped
    if (missing > 0 || kept.length > TAIL_BYTES) {
      const first = Math.max(0, kept.length - TAIL_BYTES)
      const newline = kept.indexOf(0x0a, first)
      // No line ends in it: then where a character begins.
      const cut = newline === -1 || newline === kept.length - 1 ? characterFrom(kept, first) : newline + 1
      missing += cut
      kept = kept.subarray(cut)
    }
    const marker = missing > 0 ? line(`${missing.toLocaleString('en')} bytes of output are missing here.`) : NOTHING
    const open = kept.length > 0 && kept[kept.length - 1] !== 0x0a && notes.length > 0
    return Buffer.concat([marker, kept, open ? NEWLINE : NOTHING, ...notes])
  }

  #keep(aside: Aside, bytes: Buffer): void {
    if (bytes.length === 0) return
    aside.parts.push(Buffer.from(bytes))
    aside.bytes += bytes.length
    while (aside.bytes - aside.parts[0]!.length >= TAIL_BYTES) {
      const gone = aside.parts.shift()!.length
      aside.bytes -= gone
      aside.dropped += gone
    }
  }
}

function characterFrom(bytes: Buffer, at: number): number {
  let from = at
  while (from < at + 3 && from < bytes.length && (bytes[from]! & 0xc0) === 0x80) from++
  return from
}

const line = (text: string): Buffer => Buffer.from(`yardmaster: ${text}\n`)

function size(bytes: number): string {
  const units: readonly (readonly [number, string])[] = [
    [1024 ** 3, 'GiB'],
    [1024 ** 2, 'MiB'],
    [1024, 'KiB'],
  ]
  const unit = units.find(([factor]) => bytes >= factor && bytes % factor === 0)
  return unit ? `${bytes / unit[0]} ${unit[1]}` : `${bytes.toLocaleString('en')} bytes`
}
