import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import {
  callTool,
  reread,
  testDefinition,
  testDefinitions,
  testEnvironment,
  testModels,
  testSession,
  toolsOf,
} from '../../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../../test/support/app.ts'
import type { WorkspaceRef } from '../../../domain/actor.ts'
import type { AgentSession, SessionActor } from '../../../domain/agent-session.ts'
import * as events from '../../../store/agent-events.ts'
import * as sessions from '../../../store/agent-sessions.ts'
import type { ToolDeps } from './deps.ts'

let t: TestApp
let workspace: WorkspaceRef
let environmentId: number
let actor: SessionActor
before(async () => {
  t = await testApp()
  workspace = await t.workspace()
  environmentId = await testEnvironment(t, workspace)
  const person = await t.member(workspace, 'DEVELOPER')
  actor = { kind: 'person', personId: person.id, email: person.email }
})
after(() => t.close())

const NAMES = ['lead', 'second', 'third', 'fourth', 'fifth']
const SQUAD = [...NAMES, 'gone']
const deps = (): Partial<ToolDeps> => ({
  agents: {
    definitions: testDefinitions(
      NAMES.map((name) => testDefinition({ name, squad: SQUAD })),
      { id: environmentId },
    ),
    models: testModels,
  },
})

const lead = (): Promise<AgentSession> =>
  testSession(t, workspace, { actor, environmentId, definition: { name: 'lead', squad: SQUAD } })

const invoke = (session: AgentSession, agent: string, call?: string) =>
  callTool(t, toolsOf(t, session, deps()), session, 'invoke_agent', { agent, message: 'Do it.' }, call ? { call } : {})

async function childOf(session: AgentSession, agent: string): Promise<AgentSession> {
  const result = await invoke(session, agent)
  assert.equal(result.kind, 'child', result.text)
  const id = result.kind === 'child' ? result.child : ''
  await sql`update agent_session set status = 'running', started_at = clock_timestamp() where id = ${id}`.execute(
    t.app.db,
  )
  return await reread(t, { id, workspaceId: workspace.id })
}

test('a child has the caller, the base and the budget of its parent; the same call gives the same child', async () => {
  const session = await lead()
  const first = await invoke(session, 'second', 'a1')
  const again = await invoke(session, 'second', 'a1')
  assert.deepEqual(again, first)
  const [id, ...others] = await sessions.listChildren(t.app.db, workspace.id, session.id)
  assert.deepEqual(others, [])
  const child = await reread(t, { id: id!, workspaceId: workspace.id })
  assert.deepEqual(
    [child.actor, child.budget, child.rootId, child.depth, child.baseBranch, child.agent, child.status],
    [session.actor, session.budget, session.id, 1, 'main', 'second', 'queued'],
  )
  const [message] = (await events.list(t.app.db, workspace.id, id!)).filter((one) => one.kind === 'user_message')
  assert.ok(message?.kind === 'user_message' && message.author === 'parent' && message.text === 'Do it.')
})

test('only agents of the squad that are there can be called', async () => {
  const session = await testSession(t, workspace, {
    actor,
    environmentId,
    definition: { name: 'lead', squad: ['second', 'gone'] },
  })
  assert.ok((await invoke(session, 'third')).isError)
  const gone = await invoke(session, 'gone')
  assert.ok(gone.isError && /No agent/.test(gone.text))
  const alone = await testSession(t, workspace, { actor, environmentId })
  assert.ok(!toolsOf(t, alone, deps()).some((one) => one.name === 'invoke_agent'))
})

test('who may not start agents calls none: the service itself does not', async () => {
  const session = await testSession(t, workspace, { environmentId, definition: { name: 'lead', squad: SQUAD } })
  const result = await invoke(session, 'second')
  assert.ok(result.isError && /does not hold the right/.test(result.text), result.text)
})

test('an agent that waits for this one cannot be called, itself neither', async () => {
  const session = await lead()
  const child = await childOf(session, 'second')
  for (const [from, agent] of [
    [session, 'lead'],
    [child, 'lead'],
    [child, 'second'],
  ] as const) {
    const result = await invoke(from, agent)
    assert.ok(result.isError && /goes round/.test(result.text), result.text)
  }
})

test('three deep and no deeper', async () => {
  let session = await lead()
  for (const agent of ['second', 'third', 'fourth']) session = await childOf(session, agent)
  assert.equal(session.depth, 3)
  const result = await invoke(session, 'fifth')
  assert.ok(result.isError && /at most 3 deep/.test(result.text), result.text)
})

test('eight children and no more, also when all are asked for at once', async () => {
  const session = await lead()
  const results = await Promise.all(Array.from({ length: 12 }, (_, at) => invoke(session, 'second', `b${at}`)))
  assert.equal(results.filter((one) => one.kind === 'child').length, 8)
  assert.equal((await sessions.listChildren(t.app.db, workspace.id, session.id)).length, 8)
})

test('a child leaves its parent one message for a call; without a parent there is no such tool', async () => {
  const session = await lead()
  assert.ok(!toolsOf(t, session, deps()).some((one) => one.name === 'notify_parent_session'))
  const child = await childOf(session, 'second')
  const notify = (call: string) =>
    callTool(
      t,
      toolsOf(t, child, deps()),
      child,
      'notify_parent_session',
      { message: 'Half done: hunter2-secret' },
      {
        call,
        secrets: ['hunter2-secret'],
      },
    )
  for (const call of ['c1', 'c1', 'c2']) assert.ok(!(await notify(call)).isError)
  const said = (await events.list(t.app.db, workspace.id, session.id)).flatMap((one) =>
    one.kind === 'user_message' && one.author === 'child' ? [one.text] : [],
  )
  assert.deepEqual(said, ['Half done: ***', 'Half done: ***'])
  await sql`update agent_session set status = 'stopped', ended_at = clock_timestamp() where id = ${session.id}`.execute(
    t.app.db,
  )
  const late = await notify('c3')
  assert.ok(late.isError && /is over/.test(late.text))
})
