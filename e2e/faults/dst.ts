/**
 * When schedules fire around clock changes (R10): every case against an oracle that reads the wall clock at each UTC
 * minute, and every time found again from the one before.
 */
import { parseTimetable } from '../../service/src/domain/occurrence.ts'
import { compare, dstCases } from '../../service/test/support/dst-cases.ts'
import { startClock, summary } from '../support/report.ts'

const clock = startClock()
const cases = dstCases()
const zones = new Set(cases.map((one) => one.stretch.zone))
let [different, times, unordered, inconsistent] = [0, 0, 0, 0]
const looks: number[] = []

for (const one of cases) {
  const { name, expected, actual } = compare(one)
  times += expected.length
  if (expected.join() !== actual.join()) {
    different++
    const only = (these: readonly string[], others: readonly string[]) => these.filter((at) => !others.includes(at))
    console.log(
      `${name}\n  missing ${only(expected, actual).join(' ')}\n  too many ${only(actual, expected).join(' ')}`,
    )
  }
  const timetable = parseTimetable(one.expression, one.stretch.zone)
  const start = new Date(one.stretch.from)
  let before: Date | null = null
  for (const text of actual.slice(0, 30)) {
    const at = new Date(`${text}:00Z`)
    if (before !== null && at <= before) unordered++
    const began = performance.now()
    const next = timetable.next(new Date(at.getTime() - 1))
    looks.push(performance.now() - began)
    if (next?.getTime() !== at.getTime()) inconsistent++
    const previous: Date | null = timetable.latest(start, new Date(at.getTime() - 1))
    if ((previous?.getTime() ?? null) !== (before?.getTime() ?? null)) inconsistent++
    before = at
  }
}

const percentile = (numbers: readonly number[], part: number): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * part)] ?? Number.NaN

summary('clock changes', clock, [
  ['zones', zones.size, (n) => n >= 16],
  ['cases', cases.length, (n) => n >= 1000],
  ['  times in them', times],
  ['  cases that differ from the oracle', different, (n) => n === 0],
  ['  times out of their order', unordered, (n) => n === 0],
  ['  times that are not the next of the one before, or the one before of the next', inconsistent, (n) => n === 0],
  ['  looks for the next time', looks.length],
  // The slowest of all would hold whatever else the machine did.
  ['  99.9 % of them took at most, ms', percentile(looks, 0.999), (ms) => ms <= 5],
])
