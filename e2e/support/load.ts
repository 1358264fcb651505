/** Clients that send mutations, each with an effect of its own, and remember what became of every one. */
import { setTimeout as pause } from 'node:timers/promises'
import type { History, Kind, Op } from './history.ts'
import type { Random } from './random.ts'
import type { ServiceProcess } from './service.ts'
import { type Answer, graphql } from './service.ts'

export interface Worker {
  readonly id: number
  readonly key: string
  /** May do what concerns the whole account. */
  readonly wholeAccount: boolean
  readonly workspaceUid: string
  /** A person that only this client changes, so that the order of changes is known. */
  readonly personUid: string
}

/** Where the service is, and whether it is a time to send. */
export class Target {
  #url: string | null = null
  #opened = Promise.withResolvers<string>()

  open({ url }: Pick<ServiceProcess, 'url'>): void {
    this.#url = url
    this.#opened.resolve(url)
  }

  close(): void {
    if (this.#url === null) return
    this.#url = null
    this.#opened = Promise.withResolvers<string>()
  }

  /** The address as soon as there is one. */
  url(): Promise<string> {
    return this.#opened.promise
  }

  get isOpen(): boolean {
    return this.#url !== null
  }
}

/** More than can be unknown in a row, so that no change is ever one to the account type that is there already. */
const ROLES = [
  'DEVELOPER',
  'BUSINESS',
  'ANALYST',
  'WORKSPACE_SETTINGS_ADMIN',
  'SECURITY_ADMIN',
  'BILLING_ADMIN',
  'SANDBOX_USER',
] as const

const KINDS: readonly Kind[] = ['invite', 'invite', 'key', 'key', 'variable', 'variable', 'secret', 'role', 'role']
const KINDS_OF_ACCOUNT: readonly Kind[] = [...KINDS, 'workspace']

const DOCUMENTS: Readonly<Record<Kind, string>> = {
  invite: 'mutation ($subject: String!) { inviteUser(email: $subject, accountType: ANALYST) { ok } }',
  workspace: 'mutation ($subject: String!) { createWorkspace(name: $subject) { ok workspace { uid } } }',
  key: `mutation ($subject: String!, $workspaceUid: String!) {
    createApiKey(key: { name: $subject, kind: WORKSPACE, workspaceUid: $workspaceUid }) { ok id key } }`,
  variable: 'mutation ($subject: String!) { setVariable(name: $subject, value: "1") { ok } }',
  secret:
    'mutation ($subject: String!) { setSecret(kind: VARIABLE, name: $subject, value: "as secret as any") { ok } }',
  role: 'mutation ($subject: String!, $to: UserAccountType!) { updateUserAccountType(uid: $subject, accountType: $to) { ok } }',
}

export interface LoadOptions {
  readonly workers: readonly Worker[]
  readonly target: Target
  readonly history: History
  readonly random: Random
  /** Told of every acknowledged mutation. */
  readonly onAcknowledged?: () => void
}

export interface Load {
  /** Resolves when no request is under way; call it with the target closed. */
  idle(): Promise<void>
  /** Ends every client after what it is doing; the target must be open. */
  stop(): Promise<void>
}

export function startLoad(options: LoadOptions): Load {
  const { target } = options
  let underWay = 0
  let ending = false
  let whenIdle = Promise.withResolvers<void>()
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    underWay++
    try {
      return await work()
    } finally {
      if (--underWay === 0) {
        whenIdle.resolve()
        whenIdle = Promise.withResolvers<void>()
      }
    }
  }
  const clients = options.workers.map(async (worker) => {
    const make = maker(worker, options.random)
    const remember = (op: Op): Op => {
      options.history.ops.push(op)
      return op
    }
    let open: Op | null = null
    while (!ending || open !== null) {
      const url = await target.url()
      if (!target.isOpen) continue
      open ??= remember(make())
      const op: Op = open
      await counted(() => send(options, worker, url, op))
      // Only what can be told apart from a second one is sent again.
      const again = op.idempotencyKey !== null && op.outcome === 'unknown'
      const never = op.outcome === 'waiting'
      open = again || never ? op : null
    }
  })
  return {
    idle: async () => {
      while (underWay > 0) await whenIdle.promise
    },
    stop: async () => {
      ending = true
      await Promise.all(clients)
    },
  }
}

function maker(worker: Worker, random: Random): () => Op {
  let made = 0
  let roles = 0
  return () => {
    const kind = random.pick(worker.wholeAccount ? KINDS_OF_ACCOUNT : KINDS)
    const name = `S${worker.id}_${++made}`
    const subject = kind === 'role' ? worker.personUid : kind === 'invite' ? `${name}@storm.example` : name
    const to = kind === 'role' ? ROLES[++roles % ROLES.length]! : ''
    const idempotencyKey = random.chance(1 / 3) ? `storm-${name}` : null
    const { workspaceUid } = worker
    return { kind, subject, to, workspaceUid, idempotencyKey, outcome: 'waiting', sent: 0, answer: '' }
  }
}

async function send({ history, random, ...options }: LoadOptions, worker: Worker, url: string, op: Op): Promise<void> {
  const answer = await ask(url, worker, op)
  if (answer === 'not sent') return
  op.sent++
  if (answer === 'no answer') {
    op.outcome = 'unknown'
    return
  }
  judge(history, op, answer)
  if (op.outcome !== 'ok') {
    // As a client would: not at once again.
    if (answer.status === 503) await pause(random.between(20, 60))
    return
  }
  options.onAcknowledged?.()
  if (op.idempotencyKey === null || !random.chance(0.1)) return
  const second = await ask(url, worker, op)
  if (typeof second === 'string' || second.status === 503) return
  history.repeated++
  const text = JSON.stringify(second.body)
  if (text !== op.answer) history.repeatedDifferently.push(`${op.kind} ${op.subject}: ${op.answer}, then ${text}`)
}

async function ask(url: string, worker: Worker, op: Op): Promise<Answer | 'not sent' | 'no answer'> {
  const { subject, to, workspaceUid } = op
  const headers = {
    'x-service-workspace': workspaceUid,
    ...(op.idempotencyKey !== null && { 'idempotency-key': op.idempotencyKey }),
  }
  try {
    return await graphql(url, worker.key, DOCUMENTS[op.kind], { subject, to, workspaceUid }, headers)
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    return code === 'ECONNREFUSED' ? 'not sent' : 'no answer'
  }
}

function judge(history: History, op: Op, { status, body }: Answer): void {
  const [field] = Object.values(body.data ?? {}) as ({ ok?: boolean } | null)[]
  if (status === 200 && body.errors === undefined && field?.ok === true) {
    op.outcome = 'ok'
    op.answer = JSON.stringify(body)
    return
  }
  op.outcome = status >= 500 ? 'unknown' : 'refused'
  if (status !== 503)
    history.surprises.push(`${op.kind} ${op.subject}: ${status} ${JSON.stringify(body).slice(0, 300)}`)
}
