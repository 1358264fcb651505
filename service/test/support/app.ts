// The service without its edges, over a database of its own: real statements, a queue that only remembers, a clock and
// a log that a test can hold. Every maker has good defaults, so that a test names what it is about and nothing else.
import { randomBytes } from 'node:crypto'
import type { App, AppSettings, Context } from '../../src/app/context.ts'
import { systemContext } from '../../src/app/context.ts'
import type { CreatedKey } from '../../src/app/keys.ts'
import { createApiKey, createPersonalKey } from '../../src/app/keys.ts'
import { openMail } from '../../src/app/mail.ts'
import { RefusalRecorder } from '../../src/app/refusals.ts'
import type { AccountType } from '../../src/domain/account-type.ts'
import type { KeyKind, WorkspaceRef } from '../../src/domain/actor.ts'
import type { AuditRow, EventType } from '../../src/domain/audit.ts'
import type { Capability } from '../../src/domain/capability.ts'
import { newUid } from '../../src/domain/ids.ts'
import { hashPassword } from '../../src/domain/password.ts'
import type { Mail } from '../../src/ports/mailer.ts'
import type { Clock, Log } from '../../src/ports/runtime.ts'
import * as accounts from '../../src/store/accounts.ts'
import * as audit from '../../src/store/audit.ts'
import type { Person } from '../../src/store/people.ts'
import * as people from '../../src/store/people.ts'
import type { Queue, QueueName, QueueService } from '../../src/store/queue.ts'
import { openQueue } from '../../src/store/queue.ts'
import { Vault } from '../../src/store/vault.ts'
import * as workspaces from '../../src/store/workspaces.ts'
import type { TestDatabase } from './database.ts'
import { testDatabase } from './database.ts'

export interface TestAppOptions {
  readonly settings?: Partial<AppSettings>
  /** real: pg-boss in the test's database; otherwise jobs are kept in `jobs`, those of undone transactions too. */
  readonly queue?: 'recording' | 'real'
  readonly poolSize?: number
  /** Without the account row, as before the first start. */
  readonly empty?: boolean
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

export interface TestClock extends Clock {
  /** Moves the service's own clock; the database keeps its own. */
  advance(milliseconds: number): void
}

export interface NewKey {
  readonly kind?: KeyKind
  readonly name?: string
  /** For workspace keys and pairs; made when left out. */
  readonly workspace?: WorkspaceRef
  /** For personal keys; made, with a workspace, when left out. */
  readonly person?: Person
  readonly capabilities?: readonly Capability[]
  readonly client?: 'paradime'
  readonly expiresDays?: number
}

export interface TestApp extends AsyncDisposable {
  readonly app: App
  readonly database: TestDatabase
  readonly system: Context
  readonly clock: TestClock
  readonly jobs: readonly { readonly queue: QueueName; readonly data: object }[]
  readonly lines: readonly LogLine[]
  readonly refusals: RefusalRecorder
  /** The queue when it is the real one. */
  readonly queue: QueueService | null
  workspace(name?: string): Promise<WorkspaceRef>
  /** In no workspace yet, and without a password unless one is given. */
  person(options?: { email?: string; name?: string; password?: string }): Promise<Person>
  /** A person who is in the workspace with this account type. */
  member(
    workspace: WorkspaceRef,
    accountType?: AccountType,
    options?: { email?: string; name?: string; password?: string },
  ): Promise<Person>
  key(options?: NewKey): Promise<CreatedKey>
  /** The context of a person who is signed in, with the roles that they have now. */
  contextOf(person: Person, workspace?: WorkspaceRef | null): Promise<Context>
  /** The context of the service itself in a workspace. */
  inside(workspace: WorkspaceRef): Context
  /** What the recording queue holds of mail, oldest first, opened. */
  mails(): readonly Mail[]
  /** The audit log in order, or the records of one event. */
  records(event?: EventType): Promise<(AuditRow & { readonly data: Record<string, unknown> })[]>
  close(): Promise<void>
}

const MASTER_KEY = randomBytes(32)
const hashes = new Map<string, Promise<string>>()

/** A hash takes 50 ms, and tests use few passwords. */
function hashOnce(password: string): Promise<string> {
  const known = hashes.get(password) ?? hashPassword(password)
  hashes.set(password, known)
  return known
}

export function testClock(start = new Date('2026-03-02T09:00:00.000Z')): TestClock {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    advance: (milliseconds) => {
      now += milliseconds
    },
  }
}

