import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { fakeHealer } from '../../test/support/healer.ts'
import { type TestRuns, type TestSchedule, testRuns } from '../../test/support/runs.ts'
import { healingStarter } from '../engine/healing.ts'
import { runEvents } from '../engine/run-events.ts'
import type { Healer } from '../ports/healer.ts'
import * as healing from '../store/healing.ts'
import {
  freeForgotten,
  healingEnded,
  healingProposed,
  listHealings,
  PROPOSED_BRANCH_DAYS,
  PROPOSED_PULL_REQUEST_DAYS,
  proposalDecided,
  selfHealingHandler,
} from './healing.ts'
import { finishRun } from './runs.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const healed = async (agentName: string | null = null, slackChannel: string | null = null): Promise<TestSchedule> => {
  const schedule = await r.schedule()
  const settings = JSON.stringify({ enabled: true, agentName, slackChannel })
  await sql`update schedule set self_healing = ${settings} where id = ${schedule.id}`.execute(r.t.app.db)
  return schedule
}

/** A run whose user command failed with a reason that makes its cause. */
async function failed(schedule: TestSchedule, command = 'dbt build', cause = 'key'): Promise<number> {
  const runId = await r.trigger(schedule)
  await sql`update run set cause = ${cause} where id = ${runId}`.execute(r.t.app.db)
  await sql`update command set state = 'failed', return_code = 1, text = ${command}
    where run_id = ${runId} and kind = 'user'`.execute(r.t.app.db)
  await r.unit((unit) => finishRun(unit, runId, 0, { kind: 'errored' }))
  return runId
}

const follow = (healer: Healer | null) => runEvents(r.t.app, [selfHealingHandler(r.t.app, healer)]).runOnce()
const all = () => healing.list(r.t.app.db, r.workspace.id, 100)
const of = async (runId: number) => (await all()).find((one) => one.runId === runId) ?? null
const start = (healer: Healer) => healingStarter(r.t.app, healer).runOnce()

test('a failed run starts one session, with the agent, the run and the thread of its notice', async () => {
  const healer = fakeHealer()
  const schedule = await healed('mender', '#data')
  const runId = await failed(schedule, 'one')
  await sql`insert into delivery (workspace_id, channel, event, cause_key, run_id, target, body, state, ended_at, result)
    values (${r.workspace.id}, 'slack', 'failed', 'x', ${runId}, 'slack', '{}', 'delivered', now(),
      '{"channel":"C1","ts":"1.5"}')`.execute(r.t.app.db)
  await follow(healer)
  await follow(healer)
  await Promise.all([start(healer), start(healer)])
  assert.deepEqual(
    healer.started.map(({ id: _, ...task }) => task),
    [
      {
        workspaceId: r.workspace.id,
        scheduleId: schedule.id,
        runId,
        agent: 'mender',
        slack: { channel: 'C1', threadTs: '1.5' },
      },
    ],
  )
  const request = (await of(runId))!
  assert.deepEqual([request.state, request.session], ['started', `session ${request.id}`])
})

test('nothing is asked for what passed, for a schedule without it, and for what a mend was tried with', async () => {
  const healer = fakeHealer()
  const [on, off] = [await healed(), await r.schedule()]
  const ids = [await failed(off, 'none'), await failed(on, 'none', 'self_healing')]
  const passed = await r.trigger(on)
  await r.unit((unit) => finishRun(unit, passed, 0, { kind: 'succeeded' }))
  const canceled = await r.trigger(on)
  await r.unit((unit) => finishRun(unit, canceled, 0, { kind: 'canceled' }))
  await follow(healer)
  for (const id of [...ids, passed, canceled]) assert.equal(await of(id), null)
})

