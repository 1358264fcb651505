import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAgents, testAgents, testDefinition } from '../../test/support/agent-sessions.ts'
import type { AgentStatus } from '../domain/agent-session.ts'
import { AGENT_STATUSES, DEFAULT_BUDGET } from '../domain/agent-session.ts'
import * as holds from '../store/agent-hold.ts'
import { setAgentPolicy } from './agent-policy.ts'
import { getAgentSession, listAgentSessions } from './agent-queries.ts'
import { sendAgentMessage, stopAgent, triggerAgent, writeRecords } from './agent-sessions.ts'
import type { Context } from './context.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const trigger = (input: Parameters<typeof triggerAgent>[2]) => triggerAgent(a.ctx, a.deps, input)
const send = (sessionId: string, message = 'And now?') => sendAgentMessage(a.ctx, { sessionId, message })
const texts = async (id: string) =>
  (await getAgentSession(a.ctx, id)).messages.map((one) => `${one.role}: ${one.content}`)
const jobsOf = (id: string) =>
  a.t.jobs.filter((job) => job.queue === 'agent-turn' && 'sessionId' in job.data && job.data.sessionId === id)
const code =
  (wanted: string, words = /./) =>
  (error: Error & { code?: string }) => {
    assert.equal(error.code, wanted, error.message)
    assert.match(error.message, words)
    return true
  }

test('a message alone starts the assistant, queued, with a job, its message and a record of who asked', async () => {
  const { sessionId, warning } = await trigger({ message: 'Why did it fail?', agent: ' ', baseBranch: null })
  assert.match(sessionId, /^[a-z0-9]{16}$/)
  assert.equal(warning, null)
  const session = await a.session(sessionId)
  assert.deepEqual(
    [session.agent, session.status, session.turn, session.depth, session.rootId, session.baseBranch],
    ['assistant', 'queued', 1, 0, sessionId, 'main'],
  )
  assert.equal(session.actor.kind === 'person' && session.actor.email, 'ana@example.com')
  assert.deepEqual(session.budget, DEFAULT_BUDGET)
  assert.deepEqual(await texts(sessionId), ['user: Why did it fail?'])
  assert.equal(jobsOf(sessionId).length, 1)
  const records = await a.t.records('agent_triggered')
  const record = records.find((one) => one.data.session === sessionId)!
  assert.deepEqual(
    [record.eventSource, record.actorEmail, record.data.agent],
    ['agents', 'ana@example.com', 'assistant'],
  )
})

test('an agent alone starts without a message, on the branch, model and thread that are asked for', async () => {
  a.definitions.set('finder', testDefinition('finder', { slackChannel: 'data', modelFamily: 'big' }))
  const { sessionId, warning } = await trigger({
    agent: 'finder',
    slack: { channel: 'C1', threadTs: '1.5' },
    baseBranch: 'feature/x',
    modelFamily: 'small',
  })
  assert.match(warning ?? '', /no model family "small"/)
  const session = await a.session(sessionId)
  assert.deepEqual(
    [session.baseBranch, session.modelFamily, session.slackChannel, session.slackThreadTs, session.definitionCommit],
    ['feature/x', 'scripted', 'C1', '1.5', 'c0ffee'],
  )
  assert.deepEqual(await texts(sessionId), [])
  const plain = await a.session(await a.trigger({ agent: 'finder' }))
  assert.deepEqual([plain.modelFamily, plain.slackChannel, plain.slackThreadTs], ['big', 'data', ''])
})

