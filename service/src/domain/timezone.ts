// Offsets of a time zone, from the data inside Node's own ICU. All arithmetic is on UTC milliseconds; a "local" value is
// the wall clock's reading as if it were UTC.

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const DAY = 24 * HOUR

// Zones change their offset at full quarters of an hour, and not twice within a day: two looks tell all of a day on which
// nothing changes, and one per quarter the others. A look costs some ten microseconds, which a year of hours would feel.
const QUARTER = 15 * MINUTE
const MOST_CACHED = 20_000

export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  readonly #cache = new Map<number, number>()

  constructor(name: string) {
    this.name = name
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** Milliseconds that the wall clock is ahead of UTC. */
  offset(utc: number): number {
    const day = Math.floor(utc / DAY) * DAY
    const offset = this.#look(day)
    return offset === this.#look(day + DAY) ? offset : this.#look(Math.floor(utc / QUARTER) * QUARTER)
  }

  #look(at: number): number {
    const known = this.#cache.get(at)
    if (known !== undefined) return known
    const offset = this.#read(at) - at
    if (this.#cache.size >= MOST_CACHED) this.#cache.clear()
    this.#cache.set(at, offset)
    return offset
  }

  local(utc: number): number {
    return utc + this.offset(utc)
  }

  /** The instants at which the wall clock shows this: none in a gap, two in a repeated hour, in their order. */
  instants(local: number): number[] {
    const offsets = new Set([-26, -14, 0, 12, 26].map((hours) => this.offset(local + hours * HOUR)))
    return [...offsets]
      .map((offset) => local - offset)
      .filter((utc) => this.local(utc) === local)
      .sort((a, b) => a - b)
  }

  /** For a local time that a jump skips: the first instant after the jump. */
  afterGap(local: number): number {
    let before = local - Math.max(...[-26, 26].map((hours) => this.offset(local + hours * HOUR))) - QUARTER
    let after = local - Math.min(...[-26, 26].map((hours) => this.offset(local + hours * HOUR))) + QUARTER
    // The wall clock is short of `local` at the one end and past it at the other; it never shows it between.
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      if (this.local(middle) < local) before = middle
      else after = middle
    }
    return after
  }

  /** The first instant after a change of the clock in the 26 hours to come; null when there is none. */
  nextChange(utc: number): number | null {
    const offset = this.offset(utc)
    // A day is the furthest that a clock was ever set: where the date line moved.
    for (let hour = utc + HOUR; hour <= utc + 26 * HOUR; hour += HOUR) {
      if (this.offset(hour) === offset) continue
      let at = Math.ceil((hour - HOUR + 1) / QUARTER) * QUARTER
      while (this.offset(at) === offset) at += QUARTER
      return at
    }
    return null
  }

  #read(utc: number): number {
    const parts: Record<string, string> = {}
    for (const { type, value } of this.#format.formatToParts(utc)) parts[type] = value
    const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year)
    return Date.UTC(
      year,
      Number(parts.month) - 1,
      Number(parts.day),
      Number(parts.hour),
      Number(parts.minute),
      Number(parts.second),
    )
  }
}

const zones = new Map<string, Zone>()

/** Null for a name that no time zone has. */
export function findZone(name: string): Zone | null {
  // Intl takes a name in any case: one entry for all of them, so that nobody fills the memory with spellings.
  const key = name.toLowerCase()
  const known = zones.get(key)
  if (known !== undefined) return known
  // Offsets such as +02:00 are zones to Intl and none to people: they have no rule for clock changes.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return null
  try {
    const zone = new Zone(name)
    zones.set(key, zone)
    return zone
  } catch {
    return null
  }
}
