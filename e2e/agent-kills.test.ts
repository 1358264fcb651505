// The short form of e2e/faults/agent-kills.ts: workers that work on sessions are killed while tools have effects outside.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentStorm } from './support/agent-storm.ts'
import { seeded } from './support/random.ts'

test('sessions whose workers are killed come to their ends with each effect once', { timeout: 600_000 }, async () => {
  const seed = Number(process.env.YARDMASTER_TEST_SEED ?? Date.now() % 1_000_000)
  const report = await agentStorm({ kills: 4, workers: 2, atOnce: 4, random: seeded(seed), say: () => {} })
  assert.deepEqual(report.faults, [], `seed ${seed}`)
  assert.equal(report.completed + report.failed, report.sessions)
  assert.ok(report.completed > report.sessions / 2, `${report.completed} of ${report.sessions} came to their effects`)
  assert.ok(report.retaken > 0, `no kill hit a session, seed ${seed}`)
})
