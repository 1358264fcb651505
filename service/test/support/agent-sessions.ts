// Sessions of agents without agents: definitions and models that a test holds in its hands, and a worker that is only a
// name. What the loop would do, a test does with the stores and use cases themselves.
import { CompiledQuery, sql } from 'kysely'
import type { FoundAgent } from '../../src/app/agent-definitions.ts'
import type { AgentDeps, StartSession, TriggerAgent } from '../../src/app/agent-sessions.ts'
import { endTurn, startSession, triggerAgent } from '../../src/app/agent-sessions.ts'
import type { Context } from '../../src/app/context.ts'
import type { Unit } from '../../src/app/mutate.ts'
import { mutate } from '../../src/app/mutate.ts'
import type { WorkspaceRef } from '../../src/domain/actor.ts'
import type { AgentDefinition } from '../../src/domain/agent-definition.ts'
import type { AgentEvent, AgentSession, AgentStatus } from '../../src/domain/agent-session.ts'
import { notFound } from '../../src/domain/errors.ts'
import * as events from '../../src/store/agent-events.ts'
import type { AgentHold } from '../../src/store/agent-hold.ts'
import * as holds from '../../src/store/agent-hold.ts'
import * as sessions from '../../src/store/agent-sessions.ts'
import * as environments from '../../src/store/environments.ts'
import { type TestApp, testApp } from './app.ts'

export const testDefinition = (name: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name,
  version: '1',
  role: 'Tester',
  goal: 'Find out',
  backstory: 'None',
  modelFamily: '',
  environment: '',
  tools: null,
  slackChannel: '',
  squad: [],
  ...more,
})

export interface TestAgents extends AsyncDisposable {
  readonly t: TestApp
  readonly workspace: WorkspaceRef
  readonly ctx: Context
  readonly deps: AgentDeps
  readonly environmentId: number
  /** What triggering finds, by name; `assistant` is there. */
  readonly definitions: Map<string, AgentDefinition>
  trigger(input?: TriggerAgent): Promise<string>
  start(input?: Partial<StartSession>): Promise<string>
  unit<T>(work: (unit: Unit) => Promise<T>): Promise<T>
  session(id: string): Promise<AgentSession>
  status(id: string): Promise<AgentStatus>
  journal(id: string): Promise<AgentEvent[]>
  /** Takes it as a worker does, and begins. */
  take(id: string, workerId?: string): Promise<AgentHold>
  /** A session in that state, by the way that leads to it. */
  into(status: AgentStatus): Promise<string>
  end(id: string, status: 'completed' | 'failed' | 'stopped', text?: string): Promise<'ended' | 'next turn'>
  /** Moves the times of a session back, as if the database's clock had gone on. */
  age(id: string, milliseconds: number): Promise<void>
}

export async function testAgents(options: { queue?: 'real' | 'recording' } = {}): Promise<TestAgents> {
  const t = await testApp({ queue: options.queue ?? 'recording', poolSize: 10 })
  const { db } = t.app
  const workspace = await t.workspace()
  const ctx = await t.contextOf(
    await t.member(workspace, 'ADMIN', { email: 'ana@example.com', name: 'Ana' }),
    workspace,
  )
  const environmentId = await environments.insert(db, workspace.id, {
    slug: 'main',
    displayName: 'Main',
    type: 'agent',
  })
  const definitions = new Map([['assistant', testDefinition('assistant')]])
  const find = async (name: string): Promise<FoundAgent> => {
    const definition = definitions.get(name)
    if (definition === undefined) throw notFound(`There is no agent "${name}".`)
    const environment = {
      id: environmentId,
      slug: 'main',
      repositoryUrl: 'https://example.com/r.git',
      defaultBranch: 'main',
    }
    return { definition, commit: 'c0ffee', warnings: [], environment }
  }
  const deps: AgentDeps = {
    definitions: { list: async () => ({ commit: '', warning: '', agents: [] }), find: (_ctx, name) => find(name) },
    models: {
      choose: async (_workspaceId, family) =>
        family === '' || family === 'big'
          ? { family: family || 'scripted', warning: null }
          : { family: 'scripted', warning: `There is no model family "${family}": scripted is used.` },
      open: () => Promise.reject(new Error('no model is asked here')),
    },
  }

  const unit: TestAgents['unit'] = (work) => mutate(ctx, work)
  const session: TestAgents['session'] = async (id) => (await sessions.find(db, workspace.id, id))!
  const journal: TestAgents['journal'] = (id) => events.list(db, workspace.id, id)
  const trigger: TestAgents['trigger'] = async (input = { message: 'Hello' }) =>
    (await triggerAgent(ctx, deps, input)).sessionId
  const start: TestAgents['start'] = (input = {}) =>
    unit((one) =>
      startSession(one, {
        workspaceId: workspace.id,
        environmentId,
        agent: input.definition?.name ?? 'assistant',
        definition: testDefinition('assistant'),
        definitionCommit: '',
        baseBranch: 'main',
        modelFamily: 'scripted',
        message: { text: 'Hello', author: 'user', name: 'Ana' },
        actor: { kind: 'service', name: 'test' },
        parent: null,
        slack: null,
        healingRequestId: null,
        ...input,
      }),
    )
  const take: TestAgents['take'] = async (id, workerId = 'worker') => {
    const claim = await holds.claimByJob(jobTransaction(t), id, { workerId, leaseMs: 60_000 })
    if (claim === null) throw new Error(`session ${id} could not be taken`)
    const hold = { ...claim, workerId }
    await unit((one) => holds.begin(one.db, hold, 60_000))
    return hold
  }
  const age: TestAgents['age'] = async (id, milliseconds) => {
    const by = sql`${milliseconds}::float8 * interval '1 millisecond'`
    await sql`update agent_session set queued_at = queued_at - ${by}, last_message_at = last_message_at - ${by},
      created_at = created_at - ${by}, started_at = started_at - ${by}, ended_at = ended_at - ${by},
      lease_until = lease_until - ${by} where id = ${id}`.execute(t.database.owner.kysely)
  }
  const end: TestAgents['end'] = async (id, status, text) => {
    const of = await session(id)
    return await unit((one) => endTurn(one, of, { status, reason: '', text }))
  }
  const into: TestAgents['into'] = async (status) => {
    const id = await trigger()
    if (status === 'queued') return id
    if (status === 'expired') {
      await unit(async (one) => endTurn(one, await session(id), { status: 'expired', reason: 'Nobody began it.' }))
      return id
    }
    const hold = await take(id)
    if (status === 'running') return id
    const answer = { kind: 'assistant', text: 'Hi.', calls: [], usage: null, model: 'scripted' } as const
    await events.append(db, hold, [answer])
    await end(id, status)
    return id
  }

  return {
    t,
    workspace,
    ctx,
    deps,
    environmentId,
    definitions,
    trigger,
    start,
    unit,
    session,
    status: async (id) => (await session(id)).status,
    journal,
    take,
    into,
    end,
    age,
    [Symbol.asyncDispose]: t.close,
  }
}

/** Statements as the queue's own transaction sends them. */
export const jobTransaction = (t: TestApp) => ({
  executeSql: async (text: string, values: unknown[] = []) => {
    // biome-ignore lint/suspicious/noExplicitAny: rows are as the statement names them
    return { rows: (await t.app.db.executeQuery<any>(CompiledQuery.raw(text, values))).rows }
  },
})
