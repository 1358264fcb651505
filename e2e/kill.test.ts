import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storm } from './support/storm.ts'

// The small sister of e2e/faults/kill-storm.ts, which does this fifty times and counts more.
test('what was acknowledged before a kill -9 is there once after it, with its audit record', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const report = await storm({ kills: 3, acknowledged: 100, clients: 16, seed })
  assert.deepEqual(report.faults, [], `seed ${seed}`)
  assert.ok(report.history.count('ok') >= 100, `${report.history.count('ok')} acknowledged, seed ${seed}`)
  assert.ok(report.last.witnesses > 0, 'no head of the audit chain was kept outside the database')
})
