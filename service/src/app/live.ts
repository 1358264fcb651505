// What changes, as it changes: rows are looked at again at least once a second, which is also what hears of changes that
// another node made.
import { setTimeout as pause } from 'node:timers/promises'
import { isFinal } from '../domain/run.ts'
import type { LogBatch } from './command-logs.ts'
import { commandLogs } from './command-logs.ts'
import type { Context } from './context.ts'
import type { RunStatus } from './run-queries.ts'
import { getRunStatus } from './run-queries.ts'

const LOOK_MS = 500

/** The run as it is, then after each change; ends with the run. Refuses before there is anything to iterate over. */
export async function watchRun(
  ctx: Context,
  input: { readonly runId: number },
  signal: AbortSignal,
): Promise<AsyncIterable<RunStatus>> {
  const first = await getRunStatus(ctx, input)
  return (async function* () {
    let status = first
    for (;;) {
      yield status
      if (isFinal(status.run.state)) return
      const before = JSON.stringify(status)
      do {
        if (!(await paused(signal))) return
        status = await getRunStatus(ctx, input)
      } while (JSON.stringify(status) === before)
    }
  })()
}

/** The batches from a cursor on, as they come; ends with the log. */
export async function watchLog(
  ctx: Context,
  input: { readonly commandId: number; readonly cursor: string | null },
  signal: AbortSignal,
): Promise<AsyncIterable<LogBatch>> {
  const first = await commandLogs(ctx, input.commandId, input.cursor)
  return (async function* () {
    let batch = first
    for (;;) {
      if (batch.lines.length > 0 || batch.finished) yield batch
      if (batch.finished) return
      if (batch.lines.length === 0 && !(await paused(signal))) return
      if (signal.aborted) return
      batch = await commandLogs(ctx, input.commandId, batch.cursor)
    }
  })()
}

/** False when nobody listens any longer. */
async function paused(signal: AbortSignal): Promise<boolean> {
  try {
    await pause(LOOK_MS, undefined, { signal })
    return true
  } catch {
    return false
  }
}
