import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { deliveryOf, senderOf } from '../../test/support/deliveries.ts'
import { type TestRuns, testRuns } from '../../test/support/runs.ts'
import { verifyWebhook, type WebhookReceiver, webhookReceiver } from '../../test/support/webhook-receiver.ts'
import { webhookChannel } from '../adapters/channels/webhook.ts'
import { outgoingHttp } from '../adapters/outgoing-http.ts'
import { AppError } from '../domain/errors.ts'
import { runEvents } from '../engine/run-events.ts'
import { openLog } from '../engine/worker/log-shipper.ts'
import { getDelivery, listDeliveries, sendDeliveryAgain } from './deliveries.ts'
import { cancelRun } from './runs.ts'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  webhookHandler,
} from './webhooks.ts'

const ALL = { state: null, channel: null, webhookId: null, runId: null, offset: null, limit: null }
const BOTH = ['bolt.run.started', 'bolt.run.completed']
const SECRET = 'a-secret-of-the-run-4711'

let r: TestRuns
let receiver: WebhookReceiver
let secret = ''
let hook = 0
before(async () => {
  r = await testRuns({ queue: 'real' })
  receiver = await webhookReceiver({ secret: () => secret, now: () => r.t.clock.now() })
  const made = await createWebhook(r.ctx, { url: receiver.url, events: BOTH })
  secret = made.secret
  hook = made.id
  await r.worker({
    play: (text) =>
      text === 'fail' ? { steps: [{ stdout: `the token is ${SECRET}\nlast words\n` }], exit: 3 } : { steps: [] },
    ports: { openLog: (id) => openLog(r.t.app.db, id, { secrets: [SECRET], capBytes: 1 << 20 }) },
  })
})
after(async () => {
  await receiver[Symbol.asyncDispose]()
  await r[Symbol.asyncDispose]()
})

const channel = () =>
  webhookChannel({
    http: outgoingHttp({ allow: ['127.0.0.1'], allowHttp: false, timeoutMs: 300 }),
    clock: r.t.clock,
  })
const send = () => senderOf(r.t, channel()).runOnce()

/** What followed from the runs so far, sent. */
async function settle(): Promise<void> {
  await runEvents(r.t.app, [webhookHandler(r.t.app)]).runOnce()
  await send()
}

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof AppError && error.code === code, String(error))
    assert.match(error.message, words)
    return true
  })
}

test('a run tells of its start and its end, each once, signed, without its output', async () => {
  const schedule = await r.schedule({ commands: ['fail'] })
  const runId = await r.trigger(schedule)
  await r.until(runId, 'errored')
  await settle()
  await settle()
  // Which of them arrives first is not promised.
  const about = receiver.received
    .filter((one) => one.body.run?.id === runId)
    .sort((a, b) => (a.body.event < b.body.event ? 1 : -1))
  assert.deepEqual(
    about.map((one) => [one.body.event, one.body.run.state]),
    [
      ['bolt.run.started', 'RUNNING'],
      ['bolt.run.completed', 'ERROR'],
    ],
  )
  for (const one of about) {
    assert.ok(receiver.accepted.has(one.id))
    assert.equal(one.headers['content-type'], 'application/json')
    assert.throws(() => verifyWebhook(secret, one.headers, `${one.text} `, r.t.clock.now()), /no signature/)
    assert.ok(!one.text.includes(SECRET) && !one.text.includes('last words'))
  }
  const [failed] = about[1]!.body.commands.filter((one: { status: string }) => one.status === 'FAILED')
  assert.deepEqual([failed.command, failed.return_code], ['fail', 3])
  const listed = await listDeliveries(r.ctx, { ...ALL, runId })
  assert.deepEqual(
    listed.map((one) => [one.event, one.state, one.tries, one.webhookId, one.scheduleSlug]),
    [
      ['bolt.run.completed', 'delivered', 1, hook, schedule.slug],
      ['bolt.run.started', 'delivered', 1, hook, schedule.slug],
    ],
  )
  // What is kept for messages holds the last words, redacted.
  const { body } = await getDelivery(r.ctx, listed[0]!.id)
  assert.deepEqual((body as { commands: { lastLines: string[] }[] }).commands.at(-1)!.lastLines, [
    'the token is ***',
    'last words',
  ])
})