test('what cannot be meant is refused, and leaves no session', async () => {
  const before = (
    await listAgentSessions(a.ctx, { agent: null, statuses: null, parentId: null, offset: null, limit: 1 })
  ).totalCount
  await assert.rejects(trigger({}), code('INVALID_INPUT', /agent, a message, or both/))
  await assert.rejects(trigger({ agent: '  ', message: '\n\t' }), code('INVALID_INPUT'))
  await assert.rejects(
    trigger({ message: 'x', slack: { channel: 'C1', threadTs: ' ' } }),
    code('INVALID_INPUT', /both/),
  )
  await assert.rejects(
    trigger({ message: 'x', slack: { channel: '', threadTs: '1.5' } }),
    code('INVALID_INPUT', /both/),
  )
  await assert.rejects(trigger({ agent: 'nobody' }), code('NOT_FOUND'))
  await assert.rejects(trigger({ message: 'a\0b' }), code('INVALID_INPUT'))
  await assert.rejects(trigger({ message: 'x'.repeat(100_001) }), code('INVALID_INPUT'))
  for (const baseBranch of [
    '--upload-pack=x',
    'a..b',
    'a b',
    'x:y',
    'HEAD@{1}',
    '-',
    '/x',
    'x.lock',
    'a\nb',
    'a~1',
    'a^',
    '.x',
  ]) {
    await assert.rejects(trigger({ message: 'x', baseBranch }), code('INVALID_INPUT', /baseBranch/), baseBranch)
  }
  const after = (
    await listAgentSessions(a.ctx, { agent: null, statuses: null, parentId: null, offset: null, limit: 1 })
  ).totalCount
  assert.equal(after, before)
  const blank = await trigger({ message: 'x', slack: { channel: ' ', threadTs: '' }, baseBranch: ' ', modelFamily: '' })
  assert.equal((await a.session(blank.sessionId)).slackChannel, '')
})

test('the workspace’s policy narrows the budget of a session', async () => {
  await setAgentPolicy(a.ctx, { budget: { steps: 5, tokens: 10 ** 12 } })
  const { budget } = await a.session(await a.trigger())
  assert.deepEqual(budget, { ...DEFAULT_BUDGET, steps: 5 })
  await setAgentPolicy(a.ctx, { budget: { steps: null, tokens: null } })
})

test('the same Idempotency-Key starts one session, sends one message and stops once', async () => {
  const keyed = (key: string): Context => ({ ...a.ctx, idempotency: { key, bodyHash: 'ab'.repeat(32), position: 0 } })
  const [first, again] = [
    await triggerAgent(keyed('t'), a.deps, { message: 'x' }),
    await triggerAgent(keyed('t'), a.deps, { message: 'x' }),
  ]
  assert.deepEqual(again, first)
  const { sessionId } = first
  for (let count = 0; count < 2; count++) await sendAgentMessage(keyed('m'), { sessionId, message: 'once' })
  assert.deepEqual(await texts(sessionId), ['user: x', 'user: once'])
  for (let count = 0; count < 2; count++)
    assert.deepEqual(await stopAgent(keyed('s'), { sessionId }), { status: 'stopped' })
})

const AFTER_MESSAGE: Readonly<Record<Exclude<AgentStatus, 'expired'>, AgentStatus>> = {
  queued: 'queued',
  running: 'running',
  completed: 'queued',
  failed: 'queued',
  stopped: 'queued',
}

for (const status of AGENT_STATUSES) {
  test(`a message to a session that is ${status}`, async () => {
    const id = await a.into(status)
    const { turn } = await a.session(id)
    const [jobs, before] = [jobsOf(id).length, await texts(id)]
    if (status === 'expired') {
      await assert.rejects(send(id), code('CONFLICT', /start a new one/))
      assert.deepEqual(await texts(id), before)
      return
    }
    assert.deepEqual(await send(id), { sessionId: id })
    const session = await a.session(id)
    const isNew = status !== 'queued' && status !== 'running'
    assert.deepEqual(
      [session.status, session.turn, jobsOf(id).length],
      [AFTER_MESSAGE[status], isNew ? turn + 1 : turn, isNew ? jobs + 1 : jobs],
    )
    if (isNew)
      assert.deepEqual([session.startedAt, session.endedAt, session.reason, session.steps], [null, null, '', 0])
    assert.equal((await a.journal(id)).at(-1)!.turn, session.turn)
    assert.deepEqual(await texts(id), [...before, 'user: And now?'])
    // What follows is an ordinary turn.
    if (isNew) assert.equal((await a.take(id)).sessionId, id)
  })

  test(`a stop of a session that is ${status}`, async () => {
    const id = await a.into(status)
    const before = await a.journal(id)
    const isGoing = status === 'queued' || status === 'running'
    const records = (await a.t.records('agent_stopped')).length
    assert.deepEqual(await stopAgent(a.ctx, { sessionId: id }), { status: isGoing ? 'stopped' : status })
    assert.equal(await a.status(id), isGoing ? 'stopped' : status)
    assert.equal((await a.t.records('agent_stopped')).length, isGoing ? records + 1 : records)
    if (isGoing) assert.equal((await texts(id)).at(-1), 'assistant: Stopped. By Ana.')
    else assert.deepEqual(await a.journal(id), before)
    const held = await holds.listHeldBy(a.t.app.db, 'worker')
    assert.ok(!held.some((one) => one.sessionId === id))
  })
}

