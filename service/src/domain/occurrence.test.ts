import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matcher } from '../../test/support/cron-oracle.ts'
import { compare, dstCases } from '../../test/support/dst-cases.ts'
import { AppError } from './errors.ts'
import { parseTimetable } from './occurrence.ts'
import { findZone } from './timezone.ts'

const text = (at: Date | null): string => at?.toISOString().slice(0, 16) ?? 'never'

function times(expression: string, zone: string, after: string, count: number): string[] {
  const timetable = parseTimetable(expression, zone)
  const found: string[] = []
  for (let at = timetable.next(new Date(after)); found.length < count && at !== null; at = timetable.next(at))
    found.push(text(at))
  return found
}

test('days of the month and of the week are those of the calendar, alone and together, over leap years', () => {
  const DAY = 86_400_000
  const [from, until] = [Date.UTC(2024, 0, 1), Date.UTC(2026, 3, 1)]
  for (const day of ['*', '1', '2', '29-31', 'L', '*/2']) {
    for (const weekday of ['*', 'MON', 'SAT-SUN', 'SUN#5', 'MON#1,WED#3']) {
      for (const month of ['*', '2']) {
        const expression = `0 0 ${day} ${month} ${weekday}`
        const expected: string[] = []
        const { matches } = matcher(expression)
        for (let at = from + DAY; at <= until; at += DAY) if (matches(at)) expected.push(text(new Date(at)))
        if (expected.length === 0) continue
        const actual = parseTimetable(expression, 'UTC').between(new Date(from), new Date(until), 10_000)
        assert.deepEqual(actual.map(text), expected, expression)
      }
    }
  }
})

// All of them in e2e/faults/dst.ts.
test('around clock changes of nineteen zones the times are those that a scan of every minute finds', () => {
  const cases = dstCases(7)
  assert.ok(cases.length >= 150, `${cases.length} cases`)
  for (const one of cases) {
    const { name, expected, actual } = compare(one)
    assert.deepEqual(actual, expected, name)
  }
})

test('local times that a jump skips fire together, once, at the first minute after it', () => {
  // 2026-03-29 in Berlin: 02:00 becomes 03:00, at 01:00 UTC.
  assert.deepEqual(times('0,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 3), [
    '2026-03-29T01:00',
    '2026-03-30T00:00',
    '2026-03-30T00:30',
  ])
  assert.deepEqual(times('0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', 2), [
    '2026-03-29T01:00',
    '2026-03-30T00:00',
  ])
  // A day that was never: 2011-12-30 in Apia.
  assert.deepEqual(times('0 12 * * *', 'Pacific/Apia', '2011-12-29T12:00Z', 3), [
    '2011-12-29T22:00',
    '2011-12-30T10:00',
    '2011-12-30T22:00',
  ])
})

test('a local time that occurs twice fires in the first pass, unless the hour begins with a star', () => {
  // 2026-10-25 in Berlin: 03:00 becomes 02:00, at 01:00 UTC.
  assert.deepEqual(times('30 1,2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', 3), [
    '2026-10-24T23:30',
    '2026-10-25T00:30',
    '2026-10-26T00:30',
  ])
  assert.deepEqual(times('30 * * * *', 'Europe/Berlin', '2026-10-24T23:45Z', 3), [
    '2026-10-25T00:30',
    '2026-10-25T01:30',
    '2026-10-25T02:30',
  ])
  assert.deepEqual(times('30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', 3), [
    '2026-03-29T00:30',
    '2026-03-29T01:30',
    '2026-03-29T02:30',
  ])
})

