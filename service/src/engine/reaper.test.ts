import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { otherHost, type TestRuns, testRuns } from '../../test/support/runs.ts'
import { hostProcesses } from '../adapters/host-processes.ts'
import { cancelRun } from '../app/runs.ts'
import * as nodes from '../store/nodes.ts'
import * as holds from '../store/run-hold.ts'
import { reaper } from './reaper.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const LEASE_MS = 60_000

const take = async (workerId: string): Promise<void> => {
  await holds.claimWaiting(r.t.app.db, 10, { workerId, labels: [], leaseMs: LEASE_MS })
}
const reap = (quietMs = 0, host = otherHost()) =>
  reaper(r.t.app, {
    host,
    leaseMs: LEASE_MS,
    quietMs,
    waitLimitSeconds: 3600,
    place: { work: join(r.folder, 'runs'), cache: join(r.folder, 'cache') },
  }).runOnce()
const expire = (id: number) =>
  sql`update run set lease_until = clock_timestamp() - interval '1 second' where id = ${id}`.execute(r.t.app.db)

test('a run whose lease ran out fails once, its neighbour is woken, and its folder goes', async () => {
  const schedule = await r.schedule()
  const [lost, next] = [await r.trigger(schedule), await r.trigger(schedule)]
  await take('gone')
  await mkdir(join(r.folder, 'runs', `${lost}-1`), { recursive: true })
  await reap()
  assert.equal((await r.run(lost)).state, 'starting')
  assert.deepEqual(await readdir(join(r.folder, 'runs')), [`${lost}-1`])
  await expire(lost)
  await reap(3_600_000_000)
  assert.equal((await r.run(lost)).state, 'starting', 'silent for one lease after the start of the database')
  await Promise.all([reap(), reap(), reap()])
  const run = await r.run(lost)
  assert.deepEqual([run.state, run.detail], ['failed', 'its worker was lost'])
  assert.deepEqual(
    (await r.commands(lost)).map((one) => [one.state, one.logFinished]),
    [
      ['not_run', true],
      ['not_run', true],
      ['not_run', true],
    ],
  )
  assert.ok(r.t.jobs.some((job) => (job.data as { runId: number }).runId === next))
  assert.deepEqual(await readdir(join(r.folder, 'runs')), [])
  assert.equal((await r.t.records('run_ended')).filter((one) => one.data.run === lost).length, 1)
})

test('a lost run whose cancel was recorded ends as canceled', async () => {
  const id = await r.trigger(await r.schedule())
  await take('gone')
  await cancelRun(r.ctx, { runId: id })
  await expire(id)
  await reap()
  assert.equal((await r.run(id)).state, 'canceled')
})

test('the runs of a dead process of this host end at once, those of a living one do not', async () => {
  const host = hostProcesses()
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  const [name, boot, namespace] = host.self.split('/')
  const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8')
  const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  const worker = [name, boot, namespace, child.pid, started, 'x'].join('/')
  const id = await r.trigger(await r.schedule())
  await take(worker)
  await reap(0, host)
  assert.equal((await r.run(id)).state, 'starting')
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(await host.isDead(host.self), false)
  assert.equal(await host.isDead(worker.replace(boot!, 'another-boot')), false)
  await reap(0, host)
  assert.deepEqual((await r.run(id)).detail, 'its worker was lost')
})

test('a run that waits although nothing goes is woken', async () => {
  const id = await r.trigger(await r.schedule())
  await sql`update run set released_at = null where id = ${id}`.execute(r.t.app.db)
  await reap()
  assert.notEqual((await r.run(id)).releasedAt, null)
})

test('leases are watched on a clock that nobody sets: one that moves is alive, one that stands still runs out', async () => {
  const clock = { now: 0 }
  const watching = reaper(r.t.app, {
    host: otherHost(),
    leaseMs: LEASE_MS,
    quietMs: 0,
    place: null,
    monotonicMs: () => clock.now,
  })
  await watching.runOnce()
  const [alive, dead] = [await r.trigger(await r.schedule()), await r.trigger(await r.schedule())]
  await take('somebody')
  await watching.runOnce()
  // As after a jump of the database's clock, of an hour forward for one and a day back for the other.
  const set = (id: number, lease: string) =>
    sql`update run set lease_until = clock_timestamp() + ${lease}::interval where id = ${id}`.execute(r.t.app.db)
  await set(dead, '1 day')
  await watching.runOnce()
  for (let beat = 1; beat <= 20; beat++) {
    await set(alive, `-1 hour ${beat} seconds`)
    clock.now += 4000
    await watching.runOnce()
    const due = clock.now >= LEASE_MS
    assert.equal((await r.run(dead)).state, due ? 'failed' : 'starting', `after ${clock.now} ms`)
    assert.equal((await r.run(alive)).state, 'starting')
  }
  await expire(alive)
  await reap()
})

test('a run whose turn came and that nobody takes fails after the limit, and says which labels nobody has', async () => {
  const { db } = r.t.app
  const pinned = await r.schedule({ workerLabels: ['gpu', 'eu-west'] })
  const [waiting, next] = [await r.trigger(pinned), await r.trigger(pinned)]
  const plain = await r.trigger(await r.schedule())
  const limited = reaper(r.t.app, { host: otherHost(), leaseMs: LEASE_MS, place: null, waitLimitSeconds: 3600 })
  const ago = (id: number, seconds: number) =>
    sql`update run set released_at = clock_timestamp() - make_interval(secs => ${seconds}) where id = ${id}`.execute(db)
  await ago(waiting, 3500)
  await limited.runOnce()
  assert.deepEqual(
    [(await r.run(waiting)).state, (await r.run(waiting)).missingLabels],
    ['waiting', ['gpu', 'eu-west']],
  )
  assert.deepEqual((await r.run(plain)).missingLabels, [], 'there is no worker at all')
  assert.equal((await r.run(next)).missingLabels, null, 'it waits for its turn, not for a worker')
  // A worker that is fit for something else.
  const node = { id: 'n', host: 'h', pid: 1, roles: ['worker'], kids: [], version: '1', labels: ['gpu'] }
  await nodes.beat(db, node)
  assert.equal((await r.run(plain)).missingLabels, null)
  await Promise.all([ago(waiting, 3601), ago(plain, 3601)])
  await limited.runOnce()
  assert.deepEqual(
    [(await r.run(waiting)).state, (await r.run(waiting)).detail],
    ['failed', 'nobody took it within 3600 seconds: no worker with the labels gpu, eu-west is running'],
  )
  assert.equal((await r.run(plain)).detail, 'nobody took it within 3600 seconds: every worker that may take it is busy')
  assert.notEqual((await r.run(next)).releasedAt, null, 'the next one gets its turn')
  assert.equal((await r.t.records('run_ended')).filter((one) => one.data.run === waiting).length, 1)
  // One that is alive but has not been seen for a minute does not count.
  await nodes.beat(db, { ...node, labels: ['gpu', 'eu-west'], id: 'm' })
  assert.equal((await r.run(next)).missingLabels, null)
  await sql`update node set seen_at = seen_at - interval '61 seconds'`.execute(db)
  assert.deepEqual((await r.run(next)).missingLabels, ['gpu', 'eu-west'])
})
