import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestAgents, testAgents, testDefinition } from '../../test/support/agent-sessions.ts'
import { senderOf, testChannel } from '../../test/support/deliveries.ts'
import type { AgentEventBody } from '../domain/agent-session.ts'
import { MOST_CHILDREN } from '../domain/agent-session.ts'
import type { AgentReport } from '../domain/messages/agent.ts'
import { agentWebhook } from '../domain/messages/agent.ts'
import * as events from '../store/agent-events.ts'
import * as holds from '../store/agent-hold.ts'
import * as sessions from '../store/agent-sessions.ts'
import { getAgentSession } from './agent-queries.ts'
import { endTurn, endUnstarted, loseWorker, sendAgentMessage, stopAgent, writeRecords } from './agent-sessions.ts'
import { createIntegration } from './integrations.ts'
import { createWebhook } from './webhooks.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const answer = (text: string, more: Partial<Extract<AgentEventBody, { kind: 'assistant' }>> = {}): AgentEventBody => ({
  kind: 'assistant',
  text,
  calls: [],
  usage: null,
  model: 'scripted',
  ...more,
})
const call = (id: string, tool = 'invoke_agent') => ({ id, tool, input: {} })
const said = async (id: string) => (await getAgentSession(a.ctx, id)).messages.map((one) => one.content)
const kinds = async (id: string) => (await a.journal(id)).map((one) => one.kind)
const jobsOf = (id: string) =>
  a.t.jobs.filter((job) => job.queue === 'agent-turn' && (job.data as { sessionId: string }).sessionId === id).length

/** A session that runs, called another one, and waits for it. */
async function family(agent = 'helper') {
  const parentId = await a.trigger()
  const hold = await a.take(parentId, `holder of ${parentId}`)
  await events.append(a.t.app.db, hold, [
    answer('', { calls: [call('c1')] }),
    { kind: 'tool_start', call: 'c1', tool: 'invoke_agent' },
  ])
  const childId = await child(parentId, 'c1', agent)
  await events.append(a.t.app.db, hold, [{ kind: 'child_started', call: 'c1', child: childId, agent }])
  const seen = (await a.journal(parentId)).at(-1)!.seq
  assert.ok(await a.unit((unit) => holds.release(unit.db, hold, { waiting: true, seen })))
  return { parentId, childId, hold }
}

async function child(parentId: string, callId: string, agent: string): Promise<string> {
  const session = await a.session(parentId)
  return await a.start({ agent, definition: testDefinition(agent), parent: { session, call: callId } })
}

test('a turn that said something ends with that, one that said nothing with a word of the service', async () => {
  const id = await a.trigger()
  await events.append(a.t.app.db, await a.take(id), [answer('Because of the disk.')])
  assert.equal(await a.end(id, 'completed'), 'ended')
  assert.deepEqual(await said(id), ['Hello', 'Because of the disk.'])
  const silent = await a.trigger()
  await events.append(a.t.app.db, await a.take(silent), [answer(' ')])
  await a.end(silent, 'completed')
  assert.deepEqual(await said(silent), ['Hello', 'Done.'])
  const session = await a.session(silent)
  assert.deepEqual([session.status, session.endedAt !== null], ['completed', true])
  assert.deepEqual((await a.journal(silent)).at(-1)!.kind, 'status')
})

test('a turn that fails says why, also after it said something else', async () => {
  const id = await a.trigger()
  await events.append(a.t.app.db, await a.take(id), [answer('Let me look.')])
  const session = await a.session(id)
  await a.unit((unit) => endTurn(unit, session, { status: 'failed', reason: 'All 60 steps are used.' }))
  assert.deepEqual((await said(id)).at(-1), 'This turn failed. All 60 steps are used.')
  assert.equal((await a.session(id)).reason, 'All 60 steps are used.')
})

test('only the attempt that holds a session ends its turn, and only once', async () => {
  const id = await a.trigger()
  const stale = await a.session(id)
  await a.take(id)
  const end = (of: typeof stale) => a.unit((unit) => endTurn(unit, of, { status: 'failed', reason: 'x' }))
  await assert.rejects(end(stale), holds.LostSession)
  const session = await a.session(id)
  const both = await Promise.allSettled([end(session), end(session)])
  assert.deepEqual(both.map((one) => one.status).sort(), ['fulfilled', 'rejected'])
  assert.equal((await a.journal(id)).filter((one) => one.kind === 'status' && one.status === 'failed').length, 1)
})

