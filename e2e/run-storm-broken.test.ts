import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildWithout, COMPARE_AND_SET } from './support/broken-build.ts'
import { crowd } from './support/crowd.ts'
import { externalPostgres } from './support/external-postgres.ts'
import { sawTwice } from './support/witness.ts'

// e2e/faults/run-storm-broken.ts does this for longer, kills workers, and shows the same scene without a fault.
test('the checker of runs sees commands start twice in a build without the compare-and-set', async () => {
  const postgres = await externalPostgres()
  const entry = await buildWithout(COMPARE_AND_SET)
  const seed = Math.floor(Math.random() * 2 ** 32)
  const { found, jobsAgain } = await crowd({
    // A worker with a free slot takes what it is told to.
    ...{ postgres, entry, seed, workers: 2, slots: 16, perSecond: 2, kill: false, drainMs: 0 },
    ...{ seconds: 90, until: sawTwice },
  })
  await postgres.stop()
  assert.ok(found.doubleStarts.length > 0, `seed ${seed}: ${jobsAgain} jobs, ${JSON.stringify(found)}`)
})
