// Sessions of agents as rows that run, and tools that are called as the loop calls them: with the rights that whoever started
// the session has at that moment.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { callerOf } from '../../src/app/agent-caller.ts'
import type { AgentDefinitions } from '../../src/app/agent-definitions.ts'
import { type StartSession, startSession } from '../../src/app/agent-start.ts'
import { mutate } from '../../src/app/mutate.ts'
import type { WorkspaceRef } from '../../src/domain/actor.ts'
import type { AgentDefinition } from '../../src/domain/agent-definition.ts'
import type { AgentSession, SessionActor } from '../../src/domain/agent-session.ts'
import { notFound } from '../../src/domain/errors.ts'
import { checkInput, openTools, type ToolDeps } from '../../src/engine/agent/tools/index.ts'
import type { Tool, ToolContext, ToolResult } from '../../src/engine/agent/tools/tool.ts'
import type { Models } from '../../src/ports/model.ts'
import * as sessions from '../../src/store/agent-sessions.ts'
import * as environments from '../../src/store/environments.ts'
import type { TestApp } from './app.ts'

export const BASE_COMMIT = 'ba5e'.repeat(10)

export const testDefinition = (fields: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name: 'worker',
  version: '1',
  role: 'Works',
  goal: 'Work',
  backstory: 'Always worked.',
  modelFamily: '',
  environment: '',
  tools: null,
  slackChannel: '',
  squad: [],
  ...fields,
})

export interface NewTestSession {
  readonly actor?: SessionActor
  readonly definition?: Partial<AgentDefinition>
  readonly environmentId?: number
  readonly repositoryUrl?: string
  readonly slack?: StartSession['slack']
  readonly parent?: StartSession['parent']
  readonly branch?: string
  readonly baseBranch?: string
}

/** A session that runs; of an environment of its own unless one is named. */
export async function testSession(
  t: TestApp,
  workspace: WorkspaceRef,
  wanted: NewTestSession = {},
): Promise<AgentSession> {
  const { db } = t.app
  const definition = testDefinition(wanted.definition)
  const environmentId = wanted.environmentId ?? (await testEnvironment(t, workspace, wanted.repositoryUrl))
  const id = await mutate(t.inside(workspace), (unit) =>
    startSession(unit, {
      workspaceId: workspace.id,
      environmentId,
      agent: definition.name,
      definition,
      definitionCommit: BASE_COMMIT,
      baseBranch: wanted.baseBranch ?? 'main',
      modelFamily: 'scripted',
      message: { text: 'Go.', author: 'user', name: 'Test' },
      actor: wanted.actor ?? { kind: 'service', name: 'self-healing' },
      parent: wanted.parent ?? null,
      slack: wanted.slack ?? null,
      healingRequestId: null,
    }),
  )
  await sql`update agent_session set status = 'running', started_at = clock_timestamp(), base_commit = ${BASE_COMMIT},
    branch = ${wanted.branch === undefined ? '' : `agent/${id}/${wanted.branch}`} where id = ${id}`.execute(db)
  return await reread(t, { id, workspaceId: workspace.id })
}

export const reread = async (t: TestApp, of: Pick<AgentSession, 'id' | 'workspaceId'>): Promise<AgentSession> =>
  (await sessions.find(t.app.db, of.workspaceId, of.id))!

export async function testEnvironment(
  t: TestApp,
  workspace: WorkspaceRef,
  repositoryUrl = 'https://git.example.com/acme/shop.git',
): Promise<number> {
  const slug = `agents-${randomBytes(4).toString('hex')}`
  const id = await environments.insert(t.app.db, workspace.id, { slug, displayName: slug, type: 'scheduler' })
  await environments.update(t.app.db, workspace.id, id, { repositoryUrl })
  return id
}

/** Agents by their names, as files would say them. */
export const testDefinitions = (
  all: readonly AgentDefinition[],
  environment: { readonly id: number },
): AgentDefinitions => ({
  list: async () => ({ commit: BASE_COMMIT, warning: '', agents: [] }),
  find: async (_ctx, name) => {
    const definition = all.find((one) => one.name === name)
    if (definition === undefined) throw notFound(`No agent "${name}".`)
    const place = { id: environment.id, slug: 'agents', repositoryUrl: '', defaultBranch: 'main' }
    return { definition, commit: BASE_COMMIT, warnings: [], environment: place }
  },
})

export const testModels: Models = {
  choose: async (_workspaceId, family) => ({ family: family || 'scripted', warning: null }),
  open: async () => {
    throw new Error('no model is asked here')
  },
}

export const noHttp: ToolDeps['http'] = {
  call: async () => {
    throw new Error('nothing is called here')
  },
}

export const testDeps = (t: TestApp, deps: Partial<ToolDeps> = {}): ToolDeps => ({
  app: t.app,
  http: noHttp,
  agents: { definitions: testDefinitions([], { id: 0 }), models: testModels },
  queries: null,
  checkoutTools: [],
  ...deps,
})

export interface CallOptions {
  readonly call?: string
  readonly secrets?: readonly string[]
  readonly signal?: AbortSignal
}

export async function contextFor(t: TestApp, session: AgentSession, options: CallOptions = {}): Promise<ToolContext> {
  const call = options.call ?? `c${randomBytes(4).toString('hex')}`
  return {
    session,
    key: `${session.id}:${call}`,
    call,
    caller: await callerOf(t.app, session),
    checkout: {
      root: '/nowhere',
      folder: '/nowhere',
      gitFolder: '/nowhere',
      baseCommit: BASE_COMMIT,
      branch: session.branch,
    },
    signal: options.signal ?? new AbortController().signal,
    secrets: options.secrets ?? [],
  }
}

/** As the loop does it: what the schema refuses never reaches the tool. */
export async function callTool(
  t: TestApp,
  tools: readonly Tool[],
  session: AgentSession,
  name: string,
  input: Record<string, unknown>,
  options: CallOptions = {},
): Promise<ToolResult & { readonly text: string; readonly isError: boolean }> {
  const tool = tools.find((one) => one.name === name)
  if (tool === undefined) throw new Error(`there is no tool ${name}`)
  const faults = checkInput(tool.input, input)
  const result: ToolResult =
    faults === null
      ? await tool.run(await contextFor(t, session, options), input)
      : { kind: 'text', text: faults, isError: true }
  return result.kind === 'text'
    ? { ...result, isError: result.isError ?? false }
    : { ...result, text: `child ${result.child}`, isError: false }
}

export const toolsOf = (t: TestApp, session: AgentSession, deps: Partial<ToolDeps> = {}): Tool[] =>
  openTools(testDeps(t, deps), session)
