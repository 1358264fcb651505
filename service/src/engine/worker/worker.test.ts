import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { otherHost, type TestRuns, testRuns, testSource, waitFor } from '../../../test/support/runs.ts'
import { retryRunFromFailure } from '../../app/retry.ts'
import { cancelRun } from '../../app/runs.ts'
import { SourceFault } from '../../ports/source.ts'
import * as holds from '../../store/run-hold.ts'
import { leaseTimes } from './lease-keeper.ts'

let r: TestRuns
before(async () => {
  r = await testRuns({ queue: 'real' })
})
afterEach(() => r.stopWorkers())
after(() => r[Symbol.asyncDispose]())

const HANG = { steps: [{ stdout: 'begun\n' }, { hang: true }] } as const

test('a triggered run clones, installs, executes its commands in order and ends as succeeded', async () => {
  const worker = await r.worker({ play: (text) => ({ steps: [{ stdout: `${text} ran\n` }] }) })
  const schedule = await r.schedule({ commands: ['first', 'second'] })
  const id = await r.trigger(schedule)
  const run = await r.until(id, 'succeeded')
  assert.equal(run.attempt, 1)
  assert.match(run.commitHash, /^c0ffee/)
  const commands = await r.commands(id)
  assert.deepEqual(
    commands.map((one) => [one.position, one.kind, one.text, one.state, one.returnCode]),
    [
      [0, 'infrastructure', 'git clone https://git.example.com/jobs.git', 'succeeded', 0],
      [1, 'infrastructure', 'install dependencies', 'succeeded', 0],
      [2, 'user', 'first', 'succeeded', 0],
      [3, 'user', 'second', 'succeeded', 0],
    ],
  )
  assert.ok(commands.every((one) => one.startedAt !== null && one.endedAt !== null && one.logFinished))
  assert.equal(worker.output.get(commands[3]!.id), 'second ran\n')
  const environment = worker.executor.started[0]!.environment
  assert.equal(environment.YARDMASTER_RUN_ID, String(id))
  assert.equal(environment.YARDMASTER_ATTEMPT, '1')
  assert.equal(environment.YARDMASTER_COMMIT, run.commitHash)
  assert.deepEqual(await readdir(join(r.folder, 'runs')), [])
  assert.deepEqual(
    (await r.t.records()).filter((record) => record.data.run === id).map((record) => record.eventType),
    ['run_triggered', 'run_ended'],
  )
})

test('after a failed command the rest are not run, and a retry from the failure runs them', async () => {
  let broken = true
  const worker = await r.worker({ play: (text) => ({ steps: [], exit: text === 'second' && broken ? 3 : 0 }) })
  const schedule = await r.schedule({ commands: ['first', 'second', 'third'] })
  const id = await r.trigger(schedule)
  await r.until(id, 'errored')
  assert.deepEqual(
    (await r.commands(id)).slice(2).map((one) => [one.state, one.returnCode, one.startedAt === null, one.logFinished]),
    [
      ['succeeded', 0, false, true],
      ['failed', 3, false, true],
      ['not_run', null, true, true],
    ],
  )
  broken = false
  const { runId } = await retryRunFromFailure(r.ctx, { slug: schedule.slug })
  const again = await r.until(runId, 'succeeded')
  assert.equal(again.retryOf, id)
  assert.deepEqual(
    worker.executor.started.map((one) => one.text),
    ['first', 'second', 'second', 'third'],
  )
})

test('continueOnError goes on after a failed command, and the run still ends as errored', async () => {
  await r.worker({ play: (text) => ({ steps: [], exit: text === 'first' ? 1 : 0 }) })
  const schedule = await r.schedule({ commands: ['first', 'second'], continueOnError: true })
  const id = await r.trigger(schedule)
  await r.until(id, 'errored')
  assert.deepEqual(
    (await r.commands(id)).slice(2).map((one) => one.state),
    ['failed', 'succeeded'],
  )
})

test('a clone that fails ends the run as errored and says why in its own log', async () => {
  const source = {
    ...testSource,
    checkout: async () => {
      throw new SourceFault('fatal: Remote branch nowhere not found')
    },
  }
  const worker = await r.worker({ source })
  const id = await r.trigger(await r.schedule())
  await r.until(id, 'errored')
  const [clone, install] = await r.commands(id)
  assert.deepEqual([clone!.state, clone!.returnCode, install!.state], ['failed', 128, 'not_run'])
  assert.match(worker.output.get(clone!.id) ?? '', /Remote branch nowhere/)
})

