import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestAgents, testAgents } from '../../test/support/agent-sessions.ts'
import { sendAgentMessage } from '../app/agent-sessions.ts'
import type { AgentEventBody, AgentEventKind } from '../domain/agent-session.ts'
import { AGENT_STATUSES } from '../domain/agent-session.ts'
import * as events from './agent-events.ts'

let a: TestAgents
before(async () => {
  a = await testAgents()
})
after(async () => {
  await a[Symbol.asyncDispose]()
})

const note = (text: string): AgentEventBody => ({ kind: 'note', text, startup: false })

test('many who write at once get numbers without gaps and times that only grow', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const writers = Array.from({ length: 20 }, (_, at) =>
    at % 2 === 0
      ? events.append(a.t.app.db, hold, [note(`${at} a`), note(`${at} b`)])
      : sendAgentMessage(a.ctx, { sessionId: id, message: `message ${at}` }),
  )
  await Promise.all(writers)
  const journal = await a.journal(id)
  assert.deepEqual(
    journal.map((one) => one.seq),
    journal.map((_, at) => at + 1),
  )
  for (const [at, one] of journal.entries()) if (at > 0) assert.ok(one.ts > journal[at - 1]!.ts, `record ${at}`)
  assert.equal(journal.length, 3 + 10 * 2 + 10)
})

test('what is appended comes back as it is read, in order, with microseconds of now', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const before = Date.now() * 1000
  const written = await events.append(a.t.app.db, hold, [note('one'), note('two')])
  assert.deepEqual((await a.journal(id)).slice(-2), written)
  assert.deepEqual(await events.list(a.t.app.db, a.workspace.id, id, written[0]!.seq), [written[1]])
  assert.ok(Math.abs(written[0]!.ts - before) < 60_000_000)
  assert.equal(written[1]!.ts - written[0]!.ts, 1)
})

test('a clock that is set back takes no time with it', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const far = 4_000_000_000_000_000
  await sql`update agent_session set last_ts = ${far} where id = ${id}`.execute(a.t.app.db)
  const [one, two] = await events.append(a.t.app.db, hold, [note('one'), note('two')])
  assert.deepEqual([one!.ts, two!.ts], [far + 1, far + 2])
})

test('steps, tokens and cost move with the answers of a model, and not with the service’s own words', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const usage = { tokensIn: 100, tokensOut: 7, tokensCached: 40, costMicrodollars: 12 }
  const answer: AgentEventBody = { kind: 'assistant', text: 'Hi.', calls: [], usage, model: 'big' }
  await events.append(a.t.app.db, hold, [answer, { ...answer, usage: null }, { ...answer, usage: null, model: '' }])
  await events.append(a.t.app.db, hold, [answer])
  const { steps, tokensIn, tokensOut, costMicrodollars } = await a.session(id)
  assert.deepEqual(
    { steps, tokensIn, tokensOut, costMicrodollars },
    { steps: 3, tokensIn: 200, tokensOut: 14, costMicrodollars: 24 },
  )
})

test('the last message moves with messages of either side alone', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  await a.age(id, 3_600_000)
  const before = (await a.session(id)).lastMessageAt
  const empty: AgentEventBody = { kind: 'assistant', text: ' ', calls: [], usage: null, model: 'm' }
  await events.append(a.t.app.db, hold, [note('x'), empty])
  assert.deepEqual((await a.session(id)).lastMessageAt, before)
  await events.append(a.t.app.db, hold, [{ ...empty, text: 'Hi.' }])
  assert.ok((await a.session(id)).lastMessageAt > before)
})

test('texts that the database has no place for are stored all the same', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const input = { 'k\0ey': ['\ud800 half', { deep: 'nul \0 here' }], count: 1 }
  const calls = [{ id: 'c1', tool: 't', input }]
  await events.append(a.t.app.db, hold, [{ kind: 'assistant', text: 'a\0b', calls, usage: null, model: 'm' }])
  const last = (await a.journal(id)).at(-1)!
  assert.equal(last.kind === 'assistant' && last.text, 'a\uFFFDb')
  const stored = { 'k\uFFFDey': ['\uFFFD half', { deep: 'nul \uFFFD here' }], count: 1 }
  assert.deepEqual(last.kind === 'assistant' && last.calls[0]!.input, stored)
})

test('a call begins once and ends once', async () => {
  const id = await a.trigger()
  const hold = await a.take(id)
  const start: AgentEventBody = { kind: 'tool_start', call: 'c1', tool: 'read_file' }
  await events.append(a.t.app.db, hold, [start])
  await assert.rejects(events.append(a.t.app.db, hold, [start]), /agent_event_call/)
  assert.equal((await a.journal(id)).filter((one) => one.kind === 'tool_start').length, 1)
})

test('the whole of a result is kept beside the journal, for its own workspace', async () => {
  const id = await a.trigger()
  const place = { workspaceId: a.workspace.id, sessionId: id, call: 'c1' }
  await events.saveOutput(a.t.app.db, place, 'first')
  await events.saveOutput(a.t.app.db, place, 'again\0')
  assert.equal(await events.findOutput(a.t.app.db, place), 'again\uFFFD')
  const elsewhere = await a.t.workspace()
  assert.equal(await events.findOutput(a.t.app.db, { ...place, workspaceId: elsewhere.id }), null)
  assert.deepEqual(await events.list(a.t.app.db, elsewhere.id, id), [])
})

test('the database knows the same states and kinds of records as the code', async () => {
  const { rows } = await sql<{ name: string; text: string }>`select conname as name, pg_get_constraintdef(oid) as text
    from pg_constraint where conrelid in ('agent_session'::regclass, 'agent_event'::regclass) and contype = 'c'`.execute(
    a.t.app.db,
  )
  const words = (name: string) =>
    [...rows.find((row) => row.name === name)!.text.matchAll(/'([a-z_]+)'::text/g)].map((match) => match[1]!).sort()
  assert.deepEqual(words('agent_session_status_check'), [...AGENT_STATUSES].sort())
  const kinds: Readonly<Record<AgentEventKind, true>> = {
    user_message: true,
    assistant: true,
    tool_start: true,
    tool_end: true,
    status: true,
    child_started: true,
    child_result: true,
    compaction: true,
    budget: true,
    note: true,
  }
  assert.deepEqual(words('agent_event_kind_check'), Object.keys(kinds).sort())
})
