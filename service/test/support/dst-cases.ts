/** The clock changes and expressions by which the service is compared with the oracle. */
import { parseTimetable } from '../../src/domain/occurrence.ts'
import type { Stretch } from './cron-oracle.ts'
import { clockChanges, fires, matcher, readStretch } from './cron-oracle.ts'

const ZONES: readonly (readonly [zone: string, year: number])[] = [
  ['Europe/Berlin', 2026],
  ['Europe/London', 2027],
  ['Europe/Dublin', 2026],
  ['America/New_York', 2026],
  ['America/St_Johns', 2026],
  ['America/Havana', 2026],
  ['America/Santiago', 2026],
  ['America/Asuncion', 2023],
  ['America/Sao_Paulo', 2018],
  ['Africa/Cairo', 2026],
  ['Africa/Casablanca', 2026],
  ['Asia/Beirut', 2026],
  ['Asia/Tehran', 2022],
  ['Australia/Lord_Howe', 2026],
  ['Australia/Sydney', 2026],
  ['Antarctica/Troll', 2026],
  ['Pacific/Apia', 2011],
  ['Pacific/Chatham', 2026],
  // Without changes, in a time of its own.
  ['Asia/Kathmandu', 2026],
]

/** Few times a day: compared over days. */
const SPARSE = [
  '0 0 * * *',
  '30 0 * * *',
  '30 1 * * *',
  '0 2 * * *',
  '30 2 * * *',
  '0,30 2 * * *',
  '15,45 1-3 * * *',
  '30 1,2 * * *',
  '30 0,23 * * *',
  '0 3 * * *',
  '59 23 * * *',
  '10 0-5/2 * * *',
  '5/25 2 * * *',
  '0 1/2 * * *',
  '20 */3 * * *',
  '0 * * * *',
  '30 *,3 * * *',
  '30 2 * * 7',
  '30 2 * * SUN#L',
  '0 2 L * *',
  '30 1 * MAR,OCT,NOV SUN',
  '15 2 1-31/2 * MON',
  '0 0 * JAN-DEC SAT-SUN',
  '30 2 * * SUN#2',
  '@hourly',
  '@daily',
  '@weekly',
  '@monthly',
]
/** Many times an hour: compared over the hours around the change. */
const DENSE = ['* * * * *', '*/15 * * * *', '*/7 1-3 * * *', '5/15 */2 * * *', '10-20/5 0-4 * * *', '* 2 * * *']

const HOUR = 60
const MS = 60_000

export interface DstCase {
  readonly expression: string
  readonly stretch: Stretch
}

/** Every `nth` of all cases, so that each zone and each expression has its turn. */
export function dstCases(nth = 1): DstCase[] {
  const cases: DstCase[] = []
  let index = 0
  for (const [zone, year] of ZONES) {
    const changes = clockChanges(zone, year)
    for (const change of changes.length === 0 ? [Date.UTC(year, 5, 1)] : changes) {
      const whole = readStretch(zone, change - 40 * HOUR * MS, 80 * HOUR)
      const near = { ...whole, from: change - 3 * HOUR * MS, readings: whole.readings.slice(37 * HOUR, 44 * HOUR) }
      for (const expression of SPARSE) if (index++ % nth === 0) cases.push({ expression, stretch: whole })
      for (const expression of DENSE) if (index++ % nth === 0) cases.push({ expression, stretch: near })
    }
  }
  return cases
}

export interface Comparison {
  readonly name: string
  readonly expected: readonly string[]
  readonly actual: readonly string[]
}

export function compare({ expression, stretch }: DstCase): Comparison {
  const text = (at: number): string => new Date(at).toISOString().slice(0, 16)
  const end = new Date(stretch.from + (stretch.readings.length - 1) * MS)
  const timetable = parseTimetable(expression, stretch.zone)
  return {
    name: `${expression} in ${stretch.zone} from ${text(stretch.from)}`,
    expected: fires(stretch, matcher(expression)).map(text),
    actual: timetable.between(new Date(stretch.from), end, 10_000).map((at) => text(at.getTime())),
  }
}
