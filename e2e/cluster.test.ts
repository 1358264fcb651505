// Two servers and three workers on one PostgreSQL, each a process with its own data folder: the short form of
// e2e/faults/cluster.ts and fencing.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterStorm } from './support/cluster-storm.ts'

/**
 * How fast, and by whom, is printed there; here nothing depends on how busy the machine is. On one that is busy enough a
 * lease of five seconds runs out by itself, and its run fails without any fault of ours; and of few times that come due
 * the one server may have fired all before the other looked.
 */
const BY_CHANCE = / ms(,|$)|failed without a fault|by the (first|second) server/

test('a worker is killed, one stopped and one cut off while times come due: none is lost or doubled, nothing stale is written, and both servers show the same', async (t) => {
  const lines = await clusterStorm({
    seed: 1,
    leaseSeconds: 5,
    stopLeases: 2,
    kinds: [
      { schedules: 4, times: 60, more: { catchUp: 'LATEST' } },
      { schedules: 2, times: 119, more: { catchUp: 'LATEST' } },
      { schedules: 2, times: 4, more: { catchUp: 'ALL', overlap: 'ALLOW' } },
    ],
    overMs: 6_000,
    say: (line) => t.diagnostic(line),
  })
  const wrong = lines.filter(([name, figure, holds]) => !BY_CHANCE.test(name) && holds?.(figure) === false)
  assert.deepEqual(
    wrong.map(([name, figure]) => `${name.trim()}: ${figure}`),
    [],
  )
})
