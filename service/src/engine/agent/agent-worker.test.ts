import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { type AskedModel, call, plan, type TestLoop, testLoop, testTool } from '../../../test/support/agent-loop.ts'
import { otherHost, waitFor } from '../../../test/support/runs.ts'
import { stopAgent } from '../../app/agent-sessions.ts'
import type { App } from '../../app/context.ts'
import type { AgentStatus } from '../../domain/agent-session.ts'
import type { HostProcesses } from '../../ports/host-processes.ts'
import type { Db } from '../../store/database.ts'
import { type AgentWorker, startAgentWorker } from './agent-worker.ts'
import { agentReaper } from './reaper.ts'
import type { Tool } from './tools/tool.ts'
import { said } from './tools/tool.ts'

let loop: TestLoop
const workers: AgentWorker[] = []
before(async () => {
  loop = await testLoop({ queue: 'real' })
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((one) => one.stop()))
})
after(() => loop[Symbol.asyncDispose]())

interface Wanted {
  readonly model?: AskedModel
  readonly tools?: readonly Tool[]
  readonly host?: HostProcesses
  readonly slots?: number
  readonly leaseMs?: number
  readonly drainMs?: number
  readonly app?: Partial<App>
}

async function worker(wanted: Wanted = {}): Promise<AgentWorker> {
  const { t } = loop.a
  const options = { model: wanted.model ?? plan({ text: 'Done.' }), tools: wanted.tools ?? [] }
  const app = { ...t.app, clock: { now: () => new Date() }, ...wanted.app }
  const started = await startAgentWorker(app, {
    queue: t.queue!,
    connection: t.database.connection,
    host: wanted.host ?? otherHost(),
    slots: wanted.slots ?? 4,
    ports: loop.ports(options),
    settings: loop.settings(options),
    leaseMs: wanted.leaseMs ?? 60_000,
    pollMs: 50,
    drainMs: wanted.drainMs ?? 2000,
    log: t.app.log,
  })
  workers.push(started)
  return started
}

const until = (id: string, status: AgentStatus): Promise<boolean> =>
  waitFor(`session ${id} to be ${status}`, async () => (await loop.a.status(id)) === status)