test('a run that is canceled before it began tells of its end alone, and a skipped tick of nothing', async () => {
  const schedule = await r.schedule({ overlap: 'skip' })
  await sql`update environment set worker_labels = '{nobody}' where id = ${schedule.environmentId}`.execute(r.t.app.db)
  const going = await r.tick(schedule, 1)
  const skipped = await r.tick(schedule, 2)
  await cancelRun(r.ctx, { runId: going.id })
  await settle()
  const about = (id: number) => receiver.received.filter((one) => one.body.run?.id === id)
  assert.deepEqual(
    about(going.id).map((one) => [one.body.event, one.body.run.state]),
    [['bolt.run.completed', 'CANCELED']],
  )
  assert.equal(about(skipped.id).length, 0)
})

test('only those that asked for an event hear of it, and none that is switched off or of another workspace', async () => {
  const made = await createWebhook(r.ctx, { url: `${receiver.url}/starts`, events: ['bolt.run.started'] })
  const off = await createWebhook(r.ctx, { url: `${receiver.url}/off`, events: BOTH, enabled: false })
  const other = await createWebhook(r.t.inside(await r.t.workspace()), { url: receiver.url, events: BOTH })
  const runId = await r.trigger(await r.schedule())
  await r.until(runId, 'succeeded')
  await runEvents(r.t.app, [webhookHandler(r.t.app)]).runOnce()
  const listed = await listDeliveries(r.ctx, { ...ALL, runId })
  assert.deepEqual(
    listed.map((one) => `${one.webhookId} ${one.event}`).sort(),
    [`${hook} bolt.run.completed`, `${hook} bolt.run.started`, `${made.id} bolt.run.started`].sort(),
  )
  for (const { id } of [made, off]) await deleteWebhook(r.ctx, id)
  assert.ok(other.id > 0)
  await settle()
  // Deleted while it waited: given up, with the reason.
  const [gone] = await listDeliveries(r.ctx, { ...ALL, webhookId: made.id })
  const detail = await getDelivery(r.ctx, gone!.id)
  assert.deepEqual([detail.state, detail.each[0]!.answer], ['dead', 'The webhook was deleted.'])
})

test('while a secret is exchanged both fit; after the overlap only the new one does', async () => {
  const old = secret
  const { secret: fresh } = await rotateWebhookSecret(r.ctx, { id: hook, overlapHours: 1 })
  assert.notEqual(fresh, old)
  assert.equal((await listWebhooks(r.ctx)).find((one) => one.id === hook)!.secrets, 2)
  const verified = async (): Promise<boolean[]> => {
    const { deliveryId } = await testWebhook(r.ctx, hook)
    await send()
    const one = receiver.received.find(({ id }) => id === deliveryId)!
    return [old, fresh].map((value) => {
      try {
        verifyWebhook(value, one.headers, one.text, r.t.clock.now())
        return true
      } catch {
        return false
      }
    })
  }
  assert.deepEqual(await verified(), [true, true])
  await sql`update webhook_secret set retires_at = clock_timestamp() where retires_at is not null`.execute(r.t.app.db)
  assert.deepEqual(await verified(), [false, true])
  secret = fresh
  const { secret: last } = await rotateWebhookSecret(r.ctx, { id: hook, overlapHours: 0 })
  secret = last
  assert.equal((await listWebhooks(r.ctx)).find((one) => one.id === hook)!.secrets, 1)
})

test('what a receiver answers decides: 2xx is delivered, 410 is given up, the rest is tried again', async () => {
  const outcomes: [number, string, string?][] = [
    [200, 'delivered'],
    [204, 'delivered'],
    [410, 'dead'],
    [301, 'waiting'],
    [400, 'waiting'],
    [404, 'waiting'],
    [429, 'waiting', '3600'],
    [500, 'waiting'],
    [503, 'waiting'],
  ]
  for (const [status, state, retryAfter] of outcomes) {
    receiver.behave = (response) =>
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end('as it says')
    const { deliveryId } = await testWebhook(r.ctx, hook)
    await send()
    const found = await deliveryOf(r.t, r.workspace, deliveryId)
    assert.deepEqual([found.state, found.each[0]!.status], [state, status])
    if (retryAfter !== undefined) {
      const wait = Date.parse(`${found.nextTryAt!.replace(' ', 'T')}Z`) - r.t.clock.now().getTime()
      assert.ok(Math.abs(wait - 3_600_000) < 5000, `${wait}`)
    }
  }
  // It hangs, then it is back: the same id, taken once.
  receiver.behave = () => {}
  const { deliveryId } = await testWebhook(r.ctx, hook)
  await send()
  assert.equal((await deliveryOf(r.t, r.workspace, deliveryId)).each[0]!.answer, 'No answer within 0.3 seconds.')
  receiver.behave = null
  r.t.clock.advance(2 * 3_600_000)
  await send()
  assert.ok(receiver.accepted.has(deliveryId))
  assert.deepEqual(await listDeliveries(r.ctx, { ...ALL, state: 'waiting' }), [])
})

