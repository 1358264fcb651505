// One session in the hands of this worker: from the row that was taken until it is over, waits for a child, or goes to
// another worker. It owns what stops the work: a stop, the time of the turn, a lost lease, a process that goes down.
import { loseWorker } from '../../app/agent-sessions.ts'
import type { App } from '../../app/context.ts'
import { systemContext } from '../../app/context.ts'
import { mutate } from '../../app/mutate.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import * as callers from '../../store/agent-callers.ts'
import type { AgentHold } from '../../store/agent-hold.ts'
import * as holds from '../../store/agent-hold.ts'
import { inTransaction } from '../../store/database.ts'
import { monotonicMs } from '../worker/lease-keeper.ts'
import { persist } from '../worker/persist.ts'
import { Halt, type HaltKind } from './halt.ts'
import { Journal } from './journal.ts'
import { openSession } from './open-session.ts'
import type { TurnPorts, TurnSettings } from './ports.ts'
import { settle, Turn, type TurnEnd } from './turn.ts'

export interface HeldSessionDeps {
  readonly ports: TurnPorts
  readonly settings: TurnSettings
  readonly leaseMs: number
  /** The session is ours for certain, with a lease from `since` on (`monotonicMs`). */
  onBegun(since: number): void
  readonly isLeaving: () => boolean
}

export class HeldSession {
  readonly hold: AgentHold
  readonly #app: App
  readonly #deps: HeldSessionDeps
  readonly #halt = new AbortController()
  /** Nothing is written any more. */
  readonly #lost = new AbortController()
  #timer: NodeJS.Timeout | undefined

  constructor(app: App, deps: HeldSessionDeps, hold: AgentHold) {
    this.#app = app
    this.#deps = deps
    this.hold = hold
  }

  /** The first reason counts, save that a lost session is lost whatever came before. */
  halt(kind: HaltKind): void {
    const reason = new Halt(kind)
    if (kind === 'lost' || kind === 'fenced') this.#lost.abort(reason)
    if (!this.#halt.signal.aborted) this.#halt.abort(reason)
  }

  /** Never rejects. */
  async run(): Promise<TurnEnd> {
    const { sessionId, attempt } = this.hold
    try {
      return await this.#work()
    } catch (error) {
      if (error instanceof holds.LostSession || this.#lost.signal.aborted) return 'lost'
      this.#app.log.error({ err: error, session: sessionId, attempt }, 'the work on a session broke')
      await this.#giveUp()
      return 'lost'
    } finally {
      clearTimeout(this.#timer)
    }
  }

  /** As if its worker were lost: another one goes on, and when that breaks as often as it may, the session fails. */
  async #giveUp(): Promise<void> {
    const ctx = systemContext(this.#app, 'agent', await callers.findWorkspace(this.#app.db, this.hold.workspaceId))
    await mutate(ctx, (unit) => loseWorker(unit, this.hold)).catch((error: unknown) =>
      this.#app.log.warn({ err: error, session: this.hold.sessionId }, 'a session is found by its lease'),
    )
  }

  async #work(): Promise<TurnEnd> {
    const { ports, settings, leaseMs, isLeaving } = this.#deps
    const { hold } = this
    let since = 0
    const begun = await persist(async () => {
      since = monotonicMs()
      return await inTransaction(this.#app.db, (tx) => holds.begin(tx, hold, leaseMs))
    }, this.#lost.signal)
    if (begun === null) return 'lost'
    this.#deps.onBegun(since)
    const workspace = await callers.findWorkspace(this.#app.db, hold.workspaceId)
    const place = workspace ?? { id: hold.workspaceId, uid: '', name: '', agents: false }
    const journal = new Journal(this.#app, { hold, session: begun.session, workspace: place, lost: this.#lost.signal })
    await journal.read()
    const { signal } = this.#halt
    const deps = { ports, settings, hold, journal, signal, isLeaving, onTurn: (s: AgentSession) => this.#limit(s) }
    const turn = new Turn(this.#app, deps, begun.session)
    try {
      if (begun.session.stopRequestedAt !== null) throw new Halt('stopped')
      this.#limit(begun.session)
      const opened = await openSession(this.#app, ports, { session: begun.session, hold, journal, signal })
      try {
        return await turn.run(opened)
      } catch (error) {
        return await settle(turn, this.#logged(error), signal)
      } finally {
        await opened.checkout
          .drop()
          .catch((error: unknown) => this.#app.log.warn({ err: error }, 'the folders of a session were not removed'))
      }
    } catch (error) {
      return await settle(turn, this.#logged(error), signal)
    }
  }

  /** The time of a turn also ends a tool or a model in the middle of it. */
  #limit({ startedAt, budget }: AgentSession): void {
    clearTimeout(this.#timer)
    const usedMs = startedAt === null ? 0 : this.#app.clock.now().getTime() - startedAt.getTime()
    const leftMs = Math.max(0, budget.seconds * 1000 - usedMs)
    this.#timer = setTimeout(() => this.halt('seconds'), Math.min(leftMs, 2 ** 31 - 1))
    this.#timer.unref()
  }

  #logged(error: unknown): unknown {
    const { sessionId: session, attempt } = this.hold
    const isExpected = error instanceof Halt || error instanceof holds.LostSession || this.#halt.signal.aborted
    if (!isExpected) this.#app.log.warn({ err: error, session, attempt }, 'a turn of an agent failed')
    return error
  }
}