test('a message a little within 24 hours of the last one is taken, a little later refused, in every state', async () => {
  for (const status of AGENT_STATUSES) {
    const id = await a.into(status)
    await a.age(id, 24 * 3_600_000 - 60_000)
    if (status === 'expired') await assert.rejects(send(id), code('CONFLICT'))
    else await send(id)
    await a.age(id, 24 * 3_600_000 + 1000)
    await assert.rejects(send(id), code('CONFLICT', /24 hours|expired/), status)
    assert.ok((await getAgentSession(a.ctx, id)).messages.length > 0, 'the transcript stays readable')
  }
})

test('twenty messages at once to a session that is over make one turn, with each of them once', async () => {
  const id = await a.into('completed')
  const jobs = jobsOf(id).length
  await Promise.all(Array.from({ length: 20 }, (_, at) => send(id, `message ${at}`)))
  const { status, turn } = await a.session(id)
  assert.deepEqual([status, turn, jobsOf(id).length], ['queued', 2, jobs + 1])
  const { messages } = await getAgentSession(a.ctx, id)
  const sent = messages.filter((one) => one.content.startsWith('message '))
  assert.equal(new Set(sent.map((one) => one.content)).size, 20)
  assert.equal(new Set(messages.map((one) => one.ts)).size, messages.length)
  assert.deepEqual(
    messages.map((one) => one.ts),
    messages.map((one) => one.ts).toSorted((x, y) => x - y),
  )
})

test('a session of another workspace is not there, and reads like one that never was', async () => {
  const id = await a.into('running')
  const other = a.t.inside(await a.t.workspace())
  const refused = async (ctx: Context, sessionId: string): Promise<string[]> => {
    const answers: string[] = []
    for (const ask of [
      () => sendAgentMessage(ctx, { sessionId, message: 'x' }),
      () => stopAgent(ctx, { sessionId }),
      () => getAgentSession(ctx, sessionId),
    ]) {
      await assert.rejects(ask(), (error: Error & { code?: string }) => {
        answers.push(`${error.code} ${error.message.replace(sessionId, 'ID')}`)
        return error.code === 'NOT_FOUND'
      })
    }
    return answers
  }
  assert.deepEqual(await refused(other, id), await refused(a.ctx, '0000000000000000'))
  assert.equal(await a.status(id), 'running')
})

test('whoever works on a session that is stopped cannot write to it any more', async () => {
  const id = await a.trigger()
  const hold = await a.take(id, 'cut off')
  await stopAgent(a.ctx, { sessionId: id })
  const session = await a.session(id)
  const write = () => a.unit((unit) => writeRecords(unit, session, hold, [{ kind: 'note', text: 'x', startup: false }]))
  await assert.rejects(write(), holds.LostSession)
  assert.equal((await holds.renew(a.t.app.db, 'cut off', [hold], 1000)).size, 0)
  await send(id)
  await assert.rejects(write(), holds.LostSession)
})

test('a tool with an effect leaves a record in the name of whoever started the session, another none', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const session = await a.session(id)
  const starts = ['read_file', 'git_push', 'mcp_wiki_search'].map(
    (tool) => ({ kind: 'tool_start', call: `call ${tool}`, tool }) as const,
  )
  await a.unit((unit) => writeRecords(unit, session, hold, starts))
  const records = (await a.t.records('agent_tool_used')).filter((one) => one.data.session === id)
  assert.deepEqual(
    records.map((one) => [one.data.tool, one.actorEmail, one.actorType]),
    [
      ['git_push', 'ana@example.com', 'user'],
      ['mcp_wiki_search', 'ana@example.com', 'user'],
    ],
  )
})