test('counting and finding the latest agree with going through all times, also over clock changes', () => {
  for (const [expression, zone] of [
    ['*/20 * * * *', 'Europe/Berlin'],
    ['10 1-3 * * *', 'America/Havana'],
    ['0,30 2 * * 7', 'Australia/Lord_Howe'],
    ['30 1 L * *', 'UTC'],
    ['15 */5 * * MON-FRI', 'Antarctica/Troll'],
  ] as const) {
    const timetable = parseTimetable(expression, zone)
    for (const [from, until] of [
      ['2026-03-01T05:07Z', '2026-04-10T00:00Z'],
      ['2026-10-20T00:00Z', '2026-11-05T17:31Z'],
      ['2026-06-01T01:10Z', '2026-06-01T01:10Z'],
    ] as const) {
      const [after, end] = [new Date(from), new Date(until)]
      const all = timetable.between(after, end, 100_000)
      assert.equal(timetable.count(after, end), all.length, `${expression} ${zone} ${from}`)
      assert.equal(text(timetable.latest(after, end)), text(all.at(-1) ?? null), `${expression} ${zone} ${from}`)
      for (const at of all.slice(1, 20)) {
        const before = timetable.latest(after, new Date(at.getTime() - 1))
        assert.equal(text(timetable.next(before!)), text(at), 'the time after the one before is the same')
      }
    }
  }
})

test('four hundred days of minutes are counted within a second of work', () => {
  const timetable = parseTimetable('* * * * *', 'America/New_York')
  // Of the processor, because several test files share the machine.
  const began = process.cpuUsage()
  const [from, until] = [new Date('2026-01-01T00:00Z'), new Date('2027-02-05T00:00Z')]
  assert.equal(timetable.count(from, until), 400 * 1440)
  assert.equal(text(timetable.latest(from, until)), '2027-02-05T00:00')
  const { user } = process.cpuUsage(began)
  assert.ok(user < 1_000_000, `${user} µs`)
})

test('what is no expression of five fields is refused, saying what is allowed', () => {
  for (const expression of [
    '',
    '* * * *',
    '* * * * * *',
    '0 0 0 * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 13 *',
    '* * * * 8',
    '*/0 * * * *',
    '* * * * MON#6',
    '* * * FOO *',
    '1-x * * * *',
    'L * * * *',
    '0 MON * * *',
    '5-1 * * * *',
    '0 0 31 2 *',
    '0 0 31 APR,JUN *',
    '@reboot',
    '@every 5m',
    '0 0 * * *;',
    '0 0 * * ?',
    '+ * * * *',
    '１ * * * *',
    `${'1,'.repeat(200)}1 * * * *`,
  ]) {
    assert.throws(
      () => parseTimetable(expression, 'UTC'),
      (error) =>
        error instanceof AppError && error.code === 'INVALID_INPUT' && /^schedule: .*five fields/s.test(error.message),
      expression,
    )
  }
})

test('names, lists, ranges, steps, L, #, nicknames and 7 are understood', () => {
  for (const [expression, expected] of [
    ['5/15 * * * *', ['2026-02-20T00:05', '2026-02-20T00:20']],
    ['0 0 * * 7', ['2026-02-22T00:00', '2026-03-01T00:00']],
    ['0 0 * * sat-sun', ['2026-02-21T00:00', '2026-02-22T00:00']],
    ['0 0 1 JAN/6 *', ['2026-07-01T00:00', '2027-01-01T00:00']],
    ['0 0 L * *', ['2026-02-28T00:00', '2026-03-31T00:00']],
    ['0 0 * * FRI#2', ['2026-03-13T00:00', '2026-04-10T00:00']],
    ['0 0 1 * MON', ['2026-02-23T00:00', '2026-03-01T00:00']],
    ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
    ['  0   0 * * *  ', ['2026-02-21T00:00', '2026-02-22T00:00']],
    ['@Yearly', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['@annually', ['2027-01-01T00:00', '2028-01-01T00:00']],
    ['@monthly', ['2026-03-01T00:00', '2026-04-01T00:00']],
    ['@weekly', ['2026-02-22T00:00', '2026-03-01T00:00']],
    ['@hourly', ['2026-02-20T01:00', '2026-02-20T02:00']],
  ] as const) {
    assert.deepEqual(times(expression, 'UTC', '2026-02-20T00:00Z', 2), expected, expression)
  }
})

test('a zone is known by its name in any case, and by no offset', () => {
  assert.equal(findZone('europe/berlin'), findZone('Europe/Berlin'))
  for (const name of ['', 'Mars/Olympus', '+02:00', '-05', 'Europe/Berlin ', '../etc', 'Europe/']) {
    assert.equal(findZone(name), null, name)
  }
  assert.throws(() => parseTimetable('* * * * *', 'Nowhere'), /^AppError: timezone: "Nowhere" is no time zone/)
})
