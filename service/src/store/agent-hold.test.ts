import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { jobTransaction, type TestAgents, testAgents } from '../../test/support/agent-sessions.ts'
import { waitFor } from '../../test/support/runs.ts'
import type { AgentEventBody } from '../domain/agent-session.ts'
import * as events from './agent-events.ts'
import * as holds from './agent-hold.ts'
import * as sessions from './agent-sessions.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const by = (workerId: string): holds.Claimer => ({ workerId, leaseMs: 60_000 })
const note: AgentEventBody = { kind: 'note', text: 'n', startup: false }
const answer = (text = 'Hi.'): AgentEventBody => ({
  kind: 'assistant',
  text,
  calls: [],
  usage: null,
  model: 'scripted',
})
/** So that a test meets only what it made. */
const takeAll = () => holds.claimWaiting(a.t.app.db, 1000, by('broom'))

test('of many workers that take at once each session goes to one, at attempt one', async () => {
  await takeAll()
  const ids = await Promise.all(Array.from({ length: 8 }, () => a.trigger()))
  const claims = await Promise.all(
    Array.from({ length: 4 }, (_, at) => holds.claimWaiting(a.t.app.db, 3, by(`many-${at}`))),
  )
  const taken = [...claims.flat(), ...(await holds.claimWaiting(a.t.app.db, 100, by('rest')))]
  assert.deepEqual(taken.map((one) => one.sessionId).sort(), ids.toSorted())
  assert.ok(taken.every((one) => one.attempt === 1 && one.workspaceId === a.workspace.id))
})

test('a worker takes as many as it asks for and no more, the oldest first', async () => {
  await takeAll()
  const ids: string[] = []
  for (let count = 0; count < 6; count++) ids.push(await a.trigger())
  const taken = await holds.claimWaiting(a.t.app.db, 2, by('two'))
  assert.deepEqual(taken.map((one) => one.sessionId).sort(), ids.slice(0, 2).sort())
  assert.equal((await holds.claimWaiting(a.t.app.db, 100, by('rest'))).length, 4)
})

test('of two workers with the same job one gets the session', async () => {
  const id = await a.trigger()
  const both = await Promise.all(['one', 'two'].map((name) => holds.claimByJob(jobTransaction(a.t), id, by(name))))
  assert.equal(both.filter((claim) => claim !== null).length, 1)
})

test('what a stale worker writes is refused and leaves nothing', async () => {
  const { db } = a.t.app
  const id = await a.trigger()
  const stale = await a.take(id, 'stale')
  const lost = await a.unit((unit) => holds.lose(unit.db, stale))
  assert.deepEqual(lost, { losses: 1 })
  const fresh = await a.take(id, 'fresh')
  assert.equal(fresh.attempt, stale.attempt + 1)
  const before = await a.journal(id)
  for (const wrong of [stale, { ...fresh, workerId: 'other' }, { ...fresh, attempt: fresh.attempt + 1 }]) {
    await assert.rejects(events.append(db, wrong, [answer()]), events.LostSession)
    await assert.rejects(events.append(db, wrong, []), events.LostSession)
    await assert.rejects(holds.setFiles(db, wrong, { branch: 'x' }), events.LostSession)
    await assert.rejects(holds.release(db, wrong, { waiting: false }), events.LostSession)
    await assert.rejects(holds.readHeld(db, wrong), events.LostSession)
    assert.equal(await holds.begin(db, wrong, 1000), null)
    assert.equal((await holds.renew(db, wrong.workerId, [wrong], 1000)).size, 0)
  }
  const elsewhere = await a.t.workspace()
  await assert.rejects(events.append(db, { ...fresh, workspaceId: elsewhere.id }, [answer()]), events.LostSession)
  assert.deepEqual(await a.journal(id), before)
  await events.append(db, fresh, [answer()])
  assert.deepEqual([...(await holds.renew(db, 'fresh', [fresh], 1000))], [id])
})

test('a turn is begun once, and its journal says so once', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const running = async () => (await a.journal(id)).filter((one) => one.kind === 'status' && one.status === 'running')
  assert.equal((await running()).length, 1)
  assert.equal((await holds.begin(a.t.app.db, hold, 60_000))?.fresh, false)
  await a.unit((unit) => holds.release(unit.db, hold, { waiting: false }))
  await a.take(id, 'next')
  assert.equal((await running()).length, 1)
})

