// The loop of agents over a real database: the model is a function of what it is asked, the tools are a test's own, and a
// worker can be thrown away at any point between two transactions.
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callerOf } from '../../src/app/agent-caller.ts'
import type { StartSession } from '../../src/app/agent-sessions.ts'
import { loseWorker } from '../../src/app/agent-sessions.ts'
import type { App } from '../../src/app/context.ts'
import type { AgentBudget, AgentEvent } from '../../src/domain/agent-session.ts'
import { DEFAULT_BUDGET } from '../../src/domain/agent-session.ts'
import type { OpenedCheckout } from '../../src/engine/agent/checkout.ts'
import { HeldSession } from '../../src/engine/agent/held-session.ts'
import { TURN_SETTINGS, type TurnPorts, type TurnSettings } from '../../src/engine/agent/ports.ts'
import type { Tool, ToolContext, ToolResult } from '../../src/engine/agent/tools/tool.ts'
import { said } from '../../src/engine/agent/tools/tool.ts'
import type { TurnEnd } from '../../src/engine/agent/turn.ts'
import type { Model, ModelAnswer, ModelRequest } from '../../src/ports/model.ts'
import * as holds from '../../src/store/agent-hold.ts'
import type { Db } from '../../src/store/database.ts'
import { jobTransaction, type TestAgents, testAgents, testDefinition } from './agent-sessions.ts'

export type Answer = Partial<ModelAnswer>
export type AskedModel = (request: ModelRequest, signal: AbortSignal) => Answer | Promise<Answer>

export const answering = (answer: AskedModel, more: Partial<Model> = {}): Model => ({
  name: 'fake',
  contextTokens: 200_000,
  prices: null,
  answer: async (request, signal) => {
    const given = await answer(request, signal)
    const end = given.end ?? ((given.calls?.length ?? 0) > 0 ? 'calls' : 'end')
    return { text: '', calls: [], usage: { tokensIn: 10, tokensOut: 5, tokensCached: 0 }, ...given, end }
  },
  ...more,
})

/** Answers in this order, by how many answers the conversation holds: the same after a crash. */
export const plan =
  (...answers: readonly Answer[]): AskedModel =>
  ({ messages }) =>
    answers[messages.filter((one) => one.role === 'assistant').length] ?? { text: 'nothing is left to do' }

export const call = (tool: string, input: unknown = {}): NonNullable<Answer['calls']>[number] => ({
  id: 'same',
  tool,
  input,
})

export const testTool = (
  name: string,
  run: (of: ToolContext, input: Record<string, unknown>) => Promise<ToolResult> | ToolResult = () =>
    said(`${name} ran`),
  input: Tool['input'] = { type: 'object', properties: {}, additionalProperties: true },
): Tool => ({ name, description: `does ${name}`, input, run: async (of, given) => run(of, given) })

export interface LoopOptions {
  readonly model?: Model | AskedModel
  readonly tools?: readonly Tool[]
  readonly ports?: Partial<TurnPorts>
  readonly settings?: Partial<TurnSettings>
  readonly isLeaving?: () => boolean
  readonly app?: App
  readonly workerId?: string
  /** Given the session as soon as the work on it begins. */
  readonly onHeld?: (held: HeldSession) => void
}

export interface TestLoop extends AsyncDisposable {
  readonly a: TestAgents
  readonly folder: string
  ports(options: LoopOptions): TurnPorts
  settings(options: LoopOptions): TurnSettings
  start(input?: Partial<StartSession> & { limits?: Partial<AgentBudget> }): Promise<string>
  /** Takes the session as a worker does and works on it until it is over, waits or is left. */
  work(id: string, options: LoopOptions): Promise<TurnEnd>
  /** As the reaper does for a worker that is gone. */
  lose(id: string): Promise<'again' | 'failed' | null>
  journal(id: string): Promise<AgentEvent[]>
  /** Everything that must hold of a journal, whatever happened. */
  checkJournal(id: string): Promise<void>
}

