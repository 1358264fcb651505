// Refusals in the audit log: one record an hour for each key, person or address, with a count that goes on beside it.
// A flood must not become a flood of writes: what arrives while a write is under way is added up and written by the
// next one, so that the first refusal is on record before it is answered and a thousand cost two transactions.
import type { Actor } from '../domain/actor.ts'
import { actorScope } from '../domain/actor.ts'
import type { CountedEvent } from '../domain/audit.ts'
import { EVENTS } from '../domain/audit.ts'
import * as audit from '../store/audit.ts'
import { inTransaction } from '../store/database.ts'
import type { App } from './context.ts'
import type { AuditPlace } from './mutate.ts'
import { auditEntry } from './mutate.ts'

export interface Refusal {
  readonly actor: Actor
  readonly address: string
  readonly event: CountedEvent
  readonly metadata: Readonly<Record<string, unknown>>
  readonly at: AuditPlace
}

interface Pending {
  readonly refusal: Refusal
  count: number
}

/** Past the bound one common principal takes the rest, so that memory stays flat whoever calls. */
const MAX_PENDING = 1000

export class RefusalRecorder {
  readonly #app: App
  readonly #maxPending: number
  #pending = new Map<string, Pending>()
  #writing: Promise<void> | null = null

  constructor(app: App, options: { readonly maxPending?: number } = {}) {
    this.#app = app
    this.#maxPending = options.maxPending ?? MAX_PENDING
  }

  /** Resolves when this refusal is in the log, as a record or in the count of one. */
  async record(refusal: Refusal): Promise<void> {
    const principal = refusal.actor.kind === 'anonymous' ? `address:${refusal.address}` : actorScope(refusal.actor)
    const name = `${principal} ${refusal.event}`
    const pending = this.#pending.get(name)
    if (pending !== undefined) pending.count++
    else if (this.#pending.size < this.#maxPending) this.#pending.set(name, { refusal, count: 1 })
    else this.#countOthers(refusal)
    while (this.#writing !== null && this.#pending.size > 0) await this.#writing
    if (this.#pending.size > 0) this.#writing = this.#flush().finally(() => (this.#writing = null))
    await this.#writing
  }

  #countOthers(refusal: Refusal): void {
    const name = `address:others ${refusal.event}`
    const others = this.#pending.get(name)
    if (others !== undefined) others.count++
    else this.#pending.set(name, { refusal: { ...refusal, actor: { kind: 'anonymous' }, address: 'others' }, count: 1 })
  }

  async #flush(): Promise<void> {
    const batch = this.#pending
    this.#pending = new Map()
    for (const { refusal, count } of batch.values()) await this.#write(refusal, count)
  }

  async #write(refusal: Refusal, count: number): Promise<void> {
    const { vault, db } = this.#app
    const principal = refusal.actor.kind === 'anonymous' ? `address:${refusal.address}` : actorScope(refusal.actor)
    const eventId = EVENTS[refusal.event].id
    await inTransaction(db, async (tx) => {
      await audit.lockHead(tx)
      if (await audit.countRefusal(tx, vault, principal, eventId, count)) return
      const metadata = { ...refusal.metadata, address: refusal.address }
      const [auditId] = await audit.append(tx, vault, [auditEntry(refusal.actor, refusal.event, metadata, refusal.at)])
      await audit.beginRefusals(tx, vault, { principal, eventId, auditId: auditId!, count })
    })
  }
}