test('a schedule has one session at a time, whatever else fails', async () => {
  const healer = fakeHealer()
  const schedule = await healed()
  const first = await failed(schedule, 'first cause')
  await follow(healer)
  await start(healer)
  const second = await failed(schedule, 'second cause')
  await follow(healer)
  await start(healer)
  assert.notEqual(await of(first), null)
  assert.equal(await of(second), null)
  await r.unit(async (unit) => healingEnded(unit, (await of(first))!.id, 'nothing to mend'))
  const third = await failed(schedule, 'second cause')
  await follow(healer)
  await start(healer)
  assert.deepEqual([(await of(third))!.state, healer.started.length], ['started', 2])
})

test('a cause that is worked on, or whose mend is proposed, is not asked about again, by any schedule', async () => {
  const healer = fakeHealer()
  const [one, other] = [await healed(), await healed()]
  const first = await failed(one, 'shared cause')
  await follow(healer)
  await start(healer)
  const again = await failed(other, 'shared cause')
  await follow(healer)
  assert.equal(await of(again), null)
  const { id } = (await of(first))!
  const pullRequest = 'https://git.example.com/pulls/1'
  await r.unit((unit) => healingProposed(unit, id, { session: 's', branch: 'agent/s/mend', pullRequest }))
  const proposed = [await failed(one, 'shared cause'), await failed(other, 'shared cause')]
  await follow(healer)
  for (const runId of proposed) assert.equal(await of(runId), null)
  // The schedule is free for another cause meanwhile.
  const different = await failed(one, 'different cause')
  await follow(healer)
  assert.equal((await of(different))!.state, 'waiting')
  await r.unit((unit) => healingEnded(unit, id, 'merged'))
  const later = await failed(other, 'shared cause')
  await follow(healer)
  assert.equal((await of(later))!.state, 'waiting')
  assert.equal(await r.unit((unit) => healingEnded(unit, id, 'twice')), false)
  // Not to be asked is no fault.
  assert.ok(!r.t.lines.some((line) => line.level === 'error'))
  await start(healer)
})

test('without anybody to ask, or with agents switched off, the request is kept with the reason', async () => {
  const nobody = await failed(await healed(), 'nobody')
  await follow(null)
  const request = (await of(nobody))!
  assert.deepEqual([request.state, request.reason], ['refused', 'No agents are set up on this service.'])
  await sql`update workspace set agents = false where id = ${r.workspace.id}`.execute(r.t.app.db)
  const off = await failed(await healed(), 'off')
  await follow(fakeHealer())
  await sql`update workspace set agents = true where id = ${r.workspace.id}`.execute(r.t.app.db)
  assert.equal((await of(off))!.reason, 'Agents are switched off for this workspace.')
  // A refusal stands in the way of nothing.
  const next = await failed(await healed(), 'nobody')
  await follow(fakeHealer())
  assert.equal((await of(next))!.state, 'waiting')
})

test('one that cannot be started stands in no other one’s way and is tried again; a refusal is kept', async () => {
  const fresh = fakeHealer()
  await start(fresh)
  const [broken, refusing, good] = [
    await failed(await healed(), 'broken'),
    await failed(await healed(), 'refusing'),
    await failed(await healed(), 'good'),
  ]
  const healer = fakeHealer((task) => {
    if (task.runId === broken) throw new Error('away')
    return task.runId === refusing ? { kind: 'refused', reason: 'no such agent' } : undefined
  })
  await follow(healer)
  await start(healer)
  assert.deepEqual(
    [(await of(broken))!.state, (await of(refusing))!.reason, (await of(good))!.state],
    ['waiting', 'no such agent', 'started'],
  )
  await start(fakeHealer())
  assert.equal((await of(broken))!.state, 'started')
})

test('one that keeps failing to start is asked about less and less often', async () => {
  await start(fakeHealer())
  await failed(await healed(), 'keeps failing')
  let asked = 0
  const healer = fakeHealer(() => {
    asked++
    throw new Error('away')
  })
  await follow(healer)
  const starter = healingStarter(r.t.app, healer)
  for (let look = 0; look < 20; look++) await starter.runOnce()
  assert.equal(asked, 1)
  await start(fakeHealer())
})

