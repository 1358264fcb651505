import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestRuns, testRuns } from '../../test/support/runs.ts'
import * as commands from './commands.ts'
import * as holds from './run-hold.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const by = (workerId: string, labels: string[] = []): holds.Claimer => ({ workerId, labels, leaseMs: 60_000 })

test('of many workers that take at once each run goes to one, at attempt one', async () => {
  const ids: number[] = []
  for (let count = 0; count < 8; count++) ids.push(await r.trigger(await r.schedule()))
  const claims = await Promise.all(
    Array.from({ length: 4 }, (_, at) => holds.claimWaiting(r.t.app.db, 3, by(`many-${at}`))),
  )
  const rest = await holds.claimWaiting(r.t.app.db, 100, by('rest'))
  const taken = [...claims.flat(), ...rest]
  assert.deepEqual(
    taken.map((one) => one.runId).sort((a, b) => a - b),
    ids,
  )
  assert.ok(taken.every((one) => one.attempt === 1))
})

test('a worker takes as many as it asks for and no more, the oldest first, however many wait', async () => {
  const schedule = await r.schedule({ overlap: 'allow' })
  const ids: number[] = []
  for (let count = 0; count < 12; count++) ids.push(await r.trigger(schedule))
  const taken = [
    await holds.claimWaiting(r.t.app.db, 2, by('two')),
    await holds.claimWaiting(r.t.app.db, 3, by('three')),
  ]
  assert.deepEqual(
    taken.map((claims) => claims.map((one) => one.runId).sort((a, b) => a - b)),
    [ids.slice(0, 2), ids.slice(2, 5)],
  )
  assert.equal((await holds.claimWaiting(r.t.app.db, 100, by('rest'))).length, 7)
})

test('a run of a pinned environment is taken only by a worker with all of its labels', async () => {
  const id = await r.trigger(await r.schedule({ workerLabels: ['gpu', 'eu'] }))
  assert.deepEqual(await holds.claimWaiting(r.t.app.db, 10, by('none')), [])
  assert.deepEqual(await holds.claimWaiting(r.t.app.db, 10, by('half', ['gpu'])), [])
  const all = await holds.claimWaiting(r.t.app.db, 10, by('all', ['eu', 'gpu', 'x']))
  assert.deepEqual(all, [{ runId: id, attempt: 1 }])
})

test('nothing is written by a worker or an attempt that does not hold the run', async () => {
  const { db } = r.t.app
  const id = await r.trigger(await r.schedule())
  await holds.claimWaiting(db, 10, by('holder'))
  const hold = { runId: id, attempt: 1, workerId: 'holder' }
  const [clone] = await r.commands(id)
  for (const wrong of [
    { ...hold, attempt: 2 },
    { ...hold, workerId: 'other' },
  ]) {
    assert.equal((await holds.begin(db, wrong)).held, false)
    await assert.rejects(commands.start(db, wrong, clone!), commands.LostRun)
    await assert.rejects(holds.setCommit(db, wrong, 'x'), commands.LostRun)
    assert.equal((await holds.renew(db, wrong.workerId, [{ runId: id, attempt: wrong.attempt }], 1000)).size, 0)
  }
  assert.deepEqual(await holds.begin(db, hold), { held: true, canceled: false, fresh: true })
  assert.equal(await commands.start(db, hold, clone!), 'started')
  await assert.rejects(commands.start(db, hold, clone!), commands.LostRun)
  assert.equal(await commands.start(db, hold, clone!, 'again'), 'started')
  await assert.rejects(
    commands.end(db, { ...hold, attempt: 2 }, { id: clone!.id, state: 'failed', returnCode: 1 }),
    commands.LostRun,
  )
  await commands.end(db, hold, { id: clone!.id, state: 'succeeded', returnCode: 0 })
  await commands.end(db, hold, { id: clone!.id, state: 'failed', returnCode: 9 })
  assert.equal((await r.commands(id))[0]!.returnCode, 0)
  assert.deepEqual([...(await holds.renew(db, 'holder', [{ runId: id, attempt: 1 }], 1000))], [id])
})

test('the start of a run waits for the transaction that takes it, and does not happen when that is undone', async () => {
  const { db } = r.t.app
  const id = await r.trigger(await r.schedule())
  const hold = { runId: id, attempt: 1, workerId: 'undone' }
  let begun: Promise<holds.Begun> | undefined
  await db
    .transaction()
    .execute(async (tx) => {
      await holds.claimWaiting(tx, 10, by('undone'))
      begun = holds.begin(db, hold)
      await sql`select pg_sleep(0.05)`.execute(tx)
      throw new Error('undone')
    })
    .catch(() => {})
  assert.equal((await begun!).held, false)
  await db.transaction().execute(async (tx) => {
    await holds.claimWaiting(tx, 10, by('undone'))
    begun = holds.begin(db, hold)
    await sql`select pg_sleep(0.05)`.execute(tx)
  })
  assert.equal((await begun!).held, true)
})
