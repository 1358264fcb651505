/** Clients that trigger, cancel and retry runs at a steady pace, and remember what became of every request. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Target } from './load.ts'
import type { Random } from './random.ts'
import type { Ends, RunHistory, RunOp } from './run-history.ts'
import { type Answer, graphql } from './service.ts'
import { COMMANDS } from './witness.ts'

export interface RunLoadOptions {
  readonly key: string
  readonly workspaceUid: string
  /** Slugs of schedules. */
  readonly schedules: readonly string[]
  readonly target: Target
  readonly history: RunHistory
  /** Of runs as the interface shows them. */
  readonly ends: Ends
  readonly random: Random
  readonly clients: number
  /** Of all clients together. */
  readonly perSecond: number
}

export interface RunLoad {
  /** Ends every client after what it is doing; the target must be open. */
  stop(): Promise<void>
}

const TRIGGER = `mutation ($slug: String, $commands: [String!], $reason: String, $prNumber: Int) {
  triggerBoltRun(slug: $slug, commands: $commands, reason: $reason, prNumber: $prNumber) { ok runId } }`
const DOCUMENTS = {
  trigger: TRIGGER,
  cancel: 'mutation ($about: Int!) { cancelBoltRun(scheduleRunId: $about) { ok } }',
  retry: 'mutation ($about: Int!) { retryAllBoltRun(scheduleRunId: $about) { ok runId } }',
} as const
const LIST = '{ listBoltRuns(offset: 0, limit: 100) { runs { id state endDttm } } }'

export function startRunLoad(options: RunLoadOptions): RunLoad {
  const { target, history, random } = options
  let ending = false
  const every = (1000 * options.clients) / options.perSecond
  const clients = Array.from({ length: options.clients }, async (_, id) => {
    const make = maker(options, id)
    let open: RunOp | null = null
    while (!ending || open !== null) {
      const url = await target.url()
      if (!target.isOpen) continue
      if (open === null && random.chance(0.1)) await look(options, url)
      open ??= make()
      if (open.sent === 0 && !history.ops.includes(open)) history.ops.push(open)
      await send(options, url, open)
      // Only what can be told apart from a second one is sent again.
      const again: boolean = open.outcome === 'waiting' || (open.idempotencyKey !== null && open.outcome === 'unknown')
      if (again) {
        await pause(20)
        continue
      }
      open = null
      await pause(random.next() * 2 * every)
    }
  })
  return {
    stop: async () => {
      ending = true
      await Promise.all(clients)
    },
  }
}

function maker({ random, schedules, history }: RunLoadOptions, client: number): () => RunOp {
  let made = 0
  const mine: number[] = []
  return () => {
    const name = `storm-${client}-${++made}`
    const idempotencyKey = random.chance(0.8) ? name : null
    const blank = { reason: '', slug: '', commands: null, prNumber: null, about: 0, idempotencyKey } as const
    const state = { outcome: 'waiting' as const, sent: 0, runId: 0 }
    const last = history.ops.findLast((op) => op.reason.startsWith(`storm-${client}-`))
    if (last !== undefined && last.runId > 0 && mine.at(-1) !== last.runId) mine.push(last.runId)
    // A cancel meets a young run, a retry an old one.
    if (mine.length > 0 && random.chance(0.1)) return { kind: 'cancel', ...blank, ...state, about: mine.at(-1)! }
    if (mine.length > 4 && random.chance(0.1)) return { kind: 'retry', ...blank, ...state, about: mine.shift()! }
    const commands = random.chance(0.3) ? [COMMANDS.short, random.pick(Object.values(COMMANDS))] : null
    const prNumber = random.chance(0.1) ? random.between(1, 3) : null
    return { kind: 'trigger', ...blank, ...state, reason: name, slug: random.pick(schedules), commands, prNumber }
  }
}

async function send(options: RunLoadOptions, url: string, op: RunOp): Promise<void> {
  const { history, random } = options
  const answer = await ask(options, url, op)
  if (answer === 'not sent') return
  op.sent++
  if (answer === 'no answer') {
    op.outcome = 'unknown'
    return
  }
  judge(history, op, answer)
  if (answer.status === 503) await pause(random.between(20, 60))
  if (op.outcome !== 'ok' || op.idempotencyKey === null || !random.chance(0.1)) return
  const second = await ask(options, url, op)
  if (typeof second === 'string' || second.status === 503) return
  history.repeated++
  if (runIdOf(second) !== op.runId) history.repeatedDifferently.push(`${nameOf(op)}: ${op.runId}, then ${text(second)}`)
}

export const nameOf = (op: RunOp): string => `${op.kind} ${op.reason || op.about}`
const text = ({ status, body }: Answer): string => `${status} ${JSON.stringify(body).slice(0, 300)}`

function runIdOf({ body }: Answer): number {
  const [field] = Object.values(body.data ?? {}) as ({ ok?: boolean; runId?: number } | null)[]
  return body.errors === undefined && field?.ok === true ? (field.runId ?? 0) : -1
}

async function ask(options: RunLoadOptions, url: string, op: RunOp): Promise<Answer | 'not sent' | 'no answer'> {
  const { slug, commands, reason, prNumber, about } = op
  const variables = op.kind === 'trigger' ? { slug, commands, reason, prNumber } : { about }
  const headers = {
    'x-service-workspace': options.workspaceUid,
    ...(op.idempotencyKey !== null && { 'idempotency-key': op.idempotencyKey }),
  }
  try {
    return await graphql(url, options.key, DOCUMENTS[op.kind], variables, headers)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    return code === 'ECONNREFUSED' ? 'not sent' : 'no answer'
  }
}

function judge(history: RunHistory, op: RunOp, answer: Answer): void {
  const runId = runIdOf(answer)
  if (answer.status === 200 && runId >= 0) {
    op.outcome = 'ok'
    op.runId = runId
    return
  }
  op.outcome = answer.status >= 500 ? 'unknown' : 'refused'
  // A run may have ended before its cancel came, and may be going when somebody wants to retry it.
  const expected = op.kind !== 'trigger' && answer.body.errors?.[0]?.extensions?.code === 'CONFLICT'
  if (answer.status !== 503 && !expected) history.surprises.push(`${nameOf(op)}: ${text(answer)}`)
}

/** What the interface calls ended stays so. */
async function look({ key, workspaceUid, ends }: RunLoadOptions, url: string): Promise<void> {
  try {
    const { body } = await graphql(url, key, LIST, {}, { 'x-service-workspace': workspaceUid })
    const { runs } = (body.data?.listBoltRuns ?? { runs: [] }) as {
      runs: { id: number; state: string; endDttm: string | null }[]
    }
    const ended = runs.filter(({ state }) => state !== 'RUNNING')
    ends.note(ended.map(({ id, state, endDttm }) => ({ id: `run ${id}`, end: `${state} ${endDttm}` })))
  } catch {
    // It is being killed.
  }
}
