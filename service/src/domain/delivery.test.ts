import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOST_TRIES, nextTry, PAUSES_MS, parseRetryAfter, SERIES_MS } from './delivery.ts'

const startedAt = new Date('2026-03-02T09:00:00Z')
const HOUR = 3_600_000

/** Every try fails at once; when each was made, in milliseconds from the first. */
function series(random: number, afterSeconds?: number): number[] {
  const times = [0]
  for (let now = startedAt; ; ) {
    const next = nextTry({ tries: times.length, startedAt, now, random, afterSeconds })
    if (next === null) return times
    times.push(next.getTime() - startedAt.getTime())
    now = next
  }
}

test('a delivery is tried eight times with growing pauses, and never later than a day after the first', () => {
  for (const random of [0, 0.25, 0.5, 0.999_999]) {
    const times = series(random)
    assert.equal(times.length, 8)
    const pauses = times.slice(1).map((time, index) => time - times[index]!)
    assert.deepEqual(
      pauses,
      [...pauses].sort((a, b) => a - b),
    )
    assert.ok(times.at(-1)! <= SERIES_MS, `${times.at(-1)! / HOUR} hours`)
    assert.ok(times.at(-1)! > 15 * HOUR)
  }
  assert.equal(MOST_TRIES, 8)
})

test('what failed together does not come back together', () => {
  const next = (random: number) => nextTry({ tries: 1, startedAt, now: startedAt, random })!.getTime()
  assert.ok(next(0.9) - next(0.1) > PAUSES_MS[0]! / 4)
})

test('a receiver may ask for a longer pause, not for a shorter one, and not for more than the day', () => {
  const next = (afterSeconds: number) =>
    (nextTry({ tries: 1, startedAt, now: startedAt, random: 0.5, afterSeconds })!.getTime() - startedAt.getTime()) /
    1000
  assert.equal(next(600), 600)
  assert.equal(next(0), next(-5))
  assert.ok(next(1) > 7)
  assert.equal(next(1_000_000), SERIES_MS / 1000)
  assert.ok(next(Number.NaN) < 20)
  assert.ok(series(0.5, 1_000_000).length < 4)
})

test('Retry-After is seconds or a date; anything else is as if it were not there', () => {
  const at = (text: string | undefined) => parseRetryAfter(text, startedAt)
  assert.equal(at('120'), 120)
  assert.equal(at('Mon, 02 Mar 2026 09:01:30 GMT'), 90)
  assert.equal(at('Mon, 02 Mar 2026 08:00:00 GMT'), 0)
  for (const text of [undefined, '', 'soon', '-1', '1.5', '99999999999']) {
    assert.equal(at(text), undefined, String(text))
  }
})
