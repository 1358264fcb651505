// When a cron expression fires in a time zone, clock changes included.
//
// croner knows the calendar: given a wall-clock reading it finds the next one that matches, and it is asked in UTC, where
// no clock ever changes. What a change means is decided here, by the contract's rule:
//
//   - an expression whose hour field begins with `*` follows the clock: it fires at each matching minute that occurs, in
//     both passes of a repeated hour, and not in a skipped one;
//   - any other follows the calendar: a local time that occurs twice fires in the first pass only, and the local times
//     that a jump skips fire together, once, at the first minute after the jump.
import { Cron } from 'croner'
import { invalidInput } from './errors.ts'
import type { Zone } from './timezone.ts'
import { findZone } from './timezone.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const NICKNAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
  }),
)

export class Timetable {
  readonly #crons: readonly Cron[]
  readonly #zone: Zone
  readonly #followsClock: boolean

  /** It fires whenever one of the expressions does. */
  constructor(crons: readonly Cron[], zone: Zone, followsClock: boolean) {
    this.#crons = crons
    this.#zone = zone
    this.#followsClock = followsClock
  }

  /** The first time strictly after `after`; null when there is none. */
  next(after: Date): Date | null {
    const utc = after.getTime()
    const found = this.#followsClock ? this.#nextByClock(utc) : this.#nextByCalendar(utc)
    return found === null ? null : new Date(found)
  }

  /** The times after `after` up to and including `until`, at most `limit`, in their order. */
  between(after: Date, until: Date, limit: number): Date[] {
    const times: Date[] = []
    let at = this.next(after)
    while (at !== null && at <= until && times.length < limit) {
      times.push(at)
      at = this.next(at)
    }
    return times
  }

  /** The last time after `after` up to and including `until`; null when there is none. */
  latest(after: Date, until: Date): Date | null {
    let best = this.next(after)
    if (best === null || best > until) return null
    let beyond = until.getTime()
    // Bisecting down to a minute, the closest that two times can lie: years of times cost a few looks.
    while (beyond - best.getTime() >= MINUTE) {
      const middle = new Date(Math.floor((best.getTime() + beyond) / 2))
      const found = this.next(middle)
      if (found !== null && found <= until) best = found
      else beyond = middle.getTime()
    }
    return best
  }

  /** How many times lie after `after`, up to and including `until`. */
  count(after: Date, until: Date): number {
    let count = 0
    let at = after
    for (let next = this.next(at); next !== null && next <= until; next = this.next(at)) {
      // Minute and hour know nothing of the date: where no clock changes, each day that fires at all fires alike. So a
      // year is counted by its days.
      const end = this.#endOfPlainDay(at, next)
      if (end !== null && end <= until) {
        count += this.#timesOfADay(next)
        at = end
      } else {
        count++
        at = next
      }
    }
    return count
  }

  // The last millisecond of the local day of `next`, when `next` is its first time and no clock changes near the day.
  #endOfPlainDay(at: Date, next: Date): Date | null {
    const [zone, utc] = [this.#zone, next.getTime()]
    const offset = zone.offset(utc)
    const start = Math.floor((utc + offset) / DAY) * DAY - offset
    if (at.getTime() >= start) return null
    const plain = [-3 * HOUR, 0, DAY / 2, DAY, DAY + 3 * HOUR].every((from) => zone.offset(start + from) === offset)
    return plain ? new Date(start + DAY - 1) : null
  }

  #perDay: number | undefined

  #timesOfADay(next: Date): number {
    if (this.#perDay === undefined) {
      const start = Math.floor(this.#zone.local(next.getTime()) / DAY) * DAY
      this.#perDay = 0
      for (let local = this.#nextLocal(start - 1); local !== null && local < start + DAY; ) {
        this.#perDay++
        local = this.#nextLocal(local)
      }
    }
    return this.#perDay
  }

