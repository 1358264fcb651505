// One run in the hands of this worker: from the row that was taken to the row that is final. Whatever goes wrong in
// between, it ends with one try after another to write the end, until it is written or somebody else wrote it.
import type { App } from '../../app/context.ts'
import { systemContext } from '../../app/context.ts'
import { mutate } from '../../app/mutate.ts'
import { finishRun } from '../../app/runs.ts'
import type { FinalState, RunOutcome } from '../../domain/run.ts'
import type { Hold } from '../../store/commands.ts'
import * as commands from '../../store/commands.ts'
import { LostRun } from '../../store/commands.ts'
import { inTransaction } from '../../store/database.ts'
import * as facts from '../../store/run-facts.ts'
import * as holds from '../../store/run-hold.ts'
import * as scheduleVariables from '../../store/schedule-variables.ts'
import { executeRun } from './execute-run.ts'
import { monotonicMs } from './lease-keeper.ts'
import { persist } from './persist.ts'
import type { RunPorts, RunSettings } from './ports.ts'
import { outcomeOf, type StopReason, StopRun } from './stop-run.ts'
import { makeRunFolders, removeFolder, type WorkPlace } from './work-folder.ts'

export interface HeldRunDeps {
  readonly ports: RunPorts
  readonly settings: RunSettings
  readonly place: WorkPlace
  readonly leaseMs: number
  /**
   * The run is ours for certain, with a lease from `since` on (`monotonicMs`), and the lease is to be renewed. Not before:
   * until the transaction that took it is committed, a renewal finds nothing and takes the run for lost.
   */
  onBegun(since: number): void
  /** Aborted when the process goes down for good: the end of the run is then left to the next one. */
  readonly giveUp: AbortSignal
}

const WORKER_STOP_MS = 5_000

export class HeldRun {
  readonly hold: Hold
  readonly #app: App
  readonly #deps: HeldRunDeps
  readonly #stop = new AbortController()
  /** The run is not ours any more: nothing is written about its commands. */
  readonly #lost = new AbortController()
  /** Commands are not asked any longer. */
  readonly #kill = new AbortController()
  readonly #killTimers: NodeJS.Timeout[] = []

  constructor(app: App, deps: HeldRunDeps, hold: Hold) {
    this.#app = app
    this.#deps = deps
    this.hold = hold
  }

  /** The first reason counts. */
  stop(reason: StopReason): void {
    if (reason.kind === 'lost' || reason.kind === 'fenced') this.#lost.abort()
    const left = this.#patienceMs(reason)
    // A further reason may have less patience than the first.
    if (left !== null) this.#killTimers.push(setTimeout(() => this.#kill.abort(), left))
    if (!this.#stop.signal.aborted) this.#stop.abort(new StopRun(reason))
  }

  /** An environment may give its commands an hour to end after a cancel; these reasons do not wait for it. */
  #patienceMs(reason: StopReason): number | null {
    switch (reason.kind) {
      case 'lost':
        return 0
      case 'fenced':
        // The lease must not run out before; after a pause of this process it has.
        return Math.max(0, reason.leftMs / 4)
      case 'worker-stopped':
        return WORKER_STOP_MS
      case 'canceled':
      case 'time-limit':
        return null
    }
  }

  /** Never rejects. Null: it was not ours, or somebody else ended it. */
  async run(): Promise<FinalState | null> {
    const log = this.#app.log.child({ run: this.hold.runId, attempt: this.hold.attempt })
    let outcome: RunOutcome | null
    try {
      outcome = await this.#attempt()
    } catch (error) {
      if (error instanceof LostRun) {
        log.warn({}, 'the run was ended by somebody else')
        return null
      }
      log.error({ err: error }, 'a run broke')
      outcome = this.#stop.signal.aborted
        ? outcomeOf(this.#stop.signal.reason as StopRun)
        : { kind: 'failed', detail: detailOf(error) }
    }
    if (outcome === null) return null
    try {
      return await this.#finish(outcome)
    } catch (error) {
      log.error({ err: error }, 'the end of a run was not written; it will be found by its lease')
      return null
    }
  }

  async #attempt(): Promise<RunOutcome | null> {
    const { db } = this.#app
    let since = 0
    const { isolation } = this.#deps.ports.executor
    const begun = await persist(async (tries) => {
      since = monotonicMs()
      const found = await inTransaction(db, (tx) => holds.begin(tx, this.hold, this.#deps.leaseMs, isolation))
      return { ...found, fresh: found.fresh || tries === 'again' }
    }, this.#deps.giveUp)
    if (!begun.held) return null
    this.#deps.onBegun(since)
    if (begun.canceled) return { kind: 'canceled' }
    // The database says that it is ours and under way, and nobody here knows of it: its commands are not to be trusted.
    if (!begun.fresh) return { kind: 'failed', detail: 'its worker lost track of it' }
    const known = await persist(() => this.#read(), this.#lost.signal)
    if (!known.facts.environmentActive) return { kind: 'failed', detail: 'its environment is gone' }
    const seconds = known.facts.timeLimitSeconds ?? this.#deps.settings.timeLimitSeconds
    const limit = after(seconds * 1000, () => {
      this.stop({ kind: 'time-limit', seconds })
      // Only a word for whoever looks; the end comes anyway.
      holds.setEnding(db, this.hold).catch(() => {})
    })
    const folders = await makeRunFolders(this.#deps.place, known.facts)
    try {
      return await executeRun({
        ...known,
        folders,
        ports: this.#deps.ports,
        settings: this.#deps.settings,
        recorder: {
          start: (command) => persist((tries) => commands.start(db, this.hold, command, tries), this.#lost.signal),
          end: (command) => persist(() => commands.end(db, this.hold, command), this.#lost.signal),
          setCommit: (commit) => persist(() => holds.setCommit(db, this.hold, commit), this.#lost.signal),
        },
        now: () => this.#app.clock.now(),
        warn: (error, message) => this.#app.log.warn({ err: error, run: this.hold.runId }, message),
        stop: this.#stop.signal,
        lost: this.#lost.signal,
        killNow: this.#kill.signal,
      })
    } finally {
      limit.clear()
      for (const timer of this.#killTimers) clearTimeout(timer)
      // Before the end is written: when a run is final, nothing of it is left.
      await removeFolder(folders.root).catch((error: unknown) =>
        this.#app.log.warn({ err: error, folder: folders.root }, 'the folder of a run was not removed'),
      )
    }
  }

  async #read() {
    const { db, vault } = this.#app
    const found = await facts.readFacts(db, this.hold.runId)
    const values = await facts.openValues(db, vault, found)
    const variables = await scheduleVariables.openAll(db, vault, found)
    const schedule = Object.fromEntries(variables.map(({ key, value }) => [key, value]))
    return { facts: found, values: { ...values, schedule } }
  }

  async #finish(outcome: RunOutcome): Promise<FinalState | null> {
    const { runId, attempt } = this.hold
    const ctx = systemContext(this.#app, 'worker')
    return await persist(() => mutate(ctx, (unit) => finishRun(unit, runId, attempt, outcome)), this.#deps.giveUp)
  }
}

function detailOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'no space was left on its worker'
  return 'the service failed to execute it; the log of its worker says why'
}

/** Timers hold at most 24.8 days; a longer limit is waited for in pieces. */
function after(ms: number, act: () => void): { clear(): void } {
  const until = performance.now() + ms
  let timer: NodeJS.Timeout
  const wait = (): void => {
    const left = until - performance.now()
    if (left <= 0) act()
    else timer = setTimeout(wait, Math.min(left, 2 ** 30))
  }
  wait()
  return { clear: () => clearTimeout(timer) }
}
