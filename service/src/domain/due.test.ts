import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DuePolicy } from './due.ts'
import { decideDue, MOST_CAUGHT_UP, skipDue } from './due.ts'
import { parseTimetable } from './occurrence.ts'

const DEFAULT: DuePolicy = { overlap: 'queue_one', catchUp: 'latest', catchUpWindowSeconds: 3600 }
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = new Date('2026-05-01T00:00Z')
const minutely = parseTimetable('* * * * *', 'UTC')
const hourly = parseTimetable('0 * * * *', 'UTC')

const text = (at: Date | null): string => at?.toISOString().slice(0, 19) ?? 'never'

/** Down from just before START for so long, back half a second after a minute began. */
const after = (down: number): Date => new Date(START.getTime() + down - MINUTE + 500)

test('a time that is seen within its minute runs under every policy', () => {
  for (const catchUp of ['latest', 'all', 'none'] as const) {
    for (const late of [0, 500, 59_999]) {
      const now = new Date(START.getTime() + late)
      const decision = decideDue(hourly, START, now, { ...DEFAULT, catchUp, catchUpWindowSeconds: 0 })
      assert.deepEqual(decision.run.map(text), ['2026-05-01T00:00:00'], `${catchUp}, ${late} ms late`)
      assert.deepEqual(decision.skips, [])
      assert.equal(text(decision.next), '2026-05-01T01:00:00')
    }
  }
})

test('a minute later it is missed, and caught up or recorded by its policy', () => {
  const now = new Date(START.getTime() + MINUTE)
  assert.equal(decideDue(hourly, START, now, DEFAULT).run.length, 1)
  const none = decideDue(hourly, START, now, { ...DEFAULT, catchUp: 'none' })
  assert.equal(none.run.length, 0)
  assert.match(none.skips[0]!.detail, /catches nothing up/)
  const edge = new Date(START.getTime() + HOUR)
  const once = parseTimetable('0 0 * * *', 'UTC')
  assert.equal(decideDue(once, START, edge, DEFAULT).run.length, 1, 'an hour old is inside the window')
  const past = decideDue(once, START, new Date(edge.getTime() + 1), DEFAULT)
  assert.deepEqual(past.run, [])
  assert.match(past.skips[0]!.detail, /longer ago than the catch-up window of 3600 s/)
})

test('after a minute, an hour, a day and four hundred days down each policy runs exactly its number', () => {
  const table = [
    // [down, timetable, policy, runs, rows of skips, times that these stand for]
    [MINUTE, minutely, DEFAULT, 1, 0, 0],
    [MINUTE, minutely, { ...DEFAULT, catchUp: 'all' }, 1, 0, 0],
    [MINUTE, minutely, { ...DEFAULT, catchUp: 'none' }, 1, 0, 0],
    [HOUR, minutely, DEFAULT, 1, 59, 59],
    [HOUR, minutely, { ...DEFAULT, catchUp: 'all' }, 60, 0, 0],
    [HOUR, minutely, { ...DEFAULT, catchUp: 'none' }, 1, 59, 59],
    [DAY, minutely, DEFAULT, 1, 1, 1439],
    [DAY, minutely, { ...DEFAULT, catchUp: 'all' }, 60, 1, 1380],
    [DAY, minutely, { ...DEFAULT, catchUp: 'none' }, 1, 1, 1439],
    [400 * DAY, minutely, DEFAULT, 1, 1, 400 * 1440 - 1],
    [400 * DAY, minutely, { ...DEFAULT, catchUp: 'all', catchUpWindowSeconds: 2_592_000 }, MOST_CAUGHT_UP, 1, 575_500],
    [400 * DAY, minutely, { ...DEFAULT, catchUp: 'none' }, 1, 1, 400 * 1440 - 1],
    [DAY, hourly, DEFAULT, 1, 23, 23],
    [DAY, hourly, { ...DEFAULT, catchUp: 'all', catchUpWindowSeconds: 86_400 }, 24, 0, 0],
    [DAY, hourly, { ...DEFAULT, catchUp: 'none' }, 0, 24, 24],
    [400 * DAY, hourly, DEFAULT, 1, 1, 9599],
  ] as const
  for (const [down, timetable, policy, runs, rows, times] of table) {
    const name = `${down / MINUTE} minutes, ${policy.catchUp}`
    const now = after(down)
    const decision = decideDue(timetable, START, now, policy)
    assert.equal(decision.run.length, runs, name)
    assert.equal(decision.skips.length, rows, name)
    assert.equal(
      decision.skips.reduce((sum, skip) => sum + skip.count, 0),
      times,
      name,
    )
    assert.equal(runs + times, timetable.count(new Date(START.getTime() - 1), now), 'every time is accounted for once')
    assert.equal(text(decision.next), text(timetable.next(now)), name)
    const seen = [...decision.run, ...decision.skips.map((skip) => skip.dueAt)].map(text)
    assert.equal(new Set(seen).size, seen.length, name)
  }
})

