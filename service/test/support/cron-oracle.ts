/**
 * When cron expressions fire, found by brute force: every UTC minute of a stretch is read as the wall clock shows it, and
 * its fields are compared. It shares nothing with the service but the rule of the contract.
 */
const MINUTE = 60_000
const DAY = 1440 * MINUTE

const NICKNAMES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
}
const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

type Test = (local: Date) => boolean

interface Matcher {
  readonly followsClock: boolean
  matches(local: number): boolean
}

function plain(part: string, least: number, most: number, names: readonly string[], first: number): Set<number> {
  const number = (text: string): number => {
    const named = names.indexOf(text.toUpperCase())
    return named >= 0 ? named + first : Number(text)
  }
  const [range, step] = part.split('/') as [string, string | undefined]
  let [from, to] = [least, most]
  if (range !== '*') {
    const ends = range.split('-').map(number)
    from = ends[0]!
    to = ends[1] ?? (step === undefined ? from : most)
    // From Saturday to Sunday, whose name is the first day.
    if (to < from) to += 7
  }
  const values = new Set<number>()
  for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value)
  return values
}

const lastDay = (local: Date): number =>
  new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1, 0)).getUTCDate()

function dayOfMonth(field: string): Test {
  const tests = field.split(',').map((part): Test => {
    if (part === 'L') return (local) => local.getUTCDate() === lastDay(local)
    const values = plain(part, 1, 31, [], 0)
    return (local) => values.has(local.getUTCDate())
  })
  return (local) => tests.some((one) => one(local))
}

function dayOfWeek(field: string): Test {
  const tests = field.split(',').map((part): Test => {
    const [day, nth] = part.split('#') as [string, string | undefined]
    const values = new Set([...plain(day, 0, 7, WEEKDAYS, 0)].map((value) => value % 7))
    return (local) => {
      if (!values.has(local.getUTCDay())) return false
      if (nth === undefined) return true
      if (nth === 'L') return local.getUTCDate() + 7 > lastDay(local)
      return Math.ceil(local.getUTCDate() / 7) === Number(nth)
    }
  })
  return (local) => tests.some((one) => one(local))
}

function fieldOf(field: string, least: number, most: number, names: readonly string[] = []): Set<number> {
  return new Set(field.split(',').flatMap((part) => [...plain(part, least, most, names, 1)]))
}

export function matcher(expression: string): Matcher {
  const [minute, hour, day, month, weekday] = (NICKNAMES[expression] ?? expression).split(' ') as [
    string,
    string,
    string,
    string,
    string,
  ]
  const [minutes, hours] = [fieldOf(minute, 0, 59), fieldOf(hour, 0, 23)]
  const months = fieldOf(month, 1, 12, MONTHS)
  const [byDay, byWeekday] = [dayOfMonth(day), dayOfWeek(weekday)]
  const isDay: Test = day === '*' ? byWeekday : weekday === '*' ? byDay : (local) => byDay(local) || byWeekday(local)
  return {
    followsClock: hour.startsWith('*'),
    matches: (at) => {
      const local = new Date(at)
      return (
        minutes.has(local.getUTCMinutes()) &&
        hours.has(local.getUTCHours()) &&
        months.has(local.getUTCMonth() + 1) &&
        isDay(local)
      )
    },
  }
}

/** What the wall clock shows at each minute of a stretch, as if it were UTC. */
export interface Stretch {
  readonly zone: string
  readonly from: number
  readonly readings: readonly number[]
}

export function readStretch(zone: string, from: number, minutes: number): Stretch {
  const read = reader(zone)
  return { zone, from, readings: Array.from({ length: minutes }, (_, index) => read(from + index * MINUTE)) }
}

function reader(zone: string): (utc: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  return (utc) => Date.parse(`${format.format(utc).replace(' ', 'T')}Z`)
}

/** The first minute after each change of the zone's clock in a year. */
export function clockChanges(zone: string, year: number): number[] {
  const read = reader(zone)
  const offset = (utc: number): number => read(utc) - utc
  const changes: number[] = []
  for (let day = Date.UTC(year, 0, 1); day < Date.UTC(year + 1, 0, 1); day += DAY) {
    if (offset(day) === offset(day + DAY)) continue
    let at = day + MINUTE
    while (offset(at) === offset(day)) at += MINUTE
    changes.push(at)
  }
  return changes
}

/** All times of the stretch but its first minute. */
export function fires(stretch: Stretch, { followsClock, matches }: Matcher): number[] {
  const found: number[] = []
  let furthest = stretch.readings[0]!
  for (const [index, reading] of stretch.readings.entries()) {
    if (index === 0) continue
    let hit = false
    if (reading > furthest) {
      hit = matches(reading)
      // The readings between were skipped: the calendar makes up for them here, the clock does not.
      for (let lost = furthest + MINUTE; lost < reading && !followsClock && !hit; lost += MINUTE) hit = matches(lost)
      furthest = reading
    } else hit = followsClock && matches(reading)
    if (hit) found.push(stretch.from + index * MINUTE)
  }
  return found
}