export async function testLoop(options: { queue?: 'real' | 'recording' } = {}): Promise<TestLoop> {
  const a = await testAgents(options)
  const app: App = { ...a.t.app, clock: { now: () => new Date() } }
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'yardmaster-agents-')))

  const ports: TestLoop['ports'] = ({ model = plan(), tools = [], ports: more }) => {
    const opened = typeof model === 'function' ? answering(model) : model
    return {
      models: { choose: async (_, family) => ({ family, warning: null }), open: async () => opened },
      openCheckout: async (session) => await emptyCheckout(join(folder, `${session.id}-${session.attempt}`)),
      toolsFor: async (session) => ({ caller: await callerOf(app, session), tools }),
      ...more,
    }
  }
  const settings: TestLoop['settings'] = (wanted) => ({
    ...TURN_SETTINGS,
    graceMs: 200,
    pausesMs: [1, 1],
    ...wanted.settings,
  })

  return {
    a,
    folder,
    ports,
    settings,
    start: ({ limits, ...input } = {}) =>
      a.start({ definition: testDefinition('assistant'), budget: { ...DEFAULT_BUDGET, ...limits }, ...input }),
    work: async (id, wanted) => {
      const workerId = wanted.workerId ?? 'worker'
      const claim = await holds.claimByJob(jobTransaction(a.t), id, { workerId, leaseMs: 60_000 })
      if (claim === null) throw new Error(`session ${id} could not be taken`)
      const deps = {
        ports: ports(wanted),
        settings: settings(wanted),
        leaseMs: 60_000,
        onBegun: () => {},
        isLeaving: wanted.isLeaving ?? (() => false),
      }
      const held = new HeldSession(wanted.app ?? app, deps, { ...claim, workerId })
      wanted.onHeld?.(held)
      return await held.run()
    },
    lose: async (id) => {
      const { workspaceId, attempt } = await a.session(id)
      return await a.unit((unit) => loseWorker(unit, { sessionId: id, workspaceId, attempt }))
    },
    journal: a.journal,
    checkJournal: async (id) => checkJournal(await a.journal(id)),
    [Symbol.asyncDispose]: async () => {
      await a[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function emptyCheckout(root: string): Promise<OpenedCheckout> {
  await mkdir(join(root, 'tree'), { recursive: true })
  return {
    root,
    folder: join(root, 'tree'),
    gitFolder: join(root, 'git'),
    baseCommit: 'c0ffee'.padEnd(40, '0'),
    branch: 'agent/test/work',
    keep: async () => ({ key: '', notes: [] }),
    forget: async () => {},
    drop: () => rm(root, { recursive: true, force: true }),
  }
}

export function checkJournal(events: readonly AgentEvent[]): void {
  const faults: string[] = []
  const calls = events.flatMap((one) => (one.kind === 'assistant' ? one.calls : []))
  for (const { id } of calls) {
    const ends = events.filter((one) => one.kind === 'tool_end' && one.call === id).length
    const starts = events.filter((one) => one.kind === 'tool_start' && one.call === id).length
    if (ends !== 1) faults.push(`call ${id} has ${ends} results`)
    if (starts > 1) faults.push(`call ${id} began ${starts} times`)
  }
  if (new Set(calls.map((one) => one.id)).size !== calls.length) faults.push('two calls have the same id')
  for (const [at, event] of events.entries()) {
    if (event.seq !== at + 1) faults.push(`record ${at + 1} has the number ${event.seq}`)
    if (at > 0 && event.ts <= events[at - 1]!.ts) faults.push(`record ${event.seq} is not later than the one before it`)
  }
  if (faults.length > 0) throw new Error(`the journal is broken: ${faults.join(', ')}`)
}

export class Crash extends Error {}

export interface DyingApp extends App {
  readonly died: boolean
  /** Now. */
  kill(): void
}

/** As a process that is killed before, or after, its n-th transaction: nothing reaches the database from then on. */
export function dying(app: App, at: { readonly n: number; readonly when: 'before' | 'after' }): DyingApp {
  const state = { count: 0, died: false }
  const execute = async (work: (tx: never) => Promise<unknown>): Promise<unknown> => {
    if (state.died) throw new Crash()
    const isLast = ++state.count === at.n
    if (isLast && at.when === 'before') state.died = true
    if (state.died) throw new Crash()
    const result = await app.db.transaction().execute(work as never)
    if (isLast) state.died = true
    if (state.died) throw new Crash()
    return result
  }
  const db = new Proxy(app.db, {
    get: (target, name) => {
      if (name === 'transaction') return () => ({ execute })
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as Db
  return {
    ...app,
    db,
    clock: { now: () => new Date() },
    kill: () => {
      state.died = true
    },
    get died() {
      return state.died
    },
  }
}
