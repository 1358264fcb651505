import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOf, runSeed } from './support/lying-database/index.ts'

// The small sister of e2e/faults/lying-database.ts, which takes twenty seeds and longer delays.
test('through a database that refuses, forgets to answer and drops connections nothing is lost, doubled or stuck', async () => {
  const seed = Math.floor(Math.random() * 1_000_000)
  const report = await runSeed({ seed, operations: 1_200, delayMs: 200 }, {})
  assert.deepEqual(faultsOf(report), [], `seed ${seed}`)
  const { operations, before, after, delay, drop } = report.counted
  assert.ok(operations >= 1_200, `${operations} statements, seed ${seed}`)
  for (const [kind, count] of Object.entries({ before, after, delay, drop }))
    assert.ok(count > 0, `nothing was injected: ${kind}, seed ${seed}`)
  assert.ok(report.asked.ok > 0 && report.commandsRun > 0, `seed ${seed}`)
})
