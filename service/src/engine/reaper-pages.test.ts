// Rows that cannot be ended stand in nobody's way.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { otherHost, type TestRuns, testRuns } from '../../test/support/runs.ts'
import { reaper } from './reaper.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

/** More than one page, and more than one look tries. */
const MANY = 150
const LEASE_MS = 60_000

test('a lost run is ended at the first look although many older ones cannot be; those are tried ever more rarely', async () => {
  const owner = r.t.database.owner.kysely
  const poison = await r.trigger(await r.schedule({ overlap: 'allow' }))
  // A sequence keeps its count although the transaction is undone.
  await sql`create sequence tried`.execute(owner)
  await sql`create function refuse_end() returns trigger language plpgsql security definer as
    'begin perform nextval(''yardmaster.tried''); raise exception ''this run cannot be ended''; end'`.execute(owner)
  await sql`create trigger refuse_end before update on run for each row when (old.detail = 'poison')
    execute function refuse_end()`.execute(owner)
  await sql`insert into run (workspace_id, schedule_id, environment_id, cause, state, detail, actor, branch, attempt,
      worker_id, lease_until)
    select workspace_id, schedule_id, environment_id, cause, 'running', 'poison', actor, branch, 1, 'gone',
      clock_timestamp() - interval '1 hour' from run, generate_series(1, ${MANY}) where id = ${poison}`.execute(owner)
  const lost = await r.trigger(await r.schedule())
  await sql`update run set state = 'running', attempt = 1, worker_id = 'gone',
    lease_until = clock_timestamp() - interval '1 minute' where id = ${lost}`.execute(owner)
  const tried = async (): Promise<number> => {
    const { rows } = await sql<{ last: number }>`select last_value as last from tried`.execute(owner)
    return rows[0]!.last
  }

  const clock = { now: 0 }
  const monotonicMs = () => clock.now
  const { runOnce } = reaper(r.t.app, { host: otherHost(), leaseMs: LEASE_MS, quietMs: 0, place: null, monotonicMs })
  await runOnce()
  assert.equal((await r.run(lost)).state, 'failed')
  assert.equal(await tried(), 100)
  await runOnce()
  assert.equal(await tried(), MANY)
  await runOnce()
  assert.equal(await tried(), MANY, 'what just failed is left alone')
  clock.now += 1001
  await runOnce()
  await runOnce()
  assert.equal(await tried(), 2 * MANY)
  clock.now += 1001
  await runOnce()
  assert.equal(await tried(), 2 * MANY, 'the pause grows')
})

test('a run of a worker that has just died is ended a moment later: its commands are dying too', async () => {
  const id = await r.trigger(await r.schedule())
  const owner = r.t.database.owner.kysely
  await sql`update run set state = 'running', attempt = 1, worker_id = 'dead', lease_until = clock_timestamp()
    where id = ${id}`.execute(owner)
  let seen = ''
  const isDead = async () => {
    const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(owner)
    seen = rows[0]!.now
    return true
  }
  await reaper(r.t.app, { host: { self: 'me', isDead }, leaseMs: LEASE_MS, place: null }).runOnce()
  const { rows } = await sql<{ state: string; ms: number }>`select state,
    extract(epoch from ended_at - ${seen}::timestamptz)::float8 * 1000 as ms from run where id = ${id}`.execute(owner)
  assert.equal(rows[0]!.state, 'failed')
  assert.ok(rows[0]!.ms >= 490, `${rows[0]!.ms} ms`)
})
