import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HeldLease } from '../store/run-hold.ts'
import { LeaseWatch, UptimeWatch } from './lease-watch.ts'

const SECOND = 1000
const LEASE = 60 * SECOND
const BEAT = 5 * SECOND
const JUMPS = { '+10 s': 10, '-10 s': -10, '+1 h': 3600, '-1 h': -3600, '-1 day': -86_400 }

/** A worker that renews by the database's clock, and a reaper that looks every two seconds by its own. */
function world(watch: LeaseWatch) {
  let now = 1_000_000
  let offset = 0
  let leaseUntil = now + LEASE
  let last = now
  const lease = (): HeldLease => ({
    runId: 1,
    attempt: 1,
    leaseUntil: String(leaseUntil),
    leftMs: leaseUntil - now - offset,
  })
  /** Goes on for so long and says after how much of it the run was taken for lost, or null. */
  const goOn = (ms: number, alive: boolean): number | null => {
    for (const end = now + ms, began = now; now < end; now += 2 * SECOND) {
      if (alive && now - last >= BEAT) {
        leaseUntil = now + offset + LEASE
        last = now
      }
      if (watch.look([lease()], now).length > 0) return now - began
    }
    return null
  }
  const jump = (seconds: number): void => {
    offset += seconds * SECOND
  }
  return { goOn, jump, lastBeat: () => now - last }
}

for (const [name, seconds] of Object.entries(JUMPS)) {
  test(`a clock of the database that jumps by ${name} ends no run whose worker is alive`, () => {
    const { goOn, jump } = world(new LeaseWatch(LEASE))
    // The jump comes between two renewals, and the reaper looks before the next.
    assert.equal(goOn(3 * LEASE + 2 * SECOND, true), null)
    jump(seconds)
    assert.equal(goOn(3 * LEASE, true), null)
  })

  test(`a lease is neither shortened nor stretched when the clock jumps by ${name} after the worker died`, () => {
    const { goOn, jump, lastBeat } = world(new LeaseWatch(LEASE))
    assert.equal(goOn(LEASE, true), null)
    const since = lastBeat()
    assert.equal(goOn(20 * SECOND, false), null)
    jump(seconds)
    const after = goOn(10 * LEASE, false)
    assert.ok(after !== null, 'it is never taken for lost')
    const total = since + 20 * SECOND + after
    assert.ok(total >= LEASE && total <= LEASE + 5 * SECOND, `${total} ms after the last renewal`)
  })
}

test('at the first look, and only then, the clock of the database says how old a lease is', () => {
  const lease = (leftMs: number): HeldLease => ({ runId: 1, attempt: 1, leaseUntil: String(leftMs), leftMs })
  assert.equal(new LeaseWatch(LEASE).look([lease(-1)], 0).length, 1)
  const half = new LeaseWatch(LEASE)
  assert.equal(half.look([lease(LEASE / 2)], 0).length, 0)
  assert.equal(half.look([lease(LEASE / 2)], LEASE / 2).length, 1)
  // Longer than a lease can be: the clock was set back before anybody looked.
  const strange = new LeaseWatch(LEASE)
  assert.equal(strange.look([lease(3_600_000)], 0).length, 0)
  assert.equal(strange.look([lease(3_600_000)], LEASE).length, 1)
  const later = new LeaseWatch(LEASE)
  assert.equal(later.look([], 0).length, 0)
  assert.equal(later.look([lease(-3_600_000)], 1).length, 0, 'it was taken after the first look')
})

test('another attempt is another lease', () => {
  const watch = new LeaseWatch(LEASE)
  const lease = { runId: 1, attempt: 1, leaseUntil: 'x', leftMs: LEASE }
  watch.look([lease], 0)
  assert.equal(watch.look([{ ...lease, attempt: 2 }], LEASE).length, 0)
  assert.equal(watch.look([{ ...lease, attempt: 2 }], 2 * LEASE).length, 1)
})

test('how long the database is up does not change with its clock, and begins anew when it starts again', () => {
  const watch = new UptimeWatch()
  assert.equal(watch.look({ startedAt: 'a', upMs: 5000 }, 100), 5000)
  assert.equal(watch.look({ startedAt: 'a', upMs: -3_595_000 }, 1100), 6000)
  assert.equal(watch.look({ startedAt: 'a', upMs: 3_605_000 }, 2100), 7000)
  assert.equal(watch.look({ startedAt: 'b', upMs: 3_600_000 }, 3100), 0)
  assert.equal(watch.look({ startedAt: 'b', upMs: 0 }, 4100), 1000)
  assert.equal(new UptimeWatch().look({ startedAt: 'a', upMs: -5 }, 9), 0)
})
