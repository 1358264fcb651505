// Output of commands for readers: by batches with a cursor, whole up to a limit, all of it as a stream, searched.
import { invalidInput, notFound } from '../domain/errors.ts'
import { BATCH, type FilledBatch, fillBatch } from '../domain/log-batch.ts'
import { formatCursor, type LogCursor, parseCursor } from '../domain/log-cursor.ts'
import { BATCH_BYTES, BATCH_LINES, WINDOW_BYTES } from '../domain/log-lines.ts'
import { type FoundLine, LineSearch } from '../domain/log-search.ts'
import type { LogState, LogStream, LogWindow } from '../store/command-logs.ts'
import * as logs from '../store/command-logs.ts'
import type { Db } from '../store/database.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { type OutputPlan, planOutputs, tailOf } from './output-plan.ts'

export type { LogStream } from '../store/command-logs.ts'

export interface CommandRef {
  readonly workspaceId: number
  readonly id: number
}

export interface LogBatch {
  /** All of stdout before all of stderr. */
  readonly lines: readonly { readonly stream: LogStream; readonly line: string }[]
  readonly cursor: string
  readonly finished: boolean
}

const STREAMS = ['stdout', 'stderr'] as const

async function get(db: Db, command: CommandRef): Promise<LogState> {
  const state = await logs.find(db, command.workspaceId, command.id)
  if (state === null) throw notFound(`No command ${command.id} in this workspace.`)
  return state
}

/** `boltCommandLogs`. */
export const commandLogs = (ctx: Context, commandId: number, cursor: string | null): Promise<LogBatch> =>
  readBatch(ctx.db, { workspaceId: workspaceOf(ctx).id, id: commandId }, cursor)

export async function readBatch(db: Db, command: CommandRef, text: string | null): Promise<LogBatch> {
  const cursor = parseCursor(text)
  const state = await get(db, command)
  refusePastEnd(state, cursor)
  const batch = await fill(db, state, cursor)
  return {
    lines: STREAMS.flatMap((stream) => batch[stream].map((line) => ({ stream, line }))),
    cursor: formatCursor(batch.next),
    finished: batch.finished,
  }
}

/** A log that goes on may be behind a cursor for a moment: its database crashed, and the last bytes come again. */
function refusePastEnd(state: LogState, cursor: LogCursor): void {
  if (!state.finished || STREAMS.every((stream) => cursor[stream] <= state[stream])) return
  throw invalidInput(`cursor: past the end of this log (${state.stdout}:${state.stderr}). Begin at 0:0.`)
}

/** A thousand lines of ordinary output are a tenth of what a batch may hold: so little is looked at first. */
const FIRST_LOOK = 128 * 1024
/** While both streams have much, each gets half of a batch. */
const HALF = WINDOW_BYTES / 2

async function fill(db: Db, state: LogState, cursor: LogCursor): Promise<FilledBatch> {
  const first = await fillFrom(db, state, cursor, FIRST_LOOK)
  if (first !== null) return first
  if (STREAMS.every((stream) => state[stream] - cursor[stream] >= HALF)) {
    const halves = await fillFrom(db, state, cursor, HALF)
    if (halves !== null) return halves
  }
  return (await fillFrom(db, state, cursor, WINDOW_BYTES))!
}

/** Null when a batch might hold much more than was looked at. */
async function fillFrom(db: Db, state: LogState, cursor: LogCursor, window: number): Promise<FilledBatch | null> {
  const { day } = state
  const [stdout, stderr] =
    day === null
      ? [Buffer.alloc(0), Buffer.alloc(0)]
      : await logs.readWindows(
          db,
          STREAMS.map((stream) => windowOf(state, day, stream, cursor[stream], cursor[stream] + window)),
        )
  const batch = fillBatch(state, cursor, { stdout: stdout!, stderr: stderr! }, { ...BATCH, window })
  const all = STREAMS.every((stream) => cursor[stream] + window >= state[stream])
  const full = batch.stdout.length + batch.stderr.length >= BATCH_LINES
  // A line that is longer than half of a batch needs to be looked at whole.
  const halves = window >= HALF && batch.stdout.length > 0 && batch.stderr.length > 0
  return all || full || halves || window >= WINDOW_BYTES ? batch : null
}

const windowOf = (state: LogState, day: string, stream: LogStream, from: number, to: number): LogWindow => ({
  commandId: state.commandId,
  day,
  stream,
  from,
  to: Math.min(to, state[stream]),
})

