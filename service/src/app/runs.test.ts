import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import { type TestRuns, type TestSchedule, testRuns } from '../../test/support/runs.ts'
import type { RunOutcome } from '../domain/run.ts'
import * as commands from '../store/commands.ts'
import * as holds from '../store/run-hold.ts'
import { retryAllRun, retryRun, retryRunFromFailure } from './retry.ts'
import { getCommand, getRunStatus, listRuns } from './run-queries.ts'
import { cancelRun, cancelWaiting, finishRun } from './runs.ts'
import { triggerRun } from './trigger-run.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const woken = (): unknown[] => r.t.jobs.map((job) => (job.data as { runId: number }).runId)
const wasWoken = (id: number): boolean => woken().includes(id)
const worker = { workerId: 'w', labels: [], leaseMs: 60_000 }

/** As a worker would: takes it by its id. */
async function take(runId: number): Promise<commands.Hold> {
  const tx = {
    executeSql: async (text: string, values: unknown[] = []) => {
      const { rows } = await r.t.app.db.executeQuery(CompiledQuery.raw(text, values))
      return { rows: rows as never[] }
    },
  }
  const claim = await holds.claimByJob(tx, runId, worker)
  assert.ok(claim, `run ${runId} can be taken`)
  const hold = { runId, attempt: claim.attempt, workerId: 'w' }
  await holds.begin(r.t.app.db, hold)
  return hold
}

const finish = (hold: commands.Hold, outcome: RunOutcome = { kind: 'succeeded' }) =>
  r.unit((unit) => finishRun(unit, hold.runId, hold.attempt, outcome))

/** Takes it and ends it, its commands with the given return codes. */
async function play(runId: number, ...codes: number[]): Promise<void> {
  const hold = await take(runId)
  for (const [at, command] of (await r.commands(runId)).entries()) {
    const code = at < 2 ? 0 : codes[at - 2]
    if (code === undefined) break
    await commands.start(r.t.app.db, hold, command)
    const state = code === 0 ? 'succeeded' : 'failed'
    await commands.end(r.t.app.db, hold, { id: command.id, state, returnCode: code })
  }
  await finish(hold, { kind: codes.some((code) => code !== 0) ? 'errored' : 'succeeded' })
}

const states = async (...ids: number[]): Promise<string[]> =>
  await Promise.all(ids.map(async (id) => (await r.run(id)).state))

test('a trigger keeps who, why and what, and the overrides of this run alone', async () => {
  const person = await r.t.member(r.workspace, 'ADMIN', { name: 'Ana', email: 'ana-runs@example.com' })
  const schedule = await r.schedule({ commands: ['a', 'b'] })
  const ctx = await r.t.contextOf(person, r.workspace)
  const { runId } = await triggerRun(ctx, {
    scheduleName: schedule.slug,
    commandConfigs: [{ command: 'x', continueOnError: true }, { command: 'y' }],
    branch: ' feature ',
    reason: 'to see',
    continueOnError: false,
    prNumber: null,
  })
  const { run, commands } = await getRunStatus(r.ctx, { runId })
  assert.deepEqual(
    [run.actor, run.actorEmail, run.cause, run.branch, run.reason, run.state],
    ['Ana', 'ana-runs@example.com', 'person', 'feature', 'to see', 'waiting'],
  )
  assert.deepEqual(
    commands.map((one) => [one.text, one.continueOnError]),
    [
      ['git clone https://git.example.com/jobs.git', false],
      ['install dependencies', false],
      ['x', true],
      ['y', false],
    ],
  )
  assert.ok(wasWoken(runId))
  const [record] = await r.t.records('run_triggered')
  assert.equal(record?.data.reason, 'to see')
  const plain = await r.commands((await triggerRun(r.ctx, { slug: schedule.slug })).runId)
  assert.deepEqual(
    plain.slice(2).map((one) => one.text),
    ['a', 'b'],
  )
})

test('a trigger that asks for nonsense is refused with the field', async () => {
  const { slug } = await r.schedule()
  const refused = (input: object, message: RegExp) => assert.rejects(triggerRun(r.ctx, input), { message })
  await refused({}, /exactly one of slug and scheduleName/)
  await refused({ slug, scheduleName: slug }, /exactly one/)
  await refused({ slug, commands: ['a'], commandConfigs: [{ command: 'a' }] }, /at most one of commands/)
  await refused({ slug, commands: [] }, /commands: at least one/)
  await refused({ slug, commands: ['a', '  '] }, /commands\[1\]: must not be empty/)
  await refused({ slug, branch: '' }, /branch/)
  await refused({ slug, prNumber: 0 }, /prNumber/)
  await assert.rejects(triggerRun(r.ctx, { slug: 'nowhere' }), { code: 'NOT_FOUND' })
  const other = r.t.inside(await r.t.workspace())
  await assert.rejects(triggerRun(other, { slug }), { code: 'NOT_FOUND' })
})