const hang = ({ signal }: { signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

test('of two workers one takes each session, by its job or by looking, and none is worked on twice', async () => {
  let asked = 0
  const model: AskedModel = () => ({ text: `answer ${++asked}` })
  await worker({ model })
  await worker({ model })
  const ids = await Promise.all(Array.from({ length: 20 }, () => loop.start()))
  for (const id of ids) await until(id, 'completed')
  assert.equal(asked, 20)
  for (const id of ids) {
    await loop.checkJournal(id)
    assert.equal((await loop.a.session(id)).attempt, 1)
  }
})

test('a session whose job was lost is found by looking', async () => {
  const id = await loop.start()
  await sql`delete from pgboss.job where name = 'agent-turn'`.execute(loop.a.t.app.db)
  await worker()
  await until(id, 'completed')
})

test('no more sessions are taken than there are slots, and a slot that is free is used at once', async () => {
  const gates: (() => void)[] = []
  const model: AskedModel = async () => {
    await new Promise<void>((resolve) => gates.push(resolve))
    return { text: 'Done.' }
  }
  const one = await worker({ model, slots: 2 })
  const ids = [await loop.start(), await loop.start(), await loop.start()]
  await waitFor('two questions', () => gates.length === 2)
  assert.equal(one.going, 2)
  gates[0]!()
  await waitFor('the third question', () => gates.length === 3)
  for (const open of gates) open()
  for (const id of ids) await until(id, 'completed')
})

test('a stop reaches a tool and a model in the middle', async () => {
  for (const isModel of [false, true]) {
    const began = Promise.withResolvers<AbortSignal>()
    const wait = ({ signal }: { signal: AbortSignal }): Promise<never> => {
      began.resolve(signal)
      return hang({ signal })
    }
    const model: AskedModel = isModel
      ? (_, signal) => wait({ signal })
      : plan({ calls: [call('run_terminal_command')] }, { text: 'never' })
    // Leases are renewed too seldom here to tell of it.
    const one = await worker({ model, tools: [testTool('run_terminal_command', wait)], leaseMs: 900_000 })
    const id = await loop.start()
    const signal = await began.promise
    assert.deepEqual(await stopAgent(loop.a.ctx, { sessionId: id }), { status: 'stopped' })
    await waitFor('the work to stop', () => signal.aborted && one.going === 0)
    await loop.checkJournal(id)
    await one.stop()
  }
})

test('a worker that is stopped gives its sessions back, and another one goes on at the next record', async () => {
  const began = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const ran: string[] = []
  const tool = testTool('trigger_bolt_run', async ({ call: of }) => {
    ran.push(of)
    began.resolve()
    await release.promise
    return said('run')
  })
  const model = plan({ calls: [call('trigger_bolt_run')] }, { text: 'Done.' })
  const first = await worker({ model, tools: [tool] })
  const id = await loop.start()
  await began.promise
  const stopped = first.stop()
  release.resolve()
  await stopped
  await waitFor('the result', async () => (await loop.journal(id)).some((one) => one.kind === 'tool_end'))
  assert.equal(await loop.a.status(id), 'running')
  await worker({ model, tools: [tool] })
  await until(id, 'completed')
  assert.deepEqual(ran, ['call_1'])
  await loop.checkJournal(id)
})

test('a worker that cannot renew its leases stops its work', async () => {
  let isCut = false
  const { app } = loop.a.t
  const db = new Proxy(app.db, {
    get: (target, name) => {
      // Only the renewals of leases are cut off: everything else goes through transactions or the executor of another.
      const value = Reflect.get(target, name, target) as unknown
      if (name === 'getExecutor' && isCut) {
        return () => {
          throw new Error('no way to the database')
        }
      }
      return typeof value === 'function' ? value.bind(target) : value
    },
  }) as Db
  const began = Promise.withResolvers<AbortSignal>()
  const tool = testTool('run_terminal_command', ({ signal }) => {
    began.resolve(signal)
    return hang({ signal })
  })
  const model = plan({ calls: [call('run_terminal_command')] }, { text: 'never' })
  await worker({ model, tools: [tool], leaseMs: 1500, app: { db } })
  const id = await loop.start()
  const signal = await began.promise
  isCut = true
  await waitFor('the work to stop', () => signal.aborted)
  isCut = false
  await loop.lose(id)
  await stopAgent(loop.a.ctx, { sessionId: id })
})

test('sessions of a worker that is gone are given on, at once on the same host and by the lease elsewhere', async () => {
  const model = plan({ calls: [call('trigger_bolt_run')] }, { text: 'Done.' })
  for (const isKnown of [true, false]) {
    const id = await loop.start()
    await loop.a.take(id, isKnown ? 'dead-here' : 'dead-elsewhere')
    const real = otherHost()
    const host: HostProcesses = { ...real, isDead: async (one) => one === 'dead-here' }
    let now = 0
    const reaper = agentReaper(loop.a.t.app, { host, leaseMs: 60_000, quietMs: 0, place: null, monotonicMs: () => now })
    await reaper.runOnce()
    assert.equal((await holderOf(id)) === null, isKnown)
    now = 60_001
    await reaper.runOnce()
    assert.equal(await holderOf(id), null)
    const one = await worker({ model, tools: [testTool('trigger_bolt_run')] })
    await until(id, 'completed')
    await one.stop()
  }
})

test('a lease that moves is no lost worker', async () => {
  const id = await loop.start()
  await loop.a.take(id, 'alive')
  let now = 0
  const deps = { host: otherHost(), leaseMs: 60_000, quietMs: 0, place: null, monotonicMs: () => now }
  const reaper = agentReaper(loop.a.t.app, deps)
  for (; now < 300_000; now += 30_000) {
    await sql`update agent_session set lease_until = lease_until + interval '1 second' where id = ${id}`.execute(
      loop.a.t.app.db,
    )
    await reaper.runOnce()
  }
  assert.equal(await holderOf(id), 'alive')
  await stopAgent(loop.a.ctx, { sessionId: id })
})

test('a first turn that nobody began in fifteen minutes expires, a later one fails after sixty', async () => {
  const reaper = agentReaper(loop.a.t.app, { host: otherHost(), leaseMs: 60_000, quietMs: 0, place: null })
  const id = await loop.start()
  await loop.a.age(id, 14 * 60_000)
  await reaper.runOnce()
  assert.equal(await loop.a.status(id), 'queued')
  await loop.a.age(id, 2 * 60_000)
  await reaper.runOnce()
  assert.equal(await loop.a.status(id), 'expired')
})

const holderOf = async (id: string): Promise<string | null> => {
  const { rows } = await sql<{
    worker: string | null
  }>`select worker_id as worker from agent_session where id = ${id}`.execute(loop.a.t.app.db)
  return rows[0]!.worker
}