export interface Output {
  readonly stdout: string
  readonly stderr: string
}

/** Whole up to `maxBytes`; past that the last of it, with a first line that says how much is missing. */
export async function readOutputTail(
  db: Db,
  command: CommandRef,
  stream: LogStream,
  maxBytes: number = BATCH_BYTES,
): Promise<string> {
  const state = await get(db, command)
  if (state.day === null) return ''
  const from = Math.max(0, state[stream] - maxBytes)
  const [bytes] = await logs.readWindows(db, [windowOf(state, state.day, stream, from, state[stream])])
  return tailOf(bytes!, from, state.finished)
}

/** `boltCommand`: both streams. */
export async function commandOutput(ctx: Context, commandId: number): Promise<Output> {
  const state = await get(ctx.db, { workspaceId: workspaceOf(ctx).id, id: commandId })
  const [output] = await readPlanned(ctx.db, [{ state, stdout: BATCH_BYTES, stderr: BATCH_BYTES }])
  return output!
}

/** `boltRunStatus`: of all commands, by their ids. */
export async function runOutputs(
  db: Db,
  run: { readonly workspaceId: number; readonly id: number },
): Promise<ReadonlyMap<number, Output>> {
  const plans = planOutputs(await logs.listOfRun(db, run.workspaceId, run.id))
  const outputs = await readPlanned(db, plans)
  return new Map(plans.map(({ state }, at) => [state.commandId, outputs[at]!]))
}

async function readPlanned(db: Db, plans: readonly OutputPlan[]): Promise<Output[]> {
  const windows = plans.flatMap((plan) =>
    STREAMS.map((stream): LogWindow => {
      const { state } = plan
      const from = Math.max(0, state[stream] - plan[stream])
      return windowOf(state, state.day ?? '', stream, from, state.day === null ? 0 : state[stream])
    }),
  )
  const bytes = await logs.readWindows(db, windows)
  return plans.map(({ state }, at) => ({
    stdout: tailOf(bytes[2 * at]!, windows[2 * at]!.from, state.finished),
    stderr: tailOf(bytes[2 * at + 1]!, windows[2 * at + 1]!.from, state.finished),
  }))
}

/** The whole stream as far as it is there now, in pieces. */
export async function* streamLog(db: Db, command: CommandRef, stream: LogStream): AsyncGenerator<Buffer, void> {
  const state = await get(db, command)
  yield* pieces(db, state, stream, 0)
}

async function* pieces(db: Db, state: LogState, stream: LogStream, from: number): AsyncGenerator<Buffer, void> {
  for (let at = from; state.day !== null && at < state[stream]; ) {
    const [bytes] = await logs.readWindows(db, [windowOf(state, state.day, stream, at, at + BATCH_BYTES)])
    if (bytes!.length === 0) return
    yield bytes!
    at += bytes!.length
  }
}

export interface LogMatch extends FoundLine {
  readonly stream: LogStream
  /** For a batch that begins at this line. */
  readonly cursor: string
}

export interface LogSearch {
  readonly matches: readonly LogMatch[]
  /** False when there may be more: the limit was reached, or so much output that the search was given up. */
  readonly complete: boolean
}

const MOST_SEARCHED = 256 * 1024 * 1024

/** The lines that hold a text, in any case of its latin letters; stdout first. */
export async function searchLog(db: Db, command: CommandRef, text: string, limit: number): Promise<LogSearch> {
  const needle = Buffer.from(text)
  if (needle.length === 0 || needle.length > 1_000 || text.includes('\n')) {
    throw invalidInput('text: one line of 1 to 1,000 bytes to look for.')
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) throw invalidInput('limit: 1 to 1,000.')
  const state = await get(db, command)
  const matches: LogMatch[] = []
  let searched = 0
  for (const stream of STREAMS) {
    const search = new LineSearch(needle)
    const add = (found: FoundLine): boolean => {
      const cursor = formatCursor({ stdout: state.stdout, stderr: state.stderr, [stream]: found.offset })
      return matches.push({ ...found, stream, cursor }) >= limit
    }
    for await (const piece of pieces(db, state, stream, 0)) {
      for (const found of search.feed(piece)) if (add(found)) return { matches, complete: false }
      searched += piece.length
      if (searched >= MOST_SEARCHED) return { matches, complete: false }
    }
    for (const found of search.end()) if (add(found)) return { matches, complete: false }
  }
  return { matches, complete: true }
}