const SESSION = 'abcdefgh12345678'

/** A request whose session proposed a mend; gives it. */
async function proposed(command: string, session: string, pullRequest = ''): Promise<healing.Healing> {
  const runId = await failed(await healed(), command)
  await follow(fakeHealer())
  await start(fakeHealer())
  const { id } = (await of(runId))!
  await r.unit((unit) => healingProposed(unit, id, { session, branch: `agent/${session}/mend`, pullRequest }))
  return (await of(runId))!
}

test('a pull request that is merged or closed frees its cause; one of a fork, of another branch or workspace does not', async () => {
  const request = await proposed('decided', SESSION, 'https://git.example.com/pulls/5')
  const headBranch = `agent/${SESSION}/mend`
  const other = await r.t.workspace()
  const decide = (pull: object, workspaceId = r.workspace.id) =>
    r.unit((unit) => proposalDecided(unit, workspaceId, { headBranch, isFork: false, number: 5, ...pull }, 'closed'))
  await decide({ isFork: true })
  await decide({ headBranch: 'feature' })
  await decide({ headBranch: 'agent/zzzzzzzz12345678/mend' })
  await decide({}, other.id)
  assert.equal((await of(request.runId))!.state, 'proposed')
  await decide({})
  const ended = (await of(request.runId))!
  assert.deepEqual([ended.state, ended.reason], ['ended', '#5 was closed.'])
  const again = await failed(await healed(), 'decided')
  await follow(fakeHealer())
  assert.equal((await of(again))!.state, 'waiting')
  await start(fakeHealer())
})

test('a branch without a pull request keeps its cause for a week, a pull request for a month', async () => {
  const [branch, pull] = [
    await proposed('forgotten branch', 'branchbranch1234'),
    await proposed('forgotten pull request', 'pullpullpull1234', 'https://git.example.com/pulls/6'),
  ]
  const states = async () => [(await of(branch.runId))!.state, (await of(pull.runId))!.state]
  const age = (days: number) =>
    sql`update healing_request set proposed_at = clock_timestamp() - ${days}::integer * interval '1 day'
      where id = any (${[branch.id, pull.id]}::int[])`.execute(r.t.app.db)
  await age(PROPOSED_BRANCH_DAYS - 1)
  assert.equal(await freeForgotten(r.t.app), 0)
  await age(PROPOSED_BRANCH_DAYS)
  assert.equal(await freeForgotten(r.t.app), 1)
  assert.deepEqual(await states(), ['ended', 'proposed'])
  await age(PROPOSED_PULL_REQUEST_DAYS)
  assert.equal(await freeForgotten(r.t.app), 1)
  assert.deepEqual(await states(), ['ended', 'ended'])
})

test('healings are listed newest first, by schedule and state, in pages, of one workspace', async () => {
  const schedule = await healed()
  const runId = await failed(schedule, 'listed')
  await follow(fakeHealer())
  const all = { scheduleSlug: null, state: null, offset: null, limit: null }
  const { healings, totalCount } = await listHealings(r.ctx, all)
  assert.ok(totalCount > 5)
  assert.equal(healings.length, totalCount)
  assert.deepEqual([healings[0]!.runId, healings[0]!.scheduleSlug], [runId, schedule.slug])
  const waiting = await listHealings(r.ctx, { ...all, scheduleSlug: schedule.slug, state: 'waiting' })
  assert.deepEqual([waiting.totalCount, waiting.healings[0]!.runId], [1, runId])
  const second = await listHealings(r.ctx, { ...all, offset: 1, limit: 1 })
  assert.deepEqual([second.totalCount, second.healings[0]!.id], [totalCount, healings[1]!.id])
  assert.equal((await listHealings(r.t.inside(await r.t.workspace()), all)).totalCount, 0)
  await assert.rejects(listHealings(r.ctx, { ...all, limit: 0 }), /limit: 1 to 1000/)
  await start(fakeHealer())
})
