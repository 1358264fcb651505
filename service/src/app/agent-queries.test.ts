import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAgents, testAgents, testDefinition } from '../../test/support/agent-sessions.ts'
import * as events from '../store/agent-events.ts'
import { getAgentOutput, getAgentSession, getAgentSteps, getStartupSteps, listAgentSessions } from './agent-queries.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const ANY = { agent: null, statuses: null, parentId: null, offset: null, limit: null }
const ids = async (query: Partial<Parameters<typeof listAgentSessions>[1]>) =>
  (await listAgentSessions(a.ctx, { ...ANY, ...query })).sessions.map((one) => one.id)
const refused = (wanted: string) => (error: Error & { code?: string }) => error.code === wanted

test('sessions are listed newest first, by agent, status and parent, a page at a time', async () => {
  a.definitions.set('lister', testDefinition('lister'))
  const [one, two] = [await a.trigger({ agent: 'lister' }), await a.trigger({ agent: 'lister' })]
  await a.take(two)
  const session = await a.session(two)
  const kid = await a.start({ agent: 'kid', definition: testDefinition('kid'), parent: { session, call: 'c1' } })
  assert.deepEqual(await ids({ agent: 'lister' }), [two, one])
  assert.deepEqual(await ids({ agent: 'lister', statuses: ['queued', 'failed'] }), [one])
  assert.deepEqual(await ids({ statuses: [] }), [])
  assert.deepEqual(await ids({ parentId: two }), [kid])
  assert.deepEqual(await ids({ agent: 'lister', offset: 1, limit: 1 }), [one])
  assert.equal((await listAgentSessions(a.ctx, { ...ANY, agent: 'lister', limit: 1 })).totalCount, 2)
  await assert.rejects(ids({ parentId: 'nobody' }), refused('NOT_FOUND'))
  for (const bad of [{ limit: 0 }, { limit: 1001 }, { offset: -1 }])
    await assert.rejects(ids(bad), refused('INVALID_INPUT'))
  const other = a.t.inside(await a.t.workspace())
  assert.deepEqual(await listAgentSessions(other, ANY), { sessions: [], totalCount: 0 })
  await assert.rejects(listAgentSessions(other, { ...ANY, parentId: two }), refused('NOT_FOUND'))
})

test('steps, the start and whole results are read from the journal, in the own workspace alone', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  await events.append(a.t.app.db, hold, [
    { kind: 'note', text: 'Checked out.', startup: true },
    { kind: 'assistant', text: '', calls: [{ id: 'c1', tool: 'read_file', input: {} }], usage: null, model: 'm' },
    { kind: 'tool_start', call: 'c1', tool: 'read_file' },
    { kind: 'tool_end', call: 'c1', tool: 'read_file', text: 'shor…', chars: 9, isError: false },
    { kind: 'tool_start', call: 'c2', tool: 'read_file' },
    { kind: 'tool_end', call: 'c2', tool: 'read_file', text: 'all', chars: 3, isError: false },
  ])
  await events.saveOutput(a.t.app.db, { workspaceId: a.workspace.id, sessionId: id, call: 'c1' }, 'shortened')
  const wanted = { after: null, includeToolIo: true, maxChars: null }
  const tools = (await getAgentSteps(a.ctx, id, wanted)).filter((one) => one.kind === 'tool')
  assert.deepEqual(
    tools.map((one) => one.output),
    ['shor…', 'all'],
  )
  assert.deepEqual(
    (await getStartupSteps(a.ctx, id)).map((one) => one.text),
    ['Checked out.'],
  )
  assert.deepEqual(await getAgentOutput(a.ctx, id, 'c1'), { text: 'shortened' })
  assert.deepEqual(await getAgentOutput(a.ctx, id, 'c2'), { text: 'all' })
  await assert.rejects(getAgentOutput(a.ctx, id, 'c3'), refused('NOT_FOUND'))
  await assert.rejects(getAgentSteps(a.ctx, id, { ...wanted, after: -1 }), refused('INVALID_INPUT'))
  await assert.rejects(getAgentSteps(a.ctx, id, { ...wanted, maxChars: 0 }), refused('INVALID_INPUT'))
  const other = a.t.inside(await a.t.workspace())
  await assert.rejects(getAgentSteps(other, id, wanted), refused('NOT_FOUND'))
  await assert.rejects(getStartupSteps(other, id), refused('NOT_FOUND'))
  await assert.rejects(getAgentOutput(other, id, 'c1'), refused('NOT_FOUND'))
  await assert.rejects(getAgentSession(a.ctx, 'with \0 nul'), refused('NOT_FOUND'))
})
