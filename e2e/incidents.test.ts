// One open incident for a schedule and an entry, from the ends of runs to what the services hold.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { updateSchedule } from '../service/src/app/schedules.ts'
import * as deliveries from '../service/src/store/deliveries.ts'
import { TELLS_ALL } from '../service/test/receivers/all.ts'
import { type TestApp, testApp } from '../service/test/support/app.ts'
import { type Arrivals, startArrivals } from './support/arrivals.ts'

let t: TestApp
let a: Arrivals
before(async () => {
  t = await testApp({ poolSize: 10 })
})
after(() => t.close())
/** Each test has receivers and a workspace of its own. */
beforeEach(async () => {
  a = await startArrivals(t)
})
afterEach(() => a[Symbol.asyncDispose]())

test('one incident per schedule and entry: opened, added to, closed by the next pass, then opened anew', async () => {
  const slug = await a.schedule()
  const ids = [await a.run(slug, 'errored'), await a.run(slug, 'failed'), await a.run(slug, 'errored')]
  await a.sender.runOnce()
  await a.run(slug, 'errored', 7)
  await a.run(slug, 'succeeded', 7)
  await a.sender.runOnce()
  assert.deepEqual(
    a.all.pagerduty.incidents.map((one) => [one.status, one.notes.length]),
    [['triggered', 2]],
  )
  assert.match(a.all.incidentIo.incidents[0]!.summary, new RegExp(`run ${ids[1]}, .*\\n- run ${ids[2]}, `))
  await a.run(slug, 'canceled')
  await a.run(slug, 'succeeded')
  await a.run(slug, 'succeeded')
  await a.sender.runOnce()
  assert.equal(a.all.pagerduty.incidents[0]!.status, 'resolved')
  assert.equal(a.all.incidentIo.isOpen(a.all.incidentIo.incidents[0]!), false)
  assert.equal(a.all.datadog.incidents[0]!.fields.state, 'resolved')
  assert.deepEqual(
    a.all.newRelic.events.map((one) => one.action),
    ['open', 'add', 'add', 'close'],
  )
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  assert.deepEqual(a.counts(), { ...a.counts(), pagerduty: 2, incidentIo: 2, datadog: 2, newRelic: 5 })
  // Another schedule has an incident of its own at the same service.
  await a.run(await a.schedule(), 'errored')
  await a.sender.runOnce()
  assert.equal(a.all.pagerduty.incidents.filter((one) => one.status === 'triggered').length, 2)
})

test('open, note and close keep their order over retries, and events that are handled out of order change nothing', async () => {
  const slug = await a.schedule({ integrations: TELLS_ALL.integrations })
  a.all.behave({ kind: 'status', status: 503 })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  await a.run(slug, 'errored')
  await a.run(slug, 'succeeded')
  await a.sender.runOnce()
  assert.equal(a.all.pagerduty.incidents.length, 0)
  a.all.behave(null)
  await a.untilSettled()
  assert.deepEqual(
    a.all.pagerduty.incidents.map((one) => [one.status, one.notes.length]),
    [['resolved', 1]],
  )
  assert.equal(a.all.datadog.incidents.length, 1)
  // The pass of the second run is handled before the failure of the first.
  const first = await a.begin(slug)
  await a.end(first, 'errored')
  await sql`update run_event set next_try_at = 'infinity' where run_id = ${first}`.execute(t.app.db)
  await a.run(slug, 'succeeded')
  await sql`update run_event set next_try_at = '-infinity' where run_id = ${first}`.execute(t.app.db)
  await a.handle()
  await a.untilSettled()
  assert.equal(a.all.pagerduty.incidents.length, 1)
})

test('an entry that was taken off its schedule is closed all the same', async () => {
  const slug = await a.schedule({ integrations: TELLS_ALL.integrations })
  await a.run(slug, 'errored')
  await updateSchedule(a.inside, { slug, schedule: { integrations: {} } })
  await a.run(slug, 'succeeded')
  await a.sender.runOnce()
  assert.equal(a.all.pagerduty.incidents[0]!.status, 'resolved')
  assert.equal(a.all.datadog.incidents[0]!.fields.state, 'resolved')
})

test('an incident that stays open longer than deliveries are kept is still closed', async () => {
  const slug = await a.schedule({ integrations: TELLS_ALL.integrations })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  await sql`update delivery set ended_at = ended_at - interval '400 days' where workspace_id = ${a.workspace.id}`.execute(
    t.app.db,
  )
  await deliveries.deleteOld(t.app.db, 30, 1000)
  assert.equal((await a.listed()).length, 4)
  await a.run(slug, 'succeeded')
  await a.sender.runOnce()
  assert.equal(a.all.pagerduty.incidents[0]!.status, 'resolved')
  await sql`update delivery set ended_at = ended_at - interval '400 days' where workspace_id = ${a.workspace.id}`.execute(
    t.app.db,
  )
  await deliveries.deleteOld(t.app.db, 30, 1000)
  assert.deepEqual(await a.listed(), [])
})
