import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import Fastify, { type FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { testSession } from '../../../test/support/agent-service-tools.ts'
import { type TestApp, testApp } from '../../../test/support/app.ts'
import { createIntegration } from '../../app/integrations.ts'
import type { WorkspaceRef } from '../../domain/actor.ts'
import type { AgentSession } from '../../domain/agent-session.ts'
import * as events from '../../store/agent-events.ts'
import { requireAccess } from '../routes.ts'
import { registerSlackEvents } from './slack-events.ts'

const SECRET = 'signing-secret-of-the-app'
let t: TestApp
let server: FastifyInstance
let workspace: WorkspaceRef
before(async () => {
  t = await testApp()
  server = Fastify()
  requireAccess(server)
  registerSlackEvents(server, { app: t.app })
  await server.ready()
  workspace = await t.workspace()
  const secrets = { token: 'xoxb-long-enough', signingSecret: SECRET }
  await createIntegration(t.inside(workspace), { kind: 'slack', name: '', settings: {}, secrets })
})
after(async () => {
  await server.close()
  await t.close()
})

let made = 0
const THREAD = { channel: 'C0ALERTS01', threadTs: '1700000000.000100' }

const messageOf = (event: object = {}, id = `Ev${++made}`): object => ({
  type: 'event_callback',
  event_id: id,
  event: {
    type: 'message',
    channel: THREAD.channel,
    thread_ts: THREAD.threadTs,
    ts: '1700000001.000200',
    user: 'U0ANA',
    text: 'Try again, please.',
    ...event,
  },
})

interface SendOptions {
  readonly secret?: string
  readonly secondsAgo?: number
  readonly to?: string
  readonly signedBody?: string
}

async function send(
  body: object,
  { secret = SECRET, secondsAgo = 0, to = workspace.uid, signedBody }: SendOptions = {},
) {
  const payload = JSON.stringify(body)
  const stamp = String(Math.floor(t.clock.now().getTime() / 1000) - secondsAgo)
  const signature = `v0=${createHmac('sha256', secret)
    .update(`v0:${stamp}:${signedBody ?? payload}`)
    .digest('hex')}`
  return await server.inject({
    method: 'POST',
    url: `/hooks/slack/${to}`,
    headers: {
      'content-type': 'application/json',
      'x-slack-request-timestamp': stamp,
      'x-slack-signature': signature,
    },
    payload,
  })
}

const heard = async (session: AgentSession): Promise<string[]> =>
  (await events.list(t.app.db, workspace.id, session.id)).flatMap((one) =>
    one.kind === 'user_message' && one.author === 'slack' ? [`${one.name}: ${one.text}`] : [],
  )

test('the address is verified by whoever holds the secret', async () => {
  const body = { type: 'url_verification', challenge: 'abc', token: 'old' }
  assert.deepEqual((await send(body)).json(), { challenge: 'abc' })
  assert.equal((await send(body, { secret: 'another-secret' })).statusCode, 401)
})

test('a message in the thread of a session reaches it once', async () => {
  const session = await testSession(t, workspace, { slack: THREAD })
  const body = messageOf({}, 'Ev-once')
  assert.equal((await send(body)).statusCode, 200)
  assert.equal((await send(body)).statusCode, 409)
  assert.deepEqual(await heard(session), ['U0ANA: Try again, please.'])
  const [record] = (await t.records('agent_message_sent')).filter((one) => one.data.session === session.id)
  assert.equal(record!.data.slack_user, 'U0ANA')
})

test('a session that began its own thread is found by what was posted', async () => {
  const session = await testSession(t, workspace, { definition: { slackChannel: '#data' } })
  await sql`insert into delivery (workspace_id, channel, event, cause_key, line, target, body, state, ended_at, result)
    values (${workspace.id}, 'slack', 'agent.message', ${`test ${session.id}`}, ${`agent ${session.id}`}, 'slack', '{}',
      'delivered', clock_timestamp(), '{"channel": "C0DATA0001", "ts": "1700000009.000100", "thread": "1700000009.000100"}')`.execute(
    t.app.db,
  )
  await send(messageOf({ channel: 'C0DATA0001', thread_ts: '1700000009.000100' }))
  assert.equal((await heard(session)).length, 1)
  await send(messageOf({ channel: 'C0OTHER001', thread_ts: '1700000009.000100' }))
  assert.equal((await heard(session)).length, 1)
})

test('a wrong, old, future or foreign signature is refused alike, and nothing is heard', async () => {
  const session = await testSession(t, workspace, { slack: { ...THREAD, threadTs: '1700000010.000100' } })
  const body = messageOf({ thread_ts: '1700000010.000100' })
  const other = await t.workspace()
  const answers = [
    await send(body, { secret: 'another-secret' }),
    await send(body, { secondsAgo: 301 }),
    await send(body, { secondsAgo: -301 }),
    await send(body, { signedBody: '{}' }),
    await send(body, { to: other.uid }),
    await send(body, { to: 'x' }),
    await send(body, { secret: '', to: other.uid }),
  ]
  assert.deepEqual([...new Set(answers.map((one) => `${one.statusCode} ${one.body}`))].length, 1)
  assert.equal(answers[0]!.statusCode, 401)
  assert.deepEqual(await heard(session), [])
  assert.equal((await send(body, { secondsAgo: 299 })).statusCode, 200)
  assert.equal((await heard(session)).length, 1)
})

test('bots, edits, other events, threads without a session and messages outside of threads are passed over', async () => {
  const threadTs = '1700000020.000100'
  const session = await testSession(t, workspace, { slack: { ...THREAD, threadTs } })
  for (const event of [
    { thread_ts: threadTs, bot_id: 'B0SELF' },
    { thread_ts: threadTs, subtype: 'bot_message' },
    { thread_ts: threadTs, subtype: 'message_changed' },
    { thread_ts: threadTs, text: ' ' },
    { thread_ts: threadTs, type: 'reaction_added' },
    { thread_ts: undefined },
    { thread_ts: '1700000099.000100' },
    { thread_ts: 7 },
  ]) {
    assert.equal((await send(messageOf(event))).statusCode, 200, JSON.stringify(event))
  }
  assert.deepEqual(await heard(session), [])
  for (const body of [[], 7, null, 'x', { type: 'event_callback' }]) {
    assert.equal((await send(body as object)).statusCode, 200)
  }
})

test('a session of another workspace with the same thread hears nothing', async () => {
  const threadTs = '1700000030.000100'
  const other = await t.workspace()
  const session = await testSession(t, other, { slack: { ...THREAD, threadTs } })
  await send(messageOf({ thread_ts: threadTs }))
  const said = (await events.list(t.app.db, other.id, session.id)).filter(
    (one) => one.kind === 'user_message' && one.author === 'slack',
  )
  assert.deepEqual(said, [])
})

test('a message after the end queues the next turn; one that came too late is passed over', async () => {
  const threadTs = '1700000040.000100'
  const session = await testSession(t, workspace, { slack: { ...THREAD, threadTs } })
  await sql`update agent_session set status = 'completed', ended_at = clock_timestamp() where id = ${session.id}`.execute(
    t.app.db,
  )
  await send(messageOf({ thread_ts: threadTs }))
  const { rows } = await sql<{ status: string; turn: number }>`select status, turn from agent_session
    where id = ${session.id}`.execute(t.app.db)
  assert.deepEqual(rows[0], { status: 'queued', turn: 2 })
  await sql`update agent_session set status = 'completed', ended_at = clock_timestamp(),
    last_message_at = clock_timestamp() - interval '25 hours' where id = ${session.id}`.execute(t.app.db)
  const late = await send(messageOf({ thread_ts: threadTs }))
  assert.equal(late.statusCode, 200)
  assert.equal((await heard(session)).length, 1)
})