test('runs of one schedule go one at a time in the order of asking; each end wakes the next', async () => {
  const schedule = await r.schedule()
  const ids = [await r.trigger(schedule), await r.trigger(schedule), await r.trigger(schedule)] as const
  assert.deepEqual(ids.map(wasWoken), [true, false, false])
  await play(ids[0], 0)
  assert.deepEqual(ids.map(wasWoken), [true, true, false])
  await cancelRun(r.ctx, { runId: ids[1] })
  assert.deepEqual(await states(...ids), ['succeeded', 'canceled', 'waiting'])
  assert.ok(wasWoken(ids[2]))
})

test('of ticks one waits, later ones are recorded as skipped and are never the latest run', async () => {
  const schedule = await r.schedule()
  const made = [await r.tick(schedule, 1), await r.tick(schedule, 2), await r.tick(schedule, 3)]
  assert.deepEqual(
    made.map((one) => one.state),
    ['waiting', 'waiting', 'skipped'],
  )
  assert.equal((await r.tick(schedule, 3)).state, 'known')
  const skipped = await r.run(made[2]!.id)
  assert.deepEqual([skipped.acceptedAt, skipped.endedAt], ['2026-01-01 00:03:00.000000', '2026-01-01 00:03:00.000000'])
  assert.deepEqual((await getRunStatus(r.ctx, { runId: skipped.id })).commands, [])
  const asked = await r.trigger(schedule)
  await play(made[0]!.id, 1)
  assert.deepEqual([wasWoken(made[1]!.id), wasWoken(asked)], [true, false])
  await play(made[1]!.id, 0)
  assert.ok(wasWoken(asked))
})

test('the other overlap policies skip, allow or cancel earlier ticks', async () => {
  const skip = await r.schedule({ overlap: 'skip' })
  await r.tick(skip, 1)
  assert.equal((await r.tick(skip, 2)).state, 'skipped')
  const allow = await r.schedule({ overlap: 'allow' })
  const both = [await r.tick(allow, 1), await r.tick(allow, 2)]
  assert.ok(both.every((one) => wasWoken(one.id)))
  const cancel = await r.schedule({ overlap: 'cancel_previous' })
  const first = await r.tick(cancel, 1)
  const hold = await take(first.id)
  const second = await r.tick(cancel, 2)
  const third = await r.tick(cancel, 3)
  assert.deepEqual(await states(first.id, second.id, third.id), ['ending', 'canceled', 'waiting'])
  assert.equal(await finish(hold), 'canceled')
  assert.ok(wasWoken(third.id))
})

test('pull requests run side by side, and a newer run of one cancels the older', async () => {
  const schedule = await r.schedule()
  const plain = await r.trigger(schedule)
  const [seven, eight] = [await r.trigger(schedule, 7), await r.trigger(schedule, 8)]
  assert.ok([plain, seven, eight].every(wasWoken))
  const hold = await take(seven)
  const newer = await r.trigger(schedule, 7)
  assert.deepEqual(await states(plain, seven, eight, newer), ['waiting', 'ending', 'waiting', 'waiting'])
  assert.ok(!wasWoken(newer))
  await assert.rejects(retryAllRun(r.ctx, { runId: seven }), /still in progress/)
  await finish(hold)
  assert.ok(wasWoken(newer))
  await assert.rejects(retryAllRun(r.ctx, { runId: seven }), { code: 'CONFLICT', message: /pull request 7/ })
  const newest = await r.trigger(schedule, 7)
  assert.deepEqual(await states(seven, newer, newest), ['canceled', 'canceled', 'waiting'])
  assert.ok(wasWoken(newest))
})

test('a cancel is answered when recorded, decides, and is refused after the end', async () => {
  const schedule = await r.schedule()
  const waiting = await r.trigger(schedule)
  await cancelRun(r.ctx, { runId: waiting })
  assert.deepEqual(await states(waiting), ['canceled'])
  await assert.rejects(cancelRun(r.ctx, { runId: waiting }), { code: 'CONFLICT' })
  const going = await r.trigger(schedule)
  const hold = await take(going)
  await cancelRun(r.ctx, { runId: going })
  await cancelRun(r.ctx, { runId: going })
  assert.deepEqual(await states(going), ['ending'])
  const command = (await r.commands(going))[0]!
  assert.equal(await commands.start(r.t.app.db, hold, command), 'canceled')
  assert.equal(await finish(hold, { kind: 'succeeded' }), 'canceled')
  assert.equal(await finish(hold, { kind: 'failed', detail: 'late' }), null)
  assert.deepEqual(
    (await r.commands(going)).map((one) => one.state),
    ['not_run', 'not_run', 'not_run'],
  )
  await assert.rejects(cancelRun(r.ctx, { runId: 999_999 }), { code: 'NOT_FOUND' })
  const ended = (await r.t.records('run_ended')).filter((one) => one.data.run === going)
  assert.equal(ended.length, 1)
  assert.deepEqual(
    [ended[0]!.data.state, ended[0]!.data.canceled_by, ended[0]!.actorType],
    ['canceled', 'test', 'system'],
  )
})

