import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { callTool, contextFor, testSession, toolsOf } from '../../../../test/support/agent-service-tools.ts'
import { type TestRuns, testRuns } from '../../../../test/support/runs.ts'
import type { AgentSession, SessionActor } from '../../../domain/agent-session.ts'
import type { Capability } from '../../../domain/capability.ts'
import * as keys from '../../../store/keys.ts'
import { openLog } from '../../worker/log-shipper.ts'

let r: TestRuns
before(async () => {
  r = await testRuns()
})
after(async () => {
  await r[Symbol.asyncDispose]()
})

const ALL: Capability[] = ['dinoai:agent:trigger', 'bolt:schedules:admin', 'bolt:schedules:read']

async function keyed(capabilities: Capability[] = ALL): Promise<{ session: AgentSession; keyId: number }> {
  const made = await r.t.key({ kind: 'workspace', workspace: r.workspace, capabilities })
  const keyId = made.id
  const actor: SessionActor = { kind: 'key', keyId, name: made.name, email: '' }
  return { session: await testSession(r.t, r.workspace, { actor }), keyId }
}

const call = (session: AgentSession, name: string, input: Record<string, unknown>, id?: string) =>
  callTool(r.t, toolsOf(r.t, session), session, name, input, id === undefined ? {} : { call: id })

