import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAgents, testAgents } from '../../../test/support/agent-sessions.ts'
import { waitFor } from '../../../test/support/runs.ts'
import type { App } from '../../app/context.ts'
import { startSessionLeases } from './session-leases.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(() => a[Symbol.asyncDispose]())

const TIMES = { leaseMs: 60_000, beatMs: 5, fenceMs: 45_000 }

/** A clock in the test's hands, and what the worker was told. */
function scene(app: App) {
  const told: string[] = []
  let now = 1000
  const leases = startSessionLeases(app, {
    ...TIMES,
    // The fence looks twenty times within its time, and at least twice a second.
    workerId: 'worker',
    onLost: (id, kind) => told.push(`${id} ${kind}`),
    monotonicMs: () => now,
  })
  return {
    told,
    leases,
    now: () => now,
    goOn: (ms: number) => {
      now += ms
    },
  }
}

const away: Pick<App, 'db'> = {
  get db(): never {
    throw new Error('no way to the database')
  },
}

test('a lease that cannot be renewed is given up before it runs out, and not sooner', async () => {
  const app = Object.defineProperty({ ...a.t.app }, 'db', Object.getOwnPropertyDescriptor(away, 'db')!) as App
  const { told, leases, now, goOn } = scene(app)
  try {
    leases.hold({ sessionId: 'one', attempt: 1, since: now() })
    goOn(TIMES.fenceMs - 1)
    const warned = a.t.lines.length
    await waitFor('renewals that failed', () => a.t.lines.length > warned + 3)
    assert.deepEqual(told, [])
    goOn(1)
    await waitFor('the fence', () => told.length === 1)
    assert.deepEqual(told, ['one fenced'])
  } finally {
    leases.stop()
  }
})

test('a lease that is renewed stays, and one of a session that ended is told as lost', async () => {
  const id = await a.trigger()
  const { attempt } = await a.take(id, 'worker')
  const { told, leases, now, goOn } = scene(a.t.app)
  const leaseOf = async (): Promise<number> =>
    (
      await a.t.app.db.selectFrom('agent_session').select('lease_until').where('id', '=', id).executeTakeFirst()
    )?.lease_until?.valueOf() ?? 0
  try {
    leases.hold({ sessionId: id, attempt, since: now() })
    for (let beat = 0; beat < 8; beat++) {
      const lease = await leaseOf()
      goOn(TIMES.fenceMs / 4)
      await waitFor('a renewal', async () => (await leaseOf()) > lease)
    }
    assert.deepEqual(told, [])
    await a.end(id, 'stopped')
    await waitFor('the loss', () => told.length === 1)
    assert.deepEqual(told, [`${id} lost`])
  } finally {
    leases.stop()
  }
})
