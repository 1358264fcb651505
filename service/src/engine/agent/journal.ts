// What the worker that holds a session writes about it. Every write is fenced by worker and attempt. The answer of a
// commit can be lost: before something is written again, the journal is asked whether it is there.
import { writeRecords } from '../../app/agent-sessions.ts'
import type { App } from '../../app/context.ts'
import { systemContext } from '../../app/context.ts'
import type { Unit } from '../../app/mutate.ts'
import { mutate } from '../../app/mutate.ts'
import type { WorkspaceRef } from '../../domain/actor.ts'
import type { AgentEvent, AgentEventBody, AgentSession } from '../../domain/agent-session.ts'
import * as store from '../../store/agent-events.ts'
import type { AgentHold } from '../../store/agent-hold.ts'
import { type Db, inTransaction } from '../../store/database.ts'
import { persist } from '../worker/persist.ts'

export class Journal {
  readonly #app: App
  readonly #hold: AgentHold
  readonly #session: AgentSession
  readonly #workspace: WorkspaceRef
  /** The session is not ours any more, or must not be used any more: nothing is tried again. */
  readonly #lost: AbortSignal
  #events: AgentEvent[] = []

  constructor(app: App, of: { hold: AgentHold; session: AgentSession; workspace: WorkspaceRef; lost: AbortSignal }) {
    this.#app = app
    this.#hold = of.hold
    this.#session = of.session
    this.#workspace = of.workspace
    this.#lost = of.lost
  }

  get events(): readonly AgentEvent[] {
    return this.#events
  }

  get lastSeq(): number {
    return this.#events.at(-1)?.seq ?? 0
  }

  /** Reads what came since the last look: others write too. */
  async read(): Promise<readonly AgentEvent[]> {
    const { workspaceId, sessionId } = this.#hold
    const news = await persist(() => store.list(this.#app.db, workspaceId, sessionId, this.lastSeq), this.#lost)
    this.#events.push(...news)
    return this.#events
  }

  /** Records, and what else belongs into their transaction. */
  async write(bodies: readonly AgentEventBody[], also?: (unit: Unit) => Promise<void>): Promise<void> {
    await this.transact(bodies[0]!, async (unit) => {
      await this.append(unit, bodies)
      await also?.(unit)
    })
  }

  /** In a transaction of `transact`. */
  async append(unit: Unit, bodies: readonly AgentEventBody[]): Promise<void> {
    await writeRecords(unit, this.#session, this.#hold, bodies)
  }

  /** `first` is a record that the work certainly writes: it is there exactly when the work is done. */
  async transact(first: AgentEventBody, work: (unit: Unit) => Promise<void>): Promise<void> {
    this.#lost.throwIfAborted()
    const ctx = systemContext(this.#app, 'agent', this.#workspace)
    await persist(async (tries) => {
      if (tries === 'again' && (await this.#isWritten(first))) return
      await mutate(ctx, work)
    }, this.#lost)
    await this.read()
  }

  /** One statement that reads. */
  async look<T>(read: (db: Db) => Promise<T>): Promise<T> {
    this.#lost.throwIfAborted()
    return await persist(() => read(this.#app.db), this.#lost)
  }

  async hold<T>(work: (db: Db) => Promise<T>): Promise<T> {
    this.#lost.throwIfAborted()
    return await persist(() => inTransaction(this.#app.db, work), this.#lost)
  }

  async #isWritten(body: AgentEventBody): Promise<boolean> {
    const { workspaceId, sessionId } = this.#hold
    const news = await store.list(this.#app.db, workspaceId, sessionId, this.lastSeq)
    return news.some((event) => event.kind === body.kind && keyOf(event) === keyOf(body))
  }
}

/** Of what a session has once, or writes one at a time. */
const keyOf = (body: AgentEventBody): string => ('call' in body ? body.call : '')
