// What follows from what happens to a run: messages, webhooks, incidents, runs of children, requests for healing. The
// transaction that starts or ends a run only leaves a row and a job that says "look"; what follows is decided later, by
// handlers that know nothing of each other.
import * as due from '../store/due-schedules.ts'
import * as events from '../store/run-events.ts'
import type { App } from './context.ts'
import { systemContext } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export type { RunEvent, RunEventKind } from '../store/run-events.ts'

/**
 * One thing that follows. It writes through the unit alone and calls nobody outside: what must go out is queued as a
 * delivery. Its writes, its audit records and the note that it is done are one transaction, so it is done once; when
 * it throws, they are undone, the other handlers go on, and it is tried again later.
 */
export interface RunEventHandler {
  /** Remembered in the database: a name never changes. */
  readonly name: string
  handle(unit: Unit, event: events.RunEvent): Promise<void>
}

/** In the transaction that made it so. A second time for the same run and kind is nothing. */
export async function announceRunEvent(
  unit: Unit,
  event: { readonly workspaceId: number; readonly runId: number; readonly kind: events.RunEventKind },
): Promise<void> {
  if (await events.insert(unit.db, event)) await unit.queue.send(unit.db, 'run-event', {})
}

const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 3_600_000

/** Handles the next event that is due; false when there is none. Safe for any number of callers at once. */
export async function handleNextEvent(app: App, handlers: readonly RunEventHandler[]): Promise<boolean> {
  const now = app.clock.now()
  return await mutate(systemContext(app, 'run events'), async (unit) => {
    const event = await events.claim(unit.db, now)
    if (event === null) return false
    const done = new Set(event.done)
    const failed: string[] = []
    for (const handler of handlers) {
      if (done.has(handler.name)) continue
      const error = await attempt(unit, (inner) => handler.handle(inner, event))
      if (error === null) {
        done.add(handler.name)
        continue
      }
      failed.push(handler.name)
      const { kind, runId: run } = event
      app.log.error(
        { err: error.cause, handler: handler.name, event: kind, run },
        'what follows from a run could not be written; it will be tried again',
      )
    }
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(event.tries, 20))
    const again = failed.length === 0 ? null : new Date(now.getTime() + pause)
    await events.settle(unit.db, event.id, { done: [...done], again, now })
    return true
  })
}

const LATE_BATCH = 100

/** Every run that is still going past its deadline gets its event, once. Gives how many. */
export async function announceLate(app: App, now?: Date): Promise<number> {
  const at = now ?? (await due.now(app.db))
  for (let total = 0; ; ) {
    // Looks first: most of the time nothing is late, and then no transaction is needed.
    if (!(await events.isAnyLate(app.db, at))) return total
    const found = await mutate(systemContext(app, 'deadlines'), async (unit) => {
      const count = await events.insertLate(unit.db, at, LATE_BATCH)
      if (count > 0) await unit.queue.send(unit.db, 'run-event', {})
      return count
    })
    total += found
    if (found < LATE_BATCH) return total
  }
}

/** Within a savepoint: when the work fails, its writes and its audit records are gone and the rest stands. */
async function attempt(unit: Unit, work: (inner: Unit) => Promise<void>): Promise<{ readonly cause: unknown } | null> {
  const records: (() => void)[] = []
  const inner: Unit = { ...unit, record: (...given) => records.push(() => unit.record(...given)) }
  const caught = await events.inSavepoint(unit.db, () => work(inner))
  if (caught === null) for (const write of records) write()
  return caught
}