test('a message that the model was not shown begins the next turn, on the same worker', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const seen = (await a.journal(id)).at(-1)!.seq
  await sendAgentMessage(a.ctx, { sessionId: id, message: 'One more thing' })
  await events.append(a.t.app.db, hold, [answer('First.', { seen })])
  assert.equal(await a.end(id, 'completed'), 'next turn')
  const session = await a.session(id)
  assert.deepEqual([session.status, session.turn, session.steps, session.attempt], ['running', 2, 0, hold.attempt])
  const last = (await a.journal(id)).at(-1)!.seq
  await events.append(a.t.app.db, hold, [answer('Second.', { seen: last })])
  assert.equal(await a.end(id, 'completed'), 'ended')
  assert.deepEqual(await said(id), ['Hello', 'One more thing', 'First.', 'Second.'])
})

test('a call that was under way when the turn ended gets a result, so that each has one', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const calls = [call('c1', 'read_file'), call('c2', 'git_push')]
  await events.append(a.t.app.db, hold, [answer('', { calls }), { kind: 'tool_start', call: 'c1', tool: 'read_file' }])
  await stopAgent(a.ctx, { sessionId: id })
  const ends = (await a.journal(id)).flatMap((one) => (one.kind === 'tool_end' ? [[one.call, one.isError]] : []))
  assert.deepEqual(ends, [
    ['c1', true],
    ['c2', true],
  ])
})

test('the end of a child answers the call of its parent, once, and wakes it', async () => {
  const { parentId, childId } = await family()
  const jobs = jobsOf(parentId)
  await events.append(a.t.app.db, await a.take(childId), [answer('It is the disk.')])
  await a.end(childId, 'completed')
  assert.equal(jobsOf(parentId), jobs + 1)
  const last = (await a.journal(parentId)).at(-1)!
  assert.deepEqual(last.kind === 'child_result' && [last.call, last.child, last.status], ['c1', childId, 'completed'])
  assert.equal((await a.take(parentId)).attempt, 2)
  await sendAgentMessage(a.ctx, { sessionId: childId, message: 'Sure?' })
  await events.append(a.t.app.db, await a.take(childId), [answer('Yes.')])
  assert.equal(await a.end(childId, 'completed'), 'ended')
  assert.equal((await kinds(parentId)).filter((kind) => kind === 'child_result').length, 1)
  assert.deepEqual((await getAgentSession(a.ctx, parentId)).childSessionIds, [childId])
})

test('a child that nobody began, or whose turn failed, answers its parent too', async () => {
  for (const how of ['expired', 'failed'] as const) {
    const { parentId, childId } = await family(how)
    if (how === 'failed') await a.take(childId)
    else await a.age(childId, 16 * 60_000)
    if (how === 'failed') await a.end(childId, 'failed')
    else
      assert.equal(await a.unit((unit) => endUnstarted(unit, { workspaceId: a.workspace.id, id: childId })), 'expired')
    const last = (await a.journal(parentId)).at(-1)!
    assert.equal(last.kind === 'child_result' && last.status, how)
    assert.equal((await a.session(parentId)).status, 'running')
  }
})

test('a stop goes down to all that are going, and to none beside or above', async () => {
  const { parentId, childId } = await family('one')
  const childHold = await a.take(childId, 'w1')
  const [below, over] = [await child(childId, 'c1', 'two'), await child(childId, 'c2', 'three')]
  await a.take(below, 'w2')
  await events.append(a.t.app.db, await a.take(over), [answer('Done.')])
  await a.end(over, 'completed')
  const other = await family('one')
  await stopAgent(a.ctx, { sessionId: childId })
  assert.deepEqual(await Promise.all([parentId, childId, below, over, other.parentId, other.childId].map(a.status)), [
    'running',
    'stopped',
    'stopped',
    'completed',
    'running',
    'queued',
  ])
  await assert.rejects(events.append(a.t.app.db, childHold, [answer('x')]), holds.LostSession)
  assert.match((await said(below)).at(-1)!, /^Stopped\. The session that called it has ended/)
  await stopAgent(a.ctx, { sessionId: other.parentId })
  assert.equal(await a.status(other.childId), 'stopped')
})

test('two who stop a tree from both ends while its child ends come to one end each', async () => {
  for (let count = 0; count < 5; count++) {
    const { parentId, childId } = await family()
    await a.take(childId)
    const session = await a.session(childId)
    await Promise.allSettled([
      stopAgent(a.ctx, { sessionId: parentId }),
      a.unit((unit) => endTurn(unit, session, { status: 'completed', reason: '' })),
      stopAgent(a.ctx, { sessionId: childId }),
    ])
    assert.equal(await a.status(parentId), 'stopped')
    for (const id of [parentId, childId]) {
      const ends = (await a.journal(id)).filter(
        (one) => one.kind === 'status' && one.status !== 'queued' && one.status !== 'running',
      )
      assert.equal(ends.length, 1, id)
    }
  }
})

