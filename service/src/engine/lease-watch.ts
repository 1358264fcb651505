// Which leases have run out. A lease is a time that its worker moves forward; whether it still does is watched here on a
// clock that nobody can set, so that a jump of the database's clock neither ends runs that are alive (forward) nor keeps
// those of the dead (back). The database's clock is believed once, at the first look, when nothing was watched yet.

/** Of a run or of a session of an agent. */
export type WatchedLease = ({ readonly runId: number } | { readonly sessionId: string }) & {
  readonly attempt: number
  /** As the database writes it; it moves whenever the worker is heard of. */
  readonly leaseUntil: string
  /** By the database's clock, which somebody may have set. */
  readonly leftMs: number
}

interface Seen {
  readonly attempt: number
  readonly leaseUntil: string
  /** By the watcher's clock: it has not moved since. */
  readonly since: number
}

export class LeaseWatch {
  readonly #leaseMs: number
  #seen = new Map<number | string, Seen>()
  #isFirst = true

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs
  }

  /** Of all leases that there are, those that ran out; `now` in milliseconds of a monotonic clock. */
  look<L extends WatchedLease>(held: readonly L[], now: number): L[] {
    const seen = new Map<number | string, Seen>()
    const over: L[] = []
    for (const lease of held) {
      const { attempt, leaseUntil } = lease
      const id = 'runId' in lease ? lease.runId : lease.sessionId
      const known = this.#seen.get(id)
      const isSame = known?.attempt === attempt && known.leaseUntil === leaseUntil
      const since = isSame ? known.since : this.#isFirst ? now - this.#age(lease) : now
      seen.set(id, { attempt, leaseUntil, since })
      if (now - since >= this.#leaseMs) over.push(lease)
    }
    this.#seen = seen
    this.#isFirst = false
    return over
  }

  #age({ leftMs }: WatchedLease): number {
    return Math.min(this.#leaseMs, Math.max(0, this.#leaseMs - leftMs))
  }
}

/** How long the database has been up, again by a clock that nobody can set. */
export class UptimeWatch {
  #known: { readonly startedAt: string; readonly since: number } | null = null

  look({ startedAt, upMs }: { readonly startedAt: string; readonly upMs: number }, now: number): number {
    if (this.#known?.startedAt !== startedAt) {
      this.#known = { startedAt, since: this.#known === null ? now - Math.max(0, upMs) : now }
    }
    return now - this.#known.since
  }
}