test('retries make new runs with the branch and pull request of the old one', async () => {
  const schedule = await r.schedule({ commands: ['a', 'b', 'c'] })
  await assert.rejects(retryRunFromFailure(r.ctx, { slug: schedule.slug }), /no runs yet/)
  const old = (await triggerRun(r.ctx, { slug: schedule.slug, branch: 'fix', prNumber: 4, reason: 'why' })).runId
  await assert.rejects(retryRun(r.ctx, { runId: old }), { message: 'Cannot retry a run that is still in progress' })
  await play(old, 0, 1)
  const again = await retryRun(r.ctx, { runId: old })
  const run = await r.run(again.runId)
  assert.deepEqual([run.retryOf, run.branch, run.prNumber, run.cause], [old, 'fix', 4, 'retry'])
  assert.deepEqual(await texts(again.runId), ['b'])
  await play(again.runId, 0)
  const rest = await retryRunFromFailure(r.ctx, { slug: schedule.slug }).catch((error: Error) => error.message)
  assert.equal(rest, 'All commands were successful, nothing to retry')
  const all = await retryAllRun(r.ctx, { runId: old })
  assert.deepEqual(await texts(all.runId), ['a', 'b', 'c'])
  assert.deepEqual(await states(old), ['errored'])
})

const texts = async (id: number): Promise<string[]> => (await r.commands(id)).slice(2).map((one) => one.text)

test('a deleted schedule keeps its runs readable and takes no trigger or retry', async () => {
  const schedule = await r.schedule()
  const [going, waiting] = [await r.trigger(schedule), await r.trigger(schedule)]
  const hold = await take(going)
  await r.unit((unit) => cancelWaiting(unit, schedule.id, 'Ana'))
  await sql`update schedule set deleted_at = now() where id = ${schedule.id}`.execute(r.t.app.db)
  assert.deepEqual(await states(going, waiting), ['running', 'canceled'])
  await finish(hold)
  assert.deepEqual(
    (await listRuns(r.ctx, { slug: schedule.slug, offset: 0, limit: 10 })).map((one) => one.id),
    [waiting, going],
  )
  await assert.rejects(triggerRun(r.ctx, { slug: schedule.slug }), { code: 'NOT_FOUND' })
  await assert.rejects(retryAllRun(r.ctx, { runId: going }), { code: 'NOT_FOUND' })
})

test('runs are listed newest first, and nothing is read across workspaces', async () => {
  const schedule = await r.schedule()
  const [first, second] = [await r.trigger(schedule), await r.trigger(schedule)]
  const page = (more: object) => listRuns(r.ctx, { slug: schedule.slug, offset: 0, limit: 10, ...more })
  assert.deepEqual(
    (await page({})).map((one) => one.id),
    [second, first],
  )
  assert.deepEqual(
    (await page({ offset: 1, limit: 1 })).map((one) => one.id),
    [first],
  )
  assert.equal((await listRuns(r.ctx, { offset: 0, limit: 1 }))[0]!.id, second)
  await assert.rejects(page({ limit: 0 }), { code: 'INVALID_INPUT' })
  await assert.rejects(page({ limit: 1001 }), { code: 'INVALID_INPUT' })
  await assert.rejects(page({ offset: -1 }), { code: 'INVALID_INPUT' })
  const other = r.t.inside(await r.t.workspace())
  const command = (await r.commands(first))[0]!
  assert.equal((await getCommand(r.ctx, { commandId: command.id })).runId, first)
  await assert.rejects(getRunStatus(other, { runId: first }), { code: 'NOT_FOUND' })
  await assert.rejects(getCommand(other, { commandId: command.id }), { code: 'NOT_FOUND' })
  await assert.rejects(cancelRun(other, { runId: first }), { code: 'NOT_FOUND' })
})

test('many who ask at once get one run each, of which one goes', async () => {
  const schedule: TestSchedule = await r.schedule()
  const ids = await Promise.all(Array.from({ length: 6 }, () => r.trigger(schedule)))
  assert.equal(new Set(ids).size, 6)
  assert.equal(ids.filter(wasWoken).length, 1)
})