test('a running run is canceled with its output kept, and the next one of the schedule goes', async () => {
  const worker = await r.worker({ play: (text) => (text === 'slow' ? HANG : { steps: [] }) })
  const schedule = await r.schedule({ commands: ['slow', 'after'] })
  const id = await r.trigger(schedule)
  const next = await r.trigger(schedule)
  await waitFor('the command', () => worker.executor.running === 1)
  await cancelRun(r.ctx, { runId: id })
  assert.ok(['ending', 'canceled'].includes((await r.run(id)).state))
  await r.until(id, 'canceled')
  const commands = await r.commands(id)
  assert.deepEqual(
    commands.slice(2).map((one) => [one.state, one.returnCode]),
    [
      ['stopped', 130],
      ['not_run', null],
    ],
  )
  assert.equal(worker.output.get(commands[2]!.id), 'begun\n')
  await waitFor('the next run', async () => (await r.run(next)).state === 'running')
})

test('a cancel that no notice told of is found by looking', async () => {
  const worker = await r.worker({ play: () => HANG, pollMs: 50 })
  const id = await r.trigger(await r.schedule())
  await waitFor('the command', () => worker.executor.running === 1)
  await sql`update run set state = 'ending', cancel_requested_at = now() where id = ${id}`.execute(r.t.app.db)
  await r.until(id, 'canceled')
})

test('a run past its time limit fails with the reason', async () => {
  await r.worker({ play: () => HANG })
  const id = await r.trigger(await r.schedule({ timeLimitSeconds: 1 }))
  const run = await r.until(id, 'failed')
  assert.equal(run.detail, 'its time limit of 1 seconds passed')
})

test('of two workers one takes each run, and a job that is delivered twice starts nothing twice', async () => {
  const workers = [await r.worker({}), await r.worker({})]
  const ids: number[] = []
  for (let count = 0; count < 6; count++) ids.push(await r.trigger(await r.schedule({ commands: [`run ${count}`] })))
  for (const id of ids) {
    await r.t.app.queue.send(r.t.app.db, 'run', { runId: id })
    await r.t.app.queue.send(r.t.app.db, 'run', { runId: id })
  }
  for (const id of ids) assert.equal((await r.until(id, 'succeeded')).attempt, 1)
  const started = workers.flatMap((one) => one.executor.started.map((spec) => spec.text))
  assert.deepEqual(started.sort(), ['run 0', 'run 1', 'run 2', 'run 3', 'run 4', 'run 5'])
})

test('a worker takes no more runs than it has slots, and only those that its labels fit', async () => {
  const plain = await r.worker({ slots: 1, play: () => HANG })
  const [first, second] = [await r.trigger(await r.schedule()), await r.trigger(await r.schedule())]
  const pinned = await r.trigger(await r.schedule({ workerLabels: ['gpu'] }))
  await waitFor('the first', () => plain.executor.running === 1)
  const special = await r.worker({ labels: ['gpu', 'eu'], slots: 1 })
  await r.until(pinned, 'succeeded')
  // What waited for a slot may go to any worker that has one.
  const open = await waitFor('the second', async () => {
    const states = [(await r.run(first)).state, (await r.run(second)).state]
    return states.includes('succeeded') ? states : null
  })
  assert.ok(open.includes('running'))
  assert.equal(plain.going, 1)
  assert.equal(special.executor.started.length, 2)
})

test('a stop waits for what is going and takes nothing new', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>()
  const worker = await r.worker({ play: () => ({ steps: [{ until: go }] }), drainMs: null })
  const id = await r.trigger(await r.schedule())
  await waitFor('the command', () => worker.executor.running === 1)
  const stopped = worker.stop()
  const late = await r.trigger(await r.schedule())
  resolve()
  await stopped
  assert.equal((await r.run(id)).state, 'succeeded')
  assert.equal((await r.run(late)).state, 'waiting')
  await cancelRun(r.ctx, { runId: late })
})

test('what is still going when the wait is over fails as stopped, and the next start says how many', async () => {
  const worker = await r.worker({ play: () => HANG, drainMs: null })
  const id = await r.trigger(await r.schedule())
  await waitFor('the command', () => worker.executor.running === 1)
  const waiting = worker.stop()
  await worker.stopNow()
  await waiting
  const run = await r.run(id)
  assert.deepEqual([run.state, run.detail], ['failed', 'worker stopped'])
  assert.equal(worker.executor.running, 0)
  await r.worker({})
  const said = r.t.lines.find((line) => line.message.startsWith('runs were ended when'))
  assert.equal(said?.fields.runs, 1)
})