test('a call has one child however often it is asked for, and limits of a tree are refused', async () => {
  const { parentId, childId } = await family()
  await sessions.wake(a.t.app.db, a.workspace.id, parentId)
  assert.equal(await child(parentId, 'c1', 'helper'), childId)
  const both = await Promise.all([child(parentId, 'c2', 'other'), child(parentId, 'c2', 'other')])
  assert.equal(both[0], both[1])
  await assert.rejects(child(parentId, 'c3', 'assistant'), /goes round/)
  for (let count = 3; count <= MOST_CHILDREN; count++) await child(parentId, `c${count}`, `agent ${count}`)
  await assert.rejects(child(parentId, 'c9', 'ninth'), /at most 8 others/)
  let deep = childId
  for (const agent of ['two', 'three']) {
    await a.take(deep)
    deep = await child(deep, 'c1', agent)
  }
  await a.take(deep)
  await assert.rejects(child(deep, 'c1', 'four'), /3 deep/)
  assert.deepEqual([(await a.session(deep)).depth, (await a.session(deep)).rootId], [3, parentId])
  await stopAgent(a.ctx, { sessionId: childId })
  await assert.rejects(child(childId, 'c2', 'five'), /not running/)
})

test('a worker that is lost gives the session to another, and three times at one record fails it', async () => {
  const id = await a.trigger()
  const lose = async () => {
    const hold = await a.take(id)
    const jobs = jobsOf(id)
    return [await a.unit((unit) => loseWorker(unit, hold)), jobsOf(id) - jobs]
  }
  assert.deepEqual(
    [await lose(), await lose(), await lose()],
    [
      ['again', 1],
      ['again', 1],
      ['failed', 0],
    ],
  )
  const { status, reason } = await a.session(id)
  assert.equal(status, 'failed')
  assert.match(reason, /lost 3 times at the same step/)
  assert.match((await said(id)).at(-1)!, /lost 3 times/)
  await sendAgentMessage(a.ctx, { sessionId: id, message: 'Again, please' })
  assert.equal(await a.status(id), 'queued')
})

test('what waits is ended after 15 minutes in its first turn, after 60 in a later one, and not before', async () => {
  const first = await a.trigger()
  const later = await a.into('completed')
  await sendAgentMessage(a.ctx, { sessionId: later, message: 'More' })
  const ended = (id: string) => a.unit((unit) => endUnstarted(unit, { workspaceId: a.workspace.id, id }))
  for (const id of [first, later]) {
    assert.equal(await ended(id), null)
    await a.age(id, 16 * 60_000)
  }
  assert.deepEqual([await ended(first), await ended(later)], ['expired', null])
  const late = await sessions.listWaitedLong(a.t.app.db, { minutes: 15, limit: 1000 })
  assert.deepEqual([late.some((one) => one.id === first), late.some((one) => one.id === later)], [false, true])
  await a.age(later, 45 * 60_000)
  assert.equal(await ended(later), 'failed')
  assert.match((await said(first)).at(-1)!, /expired.*15 minutes/)
  assert.equal(await ended(first), null)
})