test('what was given up is sent again under the same id', async () => {
  receiver.behave = (response) => response.writeHead(410).end()
  const { deliveryId } = await testWebhook(r.ctx, hook)
  await send()
  assert.deepEqual(
    (await listDeliveries(r.ctx, { ...ALL, state: 'dead', webhookId: hook })).map((one) => one.id)[0],
    deliveryId,
  )
  receiver.behave = null
  await sendDeliveryAgain(r.ctx, deliveryId)
  await send()
  assert.deepEqual(
    receiver.received.filter((one) => one.id === deliveryId).map((one) => one.body.event),
    ['test', 'test'],
  )
  assert.equal((await getDelivery(r.ctx, deliveryId)).state, 'delivered')
})

test('an address that must not be reached is refused at the first try', async () => {
  const { id } = await createWebhook(r.ctx, { url: 'http://[::1]:9/', events: BOTH })
  const { deliveryId } = await testWebhook(r.ctx, id)
  await send()
  const { state, each } = await deliveryOf(r.t, r.workspace, deliveryId)
  assert.deepEqual([state, each.length, each[0]!.status], ['dead', 1, null])
  assert.match(each[0]!.answer, /has not allowed/)
  await deleteWebhook(r.ctx, id)
})

test('what cannot be a webhook is refused with the field and what is allowed', async () => {
  const make = (input: object) => createWebhook(r.ctx, { url: 'https://x.example', events: BOTH, ...input })
  await refused(make({ url: 'ftp://x.example' }), 'INVALID_INPUT', /^url: /)
  await refused(make({ url: 'https://me:pw@x.example' }), 'INVALID_INPUT', /without credentials/)
  await refused(make({ url: `https://x.example/${'x'.repeat(3000)}` }), 'INVALID_INPUT', /2048/)
  await refused(make({ events: [] }), 'INVALID_INPUT', /bolt\.run\.started/)
  await refused(make({ events: ['bolt.run.paused'] }), 'INVALID_INPUT', /"bolt\.run\.paused".*dinoai/)
  await refused(make({ description: 'a\nb' }), 'INVALID_INPUT', /^description/)
  await refused(updateWebhook(r.ctx, 999_999, {}), 'NOT_FOUND', /999999/)
  await refused(rotateWebhookSecret(r.ctx, { id: hook, overlapHours: -1 }), 'INVALID_INPUT', /overlapHours/)
  await refused(getDelivery(r.ctx, 'nonsense'), 'NOT_FOUND', /nonsense/)
  await refused(listDeliveries(r.ctx, { ...ALL, limit: 0 }), 'INVALID_INPUT', /limit/)
})

test('the log of changes names webhooks by their host, and never a secret', async () => {
  const { id } = await createWebhook(r.ctx, { url: 'https://x.example/path-token', events: BOTH })
  await updateWebhook(r.ctx, id, { enabled: false })
  await refused(testWebhook(r.ctx, id), 'CONFLICT', /switched off/)
  await deleteWebhook(r.ctx, id)
  const records = (await r.t.records()).filter((one) => one.eventType.startsWith('webhook_') && one.data.webhook === id)
  assert.deepEqual(
    records.map((one) => [one.eventType, one.data.host]),
    [
      ['webhook_created', 'x.example'],
      ['webhook_updated', 'x.example'],
      ['webhook_deleted', 'x.example'],
    ],
  )
  const text = JSON.stringify(await r.t.records())
  assert.ok(!text.includes('path-token') && !text.includes('whsec_'))
})
