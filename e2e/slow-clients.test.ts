import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProcess } from './support/service.ts'
import { besiege, percentile } from './support/slow-clients.ts'

test('a hundred clients that take their time and a hundred that only stay do not hold up one that behaves', async () => {
  const service = await startProcess({ env: { YARDMASTER_LOG_LEVEL: 'error' } })
  try {
    const report = await besiege(service, { slow: 100, idle: 100, unread: 10, seconds: 4 })
    assert.deepEqual([report.open.idle, report.wrongBombs, report.steady.failed, report.well], [100, [], 0, true])
    assert.ok(report.open.slow >= 90, String(report.open.slow))
    assert.ok(report.steady.ms.length >= 10)
    // Other tests may have the machine at the same time: what they take of it shows in the calm before.
    const [calm, p95] = [percentile(report.calm.ms, 0.95), percentile(report.steady.ms, 0.95)]
    assert.ok(p95 <= 500 + 5 * calm, `p95 ${p95} ms, ${calm} ms before`)
    assert.ok(report.descriptors[1] <= report.descriptors[0] + 20, String(report.descriptors))
  } finally {
    await service.stop()
  }
})