test('each end of a turn is told to the webhooks that want to hear of it', async () => {
  const { id: webhookId } = await createWebhook(a.ctx, {
    url: 'https://example.com/hook',
    events: ['dinoai.run.completed'],
  })
  const id = await a.into('completed')
  await sendAgentMessage(a.ctx, { sessionId: id, message: 'More' })
  await a.take(id)
  await a.end(id, 'failed')
  const { rows } = await sql<{ body: AgentReport }>`select body from delivery where webhook_id = ${webhookId}
    order by created_at`.execute(a.t.app.db)
  const bodies = rows.map((row) => JSON.parse(agentWebhook('dinoai.run.completed', row.body)))
  assert.deepEqual(
    bodies.map(({ run }) => [run.id, run.state, run.turn]),
    [
      [id, 'COMPLETED', 1],
      [id, 'FAILED', 2],
    ],
  )
  const { event, api_url, workspace, agent, schedule, commands, run } = bodies[0]
  assert.deepEqual(
    { event, api_url, workspace, agent, schedule, commands },
    {
      event: 'dinoai.run.completed',
      api_url: 'http://127.0.0.1:4400/graphql',
      workspace: { uid: a.workspace.uid, name: a.workspace.name },
      agent: { name: 'assistant' },
      schedule: null,
      commands: [],
    },
  )
  assert.deepEqual([run.actor_email, run.branch, run.parent_session_id], ['ana@example.com', '', null])
  assert.match(run.start_dttm, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
  assert.match(run.api_query, new RegExp(id))
  await sql`update webhook set enabled = false where id = ${webhookId}`.execute(a.t.app.db)
})

test('the texts of an agent go to the thread of its trigger, in order, each once', async () => {
  const silent = await a.trigger({ message: 'Hello', slack: { channel: 'C1', threadTs: '1.5' } })
  await events.append(a.t.app.db, await a.take(silent), [answer('Hi.')])
  await a.end(silent, 'completed')
  assert.equal((await deliveriesOf(silent)).length, 0, 'nothing is set up')
  await createIntegration(a.ctx, {
    kind: 'slack',
    name: '',
    settings: {},
    secrets: { token: 'xoxb-1234567890-abcdef' },
  })
  const id = await a.trigger({ message: 'Hello', slack: { channel: 'C1', threadTs: '1.5' } })
  const hold = await a.take(id)
  const session = await a.session(id)
  const write = (...bodies: AgentEventBody[]) => a.unit((unit) => writeRecords(unit, session, hold, bodies))
  await write(answer('One.', { calls: [call('c1', 'read_file')] }), {
    kind: 'tool_start',
    call: 'c1',
    tool: 'read_file',
  })
  await write({ kind: 'tool_end', call: 'c1', tool: 'read_file', text: 'secret file', chars: 11, isError: false })
  await write(answer(' '), answer('Two.'))
  await a.unit((unit) => endTurn(unit, session_(session, hold), { status: 'failed', reason: 'No more steps.' }))
  const posted = await deliveriesOf(id)
  assert.deepEqual(
    posted.map((one) => [one.address, one.body.threadTs, one.body.text]),
    [
      ['C1', '1.5', 'One.'],
      ['C1', '1.5', 'Two.'],
      ['C1', '1.5', 'This turn failed. No more steps.'],
    ],
  )
  const channel = testChannel(() => undefined, 'slack')
  a.t.clock.advance(365 * 86_400_000)
  for (let count = 0; count < 3; count++) await senderOf(a.t, channel).runOnce()
  assert.deepEqual(
    channel.sent.map((one) => (one.body as { text: string }).text),
    posted.map((one) => one.body.text),
  )
})

test('without a thread the texts go to the channel of the agent’s file, and else nowhere', async () => {
  a.definitions.set('reporter', testDefinition('reporter', { slackChannel: 'data' }))
  const id = await a.trigger({ agent: 'reporter' })
  await events.append(a.t.app.db, await a.take(id), [answer('')])
  await a.end(id, 'completed', 'Here it is.')
  assert.deepEqual(
    (await deliveriesOf(id)).map((one) => [one.address, one.body]),
    [['data', { text: 'Here it is.', threadTs: '' }]],
  )
  const nowhere = await a.into('completed')
  assert.deepEqual(await deliveriesOf(nowhere), [])
})

test('a request for healing has one session, and hears of its end', async () => {
  const insert = sql<{ id: number }>`insert into healing_request (workspace_id, schedule_id, run_id, cause, state)
    select ${a.workspace.id}, s.id, r.id, 'x', 'started' from schedule s join run r on r.schedule_id = s.id
    where s.workspace_id = ${a.workspace.id} returning id`
  const environment = a.environmentId
  await sql`insert into schedule (workspace_id, environment_id, slug, name, cron, commands)
    values (${a.workspace.id}, ${environment}, 's', 's', 'OFF', '[]')`.execute(a.t.app.db)
  await sql`insert into run (workspace_id, schedule_id, environment_id, cause, state, actor, branch, ended_at)
    select workspace_id, id, environment_id, 'key', 'failed', 'x', 'main', now() from schedule
    where workspace_id = ${a.workspace.id}`.execute(a.t.app.db)
  const { id: request } = (await insert.execute(a.t.app.db)).rows[0]!
  const start = () => a.start({ healingRequestId: request })
  const both = await Promise.all([start(), start()])
  assert.equal(both[0], both[1])
  await a.take(both[0])
  await a.end(both[0], 'failed')
  const { rows } = await sql<{ state: string }>`select state from healing_request where id = ${request}`.execute(
    a.t.app.db,
  )
  assert.equal(rows[0]!.state, 'ended')
})

const session_ = <T extends object>(session: T, { attempt }: holds.AgentHold): T => ({ ...session, attempt })

async function deliveriesOf(id: string) {
  const { rows } = await sql<{ address: string; body: { text: string; threadTs: string } }>`select address, body
    from delivery where workspace_id = ${a.workspace.id} and line = ${`agent ${id}`} order by created_at`.execute(
    a.t.app.db,
  )
  return rows
}