test('the start of a turn waits for the transaction that takes it, and does not happen when that is undone', async () => {
  const { db } = a.t.app
  const id = await a.trigger()
  const hold = { sessionId: id, workspaceId: a.workspace.id, attempt: 1, workerId: 'undone' }
  let begun: ReturnType<typeof holds.begin> | undefined
  const claim = (end: 'commit' | 'undo') =>
    db.transaction().execute(async (tx) => {
      await holds.claimWaiting(tx, 1000, by('undone'))
      begun = db.transaction().execute((other) => holds.begin(other, hold, 60_000))
      // Until the other one stands in line.
      const isWaiting = sql<{ yes: boolean }>`select exists (select 1 from pg_locks where not granted) as yes`
      await waitFor('the lock', async () => (await isWaiting.execute(tx)).rows[0]!.yes)
      if (end === 'undo') throw new Error('undone')
    })
  await claim('undo').catch(() => {})
  assert.equal(await begun!, null)
  await claim('commit')
  assert.equal((await begun!)?.fresh, true)
})

test('a session that waits for a child is taken by nobody until it is woken', async () => {
  const { db } = a.t.app
  await takeAll()
  const id = await a.trigger()
  const hold = await a.take(id)
  const { seq } = (await a.journal(id)).at(-1)!
  // Something came in since: it would be slept through.
  assert.equal(await a.unit((unit) => holds.release(unit.db, hold, { waiting: true, seen: seq - 1 })), false)
  assert.equal((await holds.renew(db, hold.workerId, [hold], 60_000)).size, 1)
  assert.equal(await a.unit((unit) => holds.release(unit.db, hold, { waiting: true, seen: seq })), true)
  assert.deepEqual(await holds.claimWaiting(db, 10, by('early')), [])
  assert.equal(await holds.claimByJob(jobTransaction(a.t), id, by('early')), null)
  assert.equal((await a.session(id)).status, 'running')
  assert.equal(await sessions.wake(db, a.workspace.id, id), true)
  assert.equal(await sessions.wake(db, a.workspace.id, id), false)
  assert.deepEqual(await holds.claimWaiting(db, 10, by('woken')), [
    { sessionId: id, workspaceId: a.workspace.id, attempt: 2 },
  ])
})

test('one that waited too long for its first or a later turn is taken by nobody', async () => {
  const { db } = a.t.app
  await takeAll()
  const [first, later] = [await a.trigger(), await a.trigger()]
  await sql`update agent_session set turn = 2 where id = ${later}`.execute(db)
  await Promise.all([first, later].map((id) => a.age(id, 16 * 60_000)))
  assert.deepEqual(
    (await holds.claimWaiting(db, 10, by('late'))).map((one) => one.sessionId),
    [later],
  )
  assert.equal(await holds.claimByJob(jobTransaction(a.t), first, by('late')), null)
})

test('losses count while the journal stands still, whatever is noted or sent meanwhile', async () => {
  const { db } = a.t.app
  const id = await a.trigger()
  const losses: number[] = []
  for (const bodies of [
    [],
    [note],
    [{ kind: 'user_message', text: 'Well?', author: 'user', name: '' } as const],
    [answer()],
  ]) {
    const hold = await a.take(id)
    await events.append(db, hold, bodies)
    losses.push((await a.unit((unit) => holds.lose(unit.db, hold)))!.losses)
    assert.equal(await a.unit((unit) => holds.lose(unit.db, hold)), null, 'once for each attempt')
  }
  assert.deepEqual(losses, [1, 2, 3, 1])
})

test('a worker that was heard of again is not lost', async () => {
  const { db } = a.t.app
  const id = await a.trigger()
  const hold = await a.take(id, 'alive')
  await a.age(id, 120_000)
  const find = async () =>
    (await holds.listLeases(db, { after: null, limit: 1000 })).find((one) => one.sessionId === id)!
  const seen = await find()
  assert.ok(seen.leftMs < 0)
  await holds.renew(db, 'alive', [hold], 60_000)
  assert.equal(await a.unit((unit) => holds.lose(unit.db, seen)), null)
  assert.ok((await find()).leftMs > 0)
  assert.ok((await holds.listHolders(db)).includes('alive'))
  assert.deepEqual(await holds.listHeldBy(db, 'alive'), [
    { sessionId: id, workspaceId: a.workspace.id, attempt: hold.attempt, stopRequested: false },
  ])
})

test('a job says that a session waits, with the transaction that makes it so, and is done when the session is taken', async () => {
  await using real = await testAgents({ queue: 'real' })
  const taken: string[] = []
  const worker = await real.t.queue!.workTransactional('agent-turn', async (data, tx) => {
    const { sessionId } = data as { sessionId: string }
    if ((await holds.claimByJob(tx, sessionId, by('by job'))) !== null) taken.push(sessionId)
  })
  const id = await real.trigger()
  await waitFor('the job', () => taken.includes(id))
  await waitFor('its commit', async () => (await real.session(id)).status === 'running')
  await worker.stop()
})
