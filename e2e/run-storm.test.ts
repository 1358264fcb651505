// Runs and a service that dies, in small: e2e/faults/run-storm.ts does it a hundred times and counts more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runStorm } from './support/run-storm.ts'
import { clientOf } from './support/runs.ts'
import { startProcess } from './support/service.ts'
import { makeWitness } from './support/witness.ts'

test('runs survive a kill -9 of the service once or end once: client, database and witness agree, and nothing is left', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const report = await runStorm({ kills: 3, seed, life: [500, 2000], perSecond: 8, ticking: 5 })
  assert.deepEqual(report.faults, [], `seed ${seed}`)
  assert.ok(report.history.count('trigger', 'ok') > 0)
  assert.ok(report.figures.commandsStarted > 0, 'no command was seen by the witness')
})

test('a run that kills its worker each time ends as failed once, is not started again, and others go on', async () => {
  const witness = await makeWitness()
  const started = await startProcess()
  const { dataFolder } = started
  let client = clientOf(started)
  const environment = await client.environment(witness.repository)
  const poison = await client.schedule(environment, ['. ./witness.sh; witness start; sleep 600'])
  const other = await client.schedule(environment, ['echo well'])
  const poisoned = await client.trigger(poison)
  const beginnings = (): number => witness.read().lines.filter((line) => line.run === poisoned).length
  await client.until(async () => beginnings() > 0)
  await started.kill9()

  const second = await startProcess({ dataFolder })
  client = clientOf(second)
  assert.equal((await client.ended(poisoned)).state, 'FAILED')
  assert.equal((await client.ended(await client.trigger(other))).state, 'SUCCESS')
  // The schedule itself goes on, too: only what kills its worker fails, each time once.
  const again = await client.trigger(poison)
  await client.until(async () => witness.read().lines.some((line) => line.run === again))
  await second.kill9()

  const third = await startProcess({ dataFolder })
  client = clientOf(third)
  assert.equal((await client.ended(again)).state, 'FAILED')
  assert.equal((await client.ended(await client.trigger(other))).state, 'SUCCESS')
  const shown = 'query ($id: Int!) { boltRun(runId: $id) { run { state detail } } }'
  assert.deepEqual((await client.ask(shown, { id: poisoned })).run, { state: 'FAILED', detail: 'its worker was lost' })
  assert.equal(beginnings(), 1)
  assert.equal(witness.read().lines.length, 2)
  await third.stop()
})
