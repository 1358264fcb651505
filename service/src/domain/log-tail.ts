// The last lines of a command, for a message: few, short, readable, and where in the log they begin.
import { stripVTControlCharacters } from 'node:util'
import { decodeUtf8 } from './utf8.ts'

export interface StreamEnd {
  readonly bytes: Buffer
  /** Where they begin in the stream. */
  readonly from: number
}

export interface LastLines {
  /** Those of stdout first. */
  readonly lines: readonly string[]
  readonly stdoutFrom: number
  readonly stderrFrom: number
}

const LONGEST_LINE = 500

interface Line {
  readonly text: string
  readonly from: number
}

/** Every control character but the tab. */
const CONTROL = /[^\P{Cc}\t]/gu

function linesOf({ bytes, from }: StreamEnd): Line[] {
  const lines: Line[] = []
  // What stands before the first line break may be the end of a longer line.
  let at = from === 0 ? 0 : bytes.indexOf(0x0a) + 1
  while (at < bytes.length) {
    const newline = bytes.indexOf(0x0a, at)
    const end = newline === -1 ? bytes.length : newline
    const text = readable(decodeUtf8(bytes.subarray(at, end)))
    if (text !== '') lines.push({ text: cut(text), from: from + at })
    at = end + 1
  }
  return lines
}

const readable = (text: string): string => stripVTControlCharacters(text).replace(CONTROL, '').trimEnd()

const cut = (text: string): string =>
  text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE).toWellFormed()}…` : text

/** Each stream has half of the room, and what the other does not need. Empty lines are left out. */
export function lastLines(
  stdout: StreamEnd,
  stderr: StreamEnd,
  most: { readonly lines: number; readonly bytes: number },
): LastLines {
  const [out, err] = [linesOf(stdout), linesOf(stderr)]
  const half = Math.floor(most.lines / 2)
  const errCount = Math.min(err.length, Math.max(half, most.lines - out.length))
  const outCount = Math.min(out.length, most.lines - errCount)
  const chosenOut = outCount === 0 ? [] : out.slice(-outCount)
  const chosenErr = errCount === 0 ? [] : err.slice(-errCount)
  const size = (): number => [...chosenOut, ...chosenErr].reduce((sum, one) => sum + Buffer.byteLength(one.text) + 1, 0)
  // The oldest of the longer list goes first, so that both keep their ends.
  while (size() > most.bytes && chosenOut.length + chosenErr.length > 1) {
    if (chosenOut.length > chosenErr.length) chosenOut.shift()
    else chosenErr.shift()
  }
  return {
    lines: [...chosenOut, ...chosenErr].map((one) => one.text),
    stdoutFrom: chosenOut[0]?.from ?? stdout.from + stdout.bytes.length,
    stderrFrom: chosenErr[0]?.from ?? stderr.from + stderr.bytes.length,
  }
}
