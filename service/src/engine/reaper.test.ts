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
import * as holds from '../store/run-hold.ts'
import { reaper } from './reaper.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const take = async (workerId: string): Promise<void> => {
  await holds.claimWaiting(r.t.app.db, 10, { workerId, labels: [], leaseMs: 60_000 })
}
const reap = (quietMs = 0, host = otherHost()) =>
  reaper(r.t.app, {
    host,
    leaseMs: quietMs,
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
