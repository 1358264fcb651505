// What one batch of a log holds of a stream. A line ends with \n and keeps it; \r ends nothing. A line over 1 MiB comes in
// pieces, cut between characters. All that is delivered of a stream, in a row, is the stream.
import { isUtf8 } from 'node:buffer'
import { cutBefore, decodeUtf8 } from './utf8.ts'

export const BATCH_LINES = 1_000
export const BATCH_BYTES = 1024 * 1024
/** What has to be known of a stream to fill a batch: beyond the batch, enough to see whether a character goes on. */
export const WINDOW_BYTES = BATCH_BYTES + 8

export interface Room {
  readonly lines: number
  /** As UTF-8 of what is delivered, where every invalid byte takes three. */
  readonly bytes: number
  /** Of one line; a longer one comes in pieces. */
  readonly piece?: number
}

export interface Taken {
  readonly lines: readonly string[]
  /** Bytes of the stream that they stand for. */
  readonly consumed: number
  /** Bytes that they are as UTF-8. */
  readonly size: number
}

/**
 * @param bytes  the stream from the cursor on, WINDOW_BYTES of it where there are as many
 * @param ended  nothing comes after these bytes, so a last line without a terminator is one
 * @param needed the first line is taken even where it is over the room, so that a reader always comes on
 */
export function takeLines(bytes: Buffer, ended: boolean, room: Room, needed: boolean): Taken {
  const lines: string[] = []
  let at = 0
  let size = 0
  while (lines.length < room.lines && at < bytes.length) {
    const end = endOfNext(bytes, at, ended, room.piece ?? BATCH_BYTES)
    if (end === null) break
    const line = bytes.subarray(at, end)
    const text = decodeUtf8(line)
    const length = isUtf8(line) ? line.length : Buffer.byteLength(text)
    if (size + length > room.bytes && !(needed && lines.length === 0)) break
    lines.push(text)
    at = end
    size += length
  }
  return { lines, consumed: at, size }
}

/** Where the next line, or piece of one, ends; null while that is not known. */
function endOfNext(bytes: Buffer, at: number, ended: boolean, piece: number): number | null {
  const newline = bytes.indexOf(0x0a, at)
  const whole = newline !== -1 || ended
  // A character that has come in part is not counted: it may turn out shorter than what would stand for its part.
  const end = newline !== -1 ? newline + 1 : ended ? bytes.length : Math.max(at, cutBefore(bytes, bytes.length))
  const cut = fitting(bytes.subarray(0, end), at, piece)
  if (cut === end) return whole ? end : null
  // The same cut whenever it is read: it must not depend on how much had come.
  return whole || cut + 4 <= bytes.length ? cut : null
}

/** The end of what is within a piece once it is decoded. */
function fitting(bytes: Buffer, from: number, piece: number): number {
  const to = bytes.length
  let at = from
  let size = 0
  for (let step = 64 * 1024; step >= 8; ) {
    if (at === to) return to
    const end = at + step >= to ? to : cutBefore(bytes, at + step)
    const part = bytes.subarray(at, end)
    const length = isUtf8(part) ? part.length : Buffer.byteLength(decodeUtf8(part))
    if (size + length <= piece) {
      at = end
      size += length
    } else step >>= 2
  }
  return at
}
