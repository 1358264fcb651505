// One batch of a log: what a reader at a cursor is given of both streams, and where it goes on.
import type { LogCursor } from './log-cursor.ts'
import { BATCH_BYTES, BATCH_LINES, type Room, type Taken, takeLines, WINDOW_BYTES } from './log-lines.ts'

/** How much of each stream there is, and whether that is all. */
export interface LogExtent extends LogCursor {
  readonly finished: boolean
}

export interface FilledBatch {
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  readonly next: LogCursor
  /** True only in a batch that delivers the last of it. */
  readonly finished: boolean
}

/** What a batch may hold, and how much of a stream has to be looked at for it. */
export interface BatchBounds extends Room {
  readonly window: number
}

export const BATCH: BatchBounds = { lines: BATCH_LINES, bytes: BATCH_BYTES, piece: BATCH_BYTES, window: WINDOW_BYTES }

/** `windows`: each stream from the cursor on, `bounds.window` bytes of it where there are as many. */
export function fillBatch(
  extent: LogExtent,
  cursor: LogCursor,
  windows: { readonly stdout: Buffer; readonly stderr: Buffer },
  bounds: BatchBounds = BATCH,
): FilledBatch {
  const { stdout, stderr } = windows
  const ended = (stream: 'stdout' | 'stderr'): boolean =>
    extent.finished && cursor[stream] + windows[stream].length >= extent[stream]
  // While both have something, each gets half: a busy stdout must not hide what stderr says.
  const half = stderr.length > 0 ? 2 : 1
  const first = { ...bounds, lines: bounds.lines / half, bytes: bounds.bytes / half }
  const out = takeLines(stdout, ended('stdout'), first, true)
  const rest = { ...bounds, lines: bounds.lines - out.lines.length, bytes: bounds.bytes - out.size }
  const err = takeLines(stderr, ended('stderr'), rest, out.lines.length === 0)
  /** Where bytes that are counted are gone for good (retention), a reader goes on behind them. */
  const advanced = (stream: 'stdout' | 'stderr', taken: Taken): number => {
    const wanted = Math.min(bounds.window, extent[stream] - cursor[stream])
    const short = windows[stream].length < wanted && taken.consumed === windows[stream].length
    return extent.finished && short ? extent[stream] : cursor[stream] + taken.consumed
  }
  const next = { stdout: advanced('stdout', out), stderr: advanced('stderr', err) }
  return {
    stdout: out.lines,
    stderr: err.lines,
    next,
    finished: extent.finished && next.stdout >= extent.stdout && next.stderr >= extent.stderr,
  }
}