  #nextLocal(local: number): number | null {
    let first: number | null = null
    for (const cron of this.#crons) {
      const next = cron.nextRun(new Date(local))?.getTime() ?? null
      if (next !== null && (first === null || next < first)) first = next
    }
    return first
  }

  // From local time to instant is monotone here, and no local time up to the present one lies ahead: so the search
  // begins at the present reading and goes on only while a repeated hour maps to its first pass, which is over.
  #nextByCalendar(utc: number): number | null {
    let local = this.#nextLocal(this.#zone.local(utc))
    while (local !== null) {
      const instant = this.#zone.instants(local)[0] ?? this.#zone.afterGap(local)
      if (instant > utc) return instant
      local = this.#nextLocal(local)
    }
    return null
  }

  // Up to the next change of the clock readings only rise; behind it the search begins anew with what the clock shows
  // then. A change that lies further ahead than a clock was ever set back shows nothing again that is asked for here.
  #nextByClock(utc: number): number | null {
    let from = utc
    let base = this.#zone.local(utc)
    for (;;) {
      const local = this.#nextLocal(base)
      const change = this.#zone.nextChange(from)
      if (change !== null && (local === null || local - this.#zone.offset(from) >= change)) {
        from = change
        base = this.#zone.local(change) - 1
      } else if (local === null) return null
      else {
        const instant = this.#zone.instants(local).find((one) => one > utc)
        if (instant !== undefined) return instant
        base = local
      }
    }
  }
}

/** A cron expression as the contract allows it, or OFF (null). */
export function parseSchedule(text: string): string | null {
  const trimmed = text.trim()
  return trimmed.toUpperCase() === 'OFF' ? null : trimmed
}

const LAST = ['59', '23', '31', '12', '7'] as const

/** `5/15` is "from 5, every 15th", `JAN/3` likewise: croner wants the end said. */
function openStep(field: string, index: number): string {
  return field
    .split(',')
    .map((part) => part.replace(/^(\d+|[A-Za-z]{3})\/(\d+)$/, `$1-${LAST[index]}/$2`))
    .join(',')
}

/**
 * With day of month and day of week both given either matches, so each gets an expression of its own. croner would take
 * them together, but its search goes on to a 29th, 30th and 31st of February and so misses the first days of March: of
 * 1,440 combinations it had 96 wrong (11.0.0), taken apart none.
 */
function eitherDay(fields: readonly string[]): string[][] {
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string]
  if (day === '*' || weekday === '*') return [[...fields]]
  return [
    [minute, hour, day, month, '*'],
    [minute, hour, '*', month, weekday],
  ]
}

/** croner counts days and months from 0 in what it says of a value out of range, which would only confuse. */
const reasonOf = (error: Error): string =>
  error.message.replace(/^CronPattern: /, '').replace(/^Invalid value for (\w+): .*$/, 'its $1 is out of range')

const ALLOWED =
  'five fields (minute hour day month weekday) with names, lists, ranges, steps, L and #, one of @hourly, @daily, ' +
  '@weekly, @monthly, @yearly, or OFF'

export function parseTimetable(expression: string, timezone: string): Timetable {
  const zone = findZone(timezone)
  if (zone === null)
    throw invalidInput(`timezone: "${timezone}" is no time zone. Use an IANA name such as Europe/Berlin.`)
  const nickname = NICKNAMES.get(expression.trim().toLowerCase())
  const fields = (nickname ?? expression).trim().split(/\s+/)
  const bad = (why: string) => invalidInput(`schedule: "${expression.slice(0, 80)}" ${why}. Allowed: ${ALLOWED}.`)
  if (expression.length > 200) throw bad('is too long')
  if (fields.length !== 5) throw bad(`has ${fields.length} fields, not 5`)
  if (!fields.every((field) => /^[A-Za-z0-9*,/#-]+$/.test(field))) throw bad('has characters that cron does not know')
  if (fields.slice(0, 2).some((field) => /[A-Za-z#]/.test(field))) throw bad('has a word in its minute or hour')
  let crons: Cron[]
  try {
    // Asked by offset croner reckons without Intl: 18 µs for a look instead of 125 by the name of the zone (11.0.0).
    crons = eitherDay(fields.map(openStep)).map(
      (one) => new Cron(one.join(' '), { utcOffset: 0, paused: true, mode: '5-part' }),
    )
  } catch (error) {
    throw bad(`does not parse (${reasonOf(error as Error)})`)
  }
  const timetable = new Timetable(crons, zone, fields[1]!.startsWith('*'))
  if (timetable.next(new Date(Date.UTC(2024, 0, 1))) === null) throw bad('never fires')
  return timetable
}