export function recordingLog(lines: LogLine[], bound: object = {}): Log {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...bound, ...fields }, message })
  }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recordingLog(lines, { ...bound, ...fields }),
  }
}

export async function testApp(options: TestAppOptions = {}): Promise<TestApp> {
  const database = await testDatabase({ poolSize: options.poolSize ?? 5 })
  const lines: LogLine[] = []
  const jobs: { queue: QueueName; data: object }[] = []
  const clock = testClock()
  const log = recordingLog(lines)
  const real =
    options.queue === 'real'
      ? openQueue(database.connection, {
          mode: 'full',
          onError: (error) => log.error({ err: error }, 'the queue failed'),
        })
      : null
  try {
    await real?.start()
  } catch (error) {
    await database.close()
    throw error
  }
  const recording: Queue = {
    send: async (_tx, queue, data) => {
      jobs.push({ queue, data })
    },
    sendAll: async (_tx, queue, all) => {
      for (const data of all) jobs.push({ queue, data })
    },
  }
  const app: App = {
    db: database.db,
    vault: new Vault([MASTER_KEY]),
    queue: real ?? recording,
    clock,
    log,
    settings: {
      publicUrl: 'http://127.0.0.1:4400',
      sessionHours: 168,
      workspaceHeader: 'X-Service-Workspace',
      ...options.settings,
    },
  }
  if (!options.empty) await accounts.insert(app.db, 'Test account')
  const system = systemContext(app, 'test')
  let made = 0

  const inside = (workspace: WorkspaceRef): Context => systemContext(app, 'test', workspace)
  const workspace: TestApp['workspace'] = async (name) =>
    await workspaces.insert(app.db, { uid: newUid(), name: name ?? `Workspace ${++made}` })
  const person: TestApp['person'] = async ({ email, name, password } = {}) => {
    const number = ++made
    return await people.insert(app.db, {
      uid: newUid(),
      email: email ?? `person-${number}@example.com`,
      name: name ?? `Person ${number}`,
      passwordHash: password === undefined ? null : await hashOnce(password),
    })
  }
  const member: TestApp['member'] = async (place, accountType = 'DEVELOPER', who = {}) => {
    const joined = await person(who)
    await people.join(app.db, place.id, joined.id, accountType)
    return joined
  }
  const contextOf: TestApp['contextOf'] = async (who, place = null) => {
    const memberships = await people.memberships(app.db, who.id)
    const active = await workspaces.list(app.db, 'all')
    const administered = memberships.filter((one) => one.accountType === 'ADMIN').length
    const runsAccount = administered > 0 && administered === active.length
    return {
      ...app,
      actor: {
        kind: 'person',
        person: { id: who.id, email: who.email, name: who.name, memberships, runsAccount },
        sessionId: 0,
      },
      workspace: place,
      visible: runsAccount ? 'all' : memberships.map((one) => one.workspaceId),
      request: { id: 'test', address: '192.0.2.1' },
      idempotency: null,
    }
  }
  const key: TestApp['key'] = async (wanted = {}) => {
    const { kind = 'account' } = wanted
    const common = {
      name: wanted.name ?? `Key ${++made}`,
      capabilities: wanted.capabilities ?? null,
      expiresDays: wanted.expiresDays ?? null,
    }
    if (kind === 'personal') {
      const owner = wanted.person ?? (await member(await workspace(), 'ADMIN'))
      return await createPersonalKey(await contextOf(owner), common)
    }
    const bound = kind === 'account' ? null : (wanted.workspace ?? (await workspace()))
    const client = wanted.client ?? null
    return await createApiKey(system, { ...common, kind, workspaceUid: bound?.uid ?? null, client })
  }
  const close = async (): Promise<void> => {
    await real?.stop()
    await database.close()
  }

  return {
    app,
    database,
    system,
    clock,
    jobs,
    lines,
    refusals: new RefusalRecorder(app),
    queue: real,
    workspace,
    person,
    member,
    key,
    contextOf,
    inside,
    mails: () => jobs.filter((job) => job.queue === 'mail').map((job) => openMail(app, job.data)),
    records: async (event) =>
      (await audit.readChain(app.db, 0, 100_000))
        .filter((row) => event === undefined || row.eventType === event)
        .map((row) => ({ ...row, data: JSON.parse(row.metadata) as Record<string, unknown> })),
    close,
    [Symbol.asyncDispose]: close,
  }
}