const runsOf = async (scheduleId: number): Promise<number> => {
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from run
    where schedule_id = ${scheduleId}`.execute(r.t.app.db)
  return rows[0]!.count
}

test('schedules are listed with their last run, by a text too', async () => {
  const { session } = await keyed()
  const schedule = await r.schedule({ commands: ['dbt build'] })
  const runId = await r.trigger(schedule)
  const nothing = JSON.stringify({ slack: [], email: [], teams: [] })
  await sql`update schedule set notifications = ${nothing}`.execute(r.t.app.db)
  const { text } = await call(session, 'list_bolt_schedules', { search: schedule.slug })
  const line = JSON.parse(text.split('\n')[1]!)
  assert.equal(line.slug, schedule.slug)
  assert.deepEqual(line.commands, ['dbt build'])
  assert.deepEqual([line.last_run.run_id, line.last_run.state], [runId, 'waiting'])
  assert.match((await call(session, 'list_bolt_schedules', { search: 'no such' })).text, /no such schedules/)
})

test('a repeated call with the same key starts one run, another call another one', async () => {
  const { session } = await keyed()
  const schedule = await r.schedule()
  const first = await call(session, 'trigger_bolt_run', { schedule: schedule.slug, reason: 'see' }, 'a1')
  const again = await call(session, 'trigger_bolt_run', { schedule: schedule.slug, reason: 'see' }, 'a1')
  assert.equal(again.text, first.text)
  assert.equal(await runsOf(schedule.id), 1)
  await call(session, 'trigger_bolt_run', { schedule: schedule.slug, reason: 'see' }, 'a2')
  assert.equal(await runsOf(schedule.id), 2)
  const id = Number(/Run (\d+)/.exec(first.text)![1])
  assert.match((await r.run(id)).reason, new RegExp(`^agent worker, session ${session.id}: see$`))
  const [record] = (await r.t.records('run_triggered')).filter((one) => one.data.run === id)
  assert.equal(record!.actorType, 'api_key')
})

test('neither commands nor a branch can be chosen: a run has the secrets of its environment', async () => {
  const { session } = await keyed()
  const schedule = await r.schedule()
  for (const more of [{ branch: `agent/${session.id}/x` }, { commands: ['env'] }, { commandConfigs: [] }]) {
    const { isError, text } = await call(session, 'trigger_bolt_run', { schedule: schedule.slug, ...more })
    assert.ok(isError && /no such argument/.test(text), text)
  }
  assert.equal(await runsOf(schedule.id), 0)
  // A tool that is called without its schema reads nothing else either.
  const tool = toolsOf(r.t, session).find((one) => one.name === 'trigger_bolt_run')!

  await tool.run(await contextFor(r.t, session), { schedule: schedule.slug, branch: 'evil', commands: ['env'] })
  const { rows } = await sql<{ branch: string; text: string }>`select r.branch, c.text from run r
    join command c on c.run_id = r.id where r.schedule_id = ${schedule.id} and c.kind = 'user'`.execute(r.t.app.db)
  assert.deepEqual(rows, [{ branch: 'main', text: 'true' }])
})

test('who may only read starts nothing, and the service itself neither', async () => {
  const schedule = await r.schedule()
  const old = await r.trigger(schedule)
  const { session: reader } = await keyed(['dinoai:agent:trigger', 'bolt:schedules:read'])
  const service = await testSession(r.t, r.workspace)
  for (const session of [reader, service]) {
    assert.ok(!(await call(session, 'get_run_status', { run_id: old })).isError)
    for (const [name, input] of [
      ['trigger_bolt_run', { schedule: schedule.slug }],
      ['retry_bolt_run', { run_id: old }],
    ] as const) {
      const { isError, text } = await call(session, name, input)
      assert.ok(isError && /does not hold the right/.test(text), text)
    }
  }
  assert.equal(await runsOf(schedule.id), 1)
})

test('a key that is revoked in the middle of a session stops its tools with the next call', async () => {
  const { session, keyId } = await keyed()
  const schedule = await r.schedule()
  assert.ok(!(await call(session, 'trigger_bolt_run', { schedule: schedule.slug }, 'b1')).isError)
  await keys.revoke(r.t.app.db, keyId, { visible: 'all' })
  for (const id of ['b1', 'b2']) {
    const { isError, text } = await call(session, 'trigger_bolt_run', { schedule: schedule.slug }, id)
    assert.ok(isError && /revoked/.test(text), text)
  }
  assert.ok((await call(session, 'list_bolt_schedules', {})).isError)
  assert.equal(await runsOf(schedule.id), 1)
})

test('runs and schedules of another workspace are not there', async () => {
  const { session } = await keyed()
  const other = await r.t.workspace()
  const stranger = await testSession(r.t, other, { actor: session.actor })
  const schedule = await r.schedule()
  const runId = await r.trigger(schedule)
  assert.ok((await call(stranger, 'get_run_status', { run_id: runId })).isError)
  const admin = await r.t.member(other, 'ADMIN')
  const elsewhere = await testSession(r.t, other, {
    actor: { kind: 'person', personId: admin.id, email: admin.email },
  })
  for (const [name, input] of [
    ['get_run_status', { run_id: runId }],
    ['get_bolt_run_logs', { run_id: runId }],
    ['retry_bolt_run', { run_id: runId }],
    ['trigger_bolt_run', { schedule: schedule.slug }],
  ] as const) {
    const { isError, text } = await call(elsewhere, name, input)
    assert.ok(isError && /^No (run|schedule)/.test(text), text)
  }
  assert.equal((await call(elsewhere, 'list_bolt_schedules', {})).text, 'There are no such schedules.')
})

test('the output of what failed is shown by its last lines and by a search', async () => {
  const { session } = await keyed()
  const schedule = await r.schedule()
  const runId = await r.trigger(schedule)
  const [, , user] = await r.commands(runId)

  const log = await openLog(r.t.app.db, user!.id, { secrets: [], signal: new AbortController().signal, capBytes: 1e6 })
  const lines = Array.from({ length: 300 }, (_, at) => `line ${at}${at === 7 ? ' needle' : ''}\n`).join('')
  await log.write('stdout', Buffer.from(lines))
  await log.finish()
  await sql`update command set state = 'failed' where id = ${user!.id}`.execute(r.t.app.db)
  const { text } = await call(session, 'get_bolt_run_logs', { run_id: runId, tail: 5 })
  assert.match(text, /\(295 lines before\)\nline 295\n/)
  const found = await call(session, 'get_bolt_run_logs', { run_id: runId, search: 'NEEDLE' })
  assert.match(found.text, /stdout: line 7 needle/)
  assert.ok((await call(session, 'get_bolt_run_logs', { run_id: runId, command_id: 999_999 })).isError)
})

test('a retry gives one run for one call, and none on a branch of an agent', async () => {
  const { session } = await keyed()
  const schedule = await r.schedule()
  const runId = await r.trigger(schedule)
  await sql`update run set state = 'errored', started_at = clock_timestamp(), ended_at = clock_timestamp()
    where id = ${runId}`.execute(r.t.app.db)
  await sql`update command set state = 'failed' where run_id = ${runId} and kind = 'user'`.execute(r.t.app.db)
  const first = await call(session, 'retry_bolt_run', { run_id: runId, what: 'all' }, 'd1')
  assert.ok(!first.isError, first.text)
  assert.equal((await call(session, 'retry_bolt_run', { run_id: runId, what: 'all' }, 'd1')).text, first.text)
  assert.equal(await runsOf(schedule.id), 2)
  await sql`update run set branch = ${`agent/${session.id}/x`} where id = ${runId}`.execute(r.t.app.db)
  assert.match((await call(session, 'retry_bolt_run', { run_id: runId, what: 'all' }, 'd2')).text, /by a person alone/)
  assert.equal(await runsOf(schedule.id), 2)
})
