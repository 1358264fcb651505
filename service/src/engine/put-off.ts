// What could not be done is left alone for a while, longer each time: a thousand rows that fail at every look would keep
// the look from everything else, and fill the log.

/** Less than the pause between two looks: what failed by chance is tried at the next one. */
const FIRST_MS = 1000
const GROWTH = 4
const LONGEST_MS = 3_600_000

export class PutOff {
  readonly #failed = new Map<number, { readonly until: number; readonly pauseMs: number }>()

  /** `now` in milliseconds of a monotonic clock. */
  isOff(id: number, now: number): boolean {
    return (this.#failed.get(id)?.until ?? now) > now
  }

  add(id: number, now: number): void {
    const before = this.#failed.get(id)
    const pauseMs = before === undefined ? FIRST_MS : Math.min(before.pauseMs * GROWTH, LONGEST_MS)
    this.#failed.set(id, { until: now + pauseMs, pauseMs })
  }

  remove(id: number): void {
    this.#failed.delete(id)
  }
}
