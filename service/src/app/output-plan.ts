// How much of each command's output an answer holds, and what a cut output looks like. Pure.
import { cutBefore, decodeUtf8 } from '../domain/utf8.ts'
import type { LogState } from '../store/command-logs.ts'

const WHOLE = 1024 * 1024
const SHORT = 16 * 1024
const TOGETHER = 16 * 1024 * 1024
/** The line that says how much is missing is shorter. */
const MARKER = 100

export interface OutputPlan {
  readonly state: LogState
  readonly stdout: number
  readonly stderr: number
}

/**
 * All commands together hold at most 16 MiB: the latest commands are whole (up to 1 MiB a stream) for as long as there
 * is room, the others get their last 16 KiB. In the order given, which is that of execution.
 */
export function planOutputs(states: readonly LogState[]): OutputPlan[] {
  const plans: OutputPlan[] = []
  // So many that even the last 16 KiB of each are too much: then an equal share.
  const short = Math.min(SHORT, Math.max(0, Math.floor(TOGETHER / (2 * states.length || 1)) - MARKER))
  const cost = (bytes: number, most: number): number => (bytes > most ? most + MARKER : bytes)
  const least = (state: LogState): number => cost(state.stdout, short) + cost(state.stderr, short)
  let room = TOGETHER - states.reduce((sum, state) => sum + least(state), 0)
  let whole = true
  for (const state of states.toReversed()) {
    const more = cost(state.stdout, WHOLE) + cost(state.stderr, WHOLE) - least(state)
    whole &&= more <= room
    if (whole) room -= more
    plans.unshift({ state, stdout: whole ? WHOLE : short, stderr: whole ? WHOLE : short })
  }
  return plans
}

/**
 * The text of the last bytes of a stream, `missing` of which come before. Cut at a line, or at a character where no line
 * ends. A character that is still being written is left for later.
 */
export function tailOf(bytes: Buffer, missing: number, finished: boolean): string {
  const end = finished ? bytes.length : cutBefore(bytes, bytes.length)
  if (missing === 0) return decodeUtf8(bytes.subarray(0, end))
  const newline = bytes.indexOf(0x0a)
  let from = newline === -1 || newline + 1 >= end ? 0 : newline + 1
  if (from === 0) while (from < 3 && from < end && (bytes[from]! & 0xc0) === 0x80) from++
  const marker = `yardmaster: ${(missing + from).toLocaleString('en')} bytes before this are not shown.\n`
  return marker + decodeUtf8(bytes.subarray(from, end))
}