test('a run that somebody else ended is stopped here, and nothing more is written about it', async () => {
  const worker = await r.worker({ play: () => HANG, lease: leaseTimes(3000) })
  const id = await r.trigger(await r.schedule({ commands: ['one', 'two'] }))
  await waitFor('the command', () => worker.executor.running === 1)
  await sql`update run set state = 'failed', ended_at = now(), detail = 'elsewhere' where id = ${id}`.execute(
    r.t.app.db,
  )
  await waitFor('the stop', () => worker.executor.running === 0 && worker.going === 0)
  const run = await r.run(id)
  assert.deepEqual([run.state, run.detail], ['failed', 'elsewhere'])
  assert.deepEqual(
    worker.executor.started.map((one) => one.text),
    ['one'],
  )
})

test('the lease is renewed while the loop is busy, and a worker that cannot renew stops its commands itself', async () => {
  const deaf = { ...HANG, ignores: ['SIGINT', 'SIGTERM'] } as const
  const worker = await r.worker({ play: () => deaf, lease: leaseTimes(2000), host: otherHost() })
  // However patient its environment is: by the end of the lease its commands are gone.
  const id = await r.trigger(await r.schedule({ stopSeconds: 3600 }))
  await waitFor('the command', () => worker.executor.running === 1)
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  Atomics.wait(sleeper, 0, 0, 2500)
  const { rows } = await sql<{ ok: boolean }>`select lease_until > clock_timestamp() as ok from run
    where id = ${id}`.execute(r.t.app.db)
  assert.equal(rows[0]?.ok, true)
  assert.equal((await r.run(id)).state, 'running')
  // The lease thread's statements wait for this lock, as they would for a database that does not answer.
  const release = Promise.withResolvers<void>()
  const lock = r.t.database.owner.kysely.transaction().execute(async (tx) => {
    await sql`select 1 from run where id = ${id} for update`.execute(tx)
    await release.promise
  })
  await waitFor('the fence', () => worker.executor.running === 0)
  release.resolve()
  await lock
  const run = await r.until(id, 'failed')
  assert.equal(run.detail, 'control plane lost')
})

test('a renewal that comes before the taking of a run is committed does not lose the run', async () => {
  const owner = r.t.database.owner.kysely
  // Longer than several beats of the lease.
  await sql`create function slow_taking() returns trigger language plpgsql as
    'begin perform pg_sleep(0.4); return null; end'`.execute(owner)
  await sql`create constraint trigger slow_taking after update on run deferrable initially deferred for each row
    when (old.state = 'waiting' and new.state = 'starting') execute function slow_taking()`.execute(owner)
  try {
    await r.worker({
      lease: { leaseMs: 5000, beatMs: 50, fenceMs: 4000 },
      pollMs: 60_000,
      play: (text) => (text === 'hang' ? HANG : { steps: [] }),
    })
    const going = await r.trigger(await r.schedule({ commands: ['hang'] }))
    await r.until(going, 'running')
    const leaseOf = async () =>
      (await sql`select lease_until::text from run where id = ${going}`.execute(owner)).rows[0]
    const before = await leaseOf()
    await waitFor('a renewal', async () => !isDeepStrictEqual(await leaseOf(), before))
    const { state, detail } = await r.until(await r.trigger(await r.schedule()), 'succeeded', 'failed')
    assert.deepEqual([state, detail], ['succeeded', ''])
  } finally {
    await sql`drop function slow_taking cascade`.execute(owner)
  }
})

test('a run that was taken although the answer was lost begins; one that was under way and forgotten fails', async () => {
  const host = otherHost()
  const [taken, forgotten] = [await r.trigger(await r.schedule()), await r.trigger(await r.schedule())]
  await holds.claimWaiting(r.t.app.db, 2, { workerId: host.self, labels: [], leaseMs: 60_000 })
  await holds.begin(r.t.app.db, { runId: forgotten, attempt: 1, workerId: host.self })
  const worker = await r.worker({ host, pollMs: 50 })
  await r.until(taken, 'succeeded')
  assert.equal((await r.until(forgotten, 'failed')).detail, 'its worker lost track of it')
  assert.equal(worker.executor.started.length, 1)
})