test('a row that stands for many says how many, from when to when', () => {
  const [skip] = decideDue(minutely, START, after(DAY), DEFAULT).skips
  assert.equal(text(skip!.dueAt), '2026-05-01T00:00:00')
  assert.equal(text(skip!.until), '2026-05-01T23:58:00')
  assert.equal(skip!.count, 1439)
  assert.equal(
    skip!.detail,
    '1439 times from 2026-05-01 00:00 to 2026-05-01 23:58 UTC. ' +
      'Missed: no scheduler was at work at these times; only the latest missed time is caught up.',
  )
  const hundred = decideDue(minutely, START, after(101 * MINUTE), DEFAULT).skips
  assert.equal(hundred.length, 100, 'a hundred have rows of their own')
})

test('where runs can neither overlap nor wait, only the newest of what is caught up runs', () => {
  for (const overlap of ['skip', 'cancel_previous'] as const) {
    const decision = decideDue(minutely, START, after(10 * MINUTE), { ...DEFAULT, catchUp: 'all', overlap })
    assert.deepEqual(decision.run.map(text), ['2026-05-01T00:09:00'])
    assert.equal(decision.allInLine, false)
    assert.equal(decision.skips.length, 9)
    assert.match(decision.skips[0]!.detail, /A later time of the schedule took its place/)
  }
  for (const overlap of ['queue_one', 'allow'] as const) {
    const decision = decideDue(minutely, START, after(10 * MINUTE), { ...DEFAULT, catchUp: 'all', overlap })
    assert.deepEqual(decision.run.map(text).slice(-1), ['2026-05-01T00:09:00'])
    assert.equal(decision.allInLine, true)
    assert.equal(decision.run.length, 10)
  }
})

test('a look before the time does nothing, and looks again then', () => {
  const decision = decideDue(hourly, START, new Date(START.getTime() - 1), DEFAULT)
  assert.deepEqual([decision.run, decision.skips], [[], []])
  assert.equal(text(decision.next), '2026-05-01T00:00:00')
})

test('a clock that jumps neither doubles nor loses a time', () => {
  // The scheduler's only memory is the next time; the clock goes on by half minutes and jumps in between.
  for (const jump of [10_000, -10_000, HOUR, -HOUR, -DAY]) {
    let clock = START.getTime() - MINUTE
    let due: Date | null = START
    const seen: string[] = []
    for (let step = 0; step < 4000; step++) {
      if (step === 50) clock += jump
      clock += MINUTE / 2
      const now = new Date(clock)
      while (due !== null && due <= now) {
        const decision = decideDue(minutely, due, now, DEFAULT)
        for (const at of decision.run) seen.push(text(at))
        for (const skip of decision.skips) seen.push(text(skip.dueAt))
        due = decision.next
      }
    }
    assert.ok(seen.length > 100)
    const expected = minutely.between(new Date(START.getTime() - 1), new Date(clock), 100_000).map(text)
    assert.deepEqual(seen.toSorted(), expected, `a jump of ${jump / 1000} s`)
  }
})

test('times that a change of the schedule overtakes are all recorded, with its reason', () => {
  const skips = skipDue(hourly, START, new Date(START.getTime() + 2 * HOUR), 'It was changed.')
  assert.deepEqual(
    skips.map((skip) => [text(skip.dueAt), skip.detail]),
    [
      ['2026-05-01T00:00:00', 'It was changed.'],
      ['2026-05-01T01:00:00', 'It was changed.'],
      ['2026-05-01T02:00:00', 'It was changed.'],
    ],
  )
  const [many] = skipDue(minutely, START, after(DAY), 'It was changed.')
  assert.equal(many!.count, 1440)
})
