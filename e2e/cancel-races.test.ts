import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancelRaces } from './support/engine/cancel-races.ts'

// The small sister of e2e/faults/cancel-races.ts, which does this 5,000 times.
test('a cancel that is answered decides, whenever it comes, and no command starts after it', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const report = await cancelRaces({ runs: 100, atOnce: 10, seed })
  assert.deepEqual(report.faults, [], `seed ${seed}`)
  assert.equal(report.runs, 100)
  assert.ok(report.ok > 0 && report.canceledInACommand > 0, `${JSON.stringify(report)}, seed ${seed}`)
})
