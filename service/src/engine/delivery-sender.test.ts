import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import {
  again,
  deliveryOf,
  inUnit,
  queued,
  senderOf,
  senderWith,
  type TestChannel,
  testChannel,
} from '../../test/support/deliveries.ts'
import { waitFor } from '../../test/support/runs.ts'
import { sendDeliveryAgain } from '../app/deliveries.ts'
import { createIntegration, removeIntegration } from '../app/integrations.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { SERIES_MS } from '../domain/delivery.ts'
import * as deliveries from '../store/deliveries.ts'

let t: TestApp
let workspace: WorkspaceRef
before(async () => {
  t = await testApp({ poolSize: 10 })
  workspace = await t.workspace()
})
after(() => t.close())

const HOUR = 3_600_000

/** Sends what is due until nothing waits, moving the clock to each next try; how often, and how long it took. */
async function exhaust(sender: ReturnType<typeof senderOf>, id: string): Promise<{ hours: number }> {
  const began = t.clock.now().getTime()
  for (;;) {
    await sender.runOnce()
    const { state, nextTryAt } = await deliveryOf(t, workspace, id)
    if (state !== 'waiting') return { hours: (t.clock.now().getTime() - began) / HOUR }
    t.clock.advance(Date.parse(`${nextTryAt!.replace(' ', 'T')}Z`) + 1 - t.clock.now().getTime())
  }
}

test('what is queued is sent once, and what came back is kept', async () => {
  const channel = testChannel(() => ({ kind: 'delivered', status: 202, answer: 'took it', result: { ts: '1.2' } }))
  const id = (await queued(t, workspace, { address: 'ana@example.com', body: { say: 'hello' } }))!
  await senderOf(t, channel).runOnce()
  await senderOf(t, channel).runOnce()
  assert.deepEqual(
    channel.sent.map((out) => [out.id, out.address, out.body]),
    [[id, 'ana@example.com', { say: 'hello' }]],
  )
  const { state, tries, each, endedAt } = await deliveryOf(t, workspace, id)
  assert.deepEqual([state, tries, endedAt !== null], ['delivered', 1, true])
  assert.deepEqual(
    each.map((one) => [one.number, one.status, one.outcome, one.answer]),
    [[1, 202, 'delivered', 'took it']],
  )
})

test('a second delivery for the same cause is the same delivery', async () => {
  const channel = testChannel()
  const first = await queued(t, workspace, { causeKey: 'once' })
  assert.notEqual(first, null)
  assert.equal(await queued(t, workspace, { causeKey: 'once' }), null)
  assert.notEqual(await queued(t, await t.workspace(), { causeKey: 'once' }), null)
  await senderOf(t, channel).runOnce()
  assert.equal(channel.sent.length, 2)
})

test('a delivery of a transaction that is undone is never sent', async () => {
  const channel = testChannel()
  const undone = inUnit(t, async (unit) => {
    await deliveries.insert(unit.db, {
      workspaceId: workspace.id,
      channel: 'mail',
      event: 'x',
      causeKey: 'undone',
      target: 'mail',
      body: {},
    })
    throw new Error('undone')
  })
  await assert.rejects(undone, /undone/)
  await senderOf(t, channel).runOnce()
  assert.equal(channel.sent.length, 0)
})

test('a receiver that is down for an hour gets it afterwards, under the same id', async () => {
  const up = t.clock.now().getTime() + HOUR
  const channel = testChannel(() => (t.clock.now().getTime() < up ? again(503) : undefined))
  const id = (await queued(t, workspace))!
  await exhaust(senderOf(t, channel), id)
  const { state, each } = await deliveryOf(t, workspace, id)
  assert.equal(state, 'delivered')
  assert.ok(each.length > 3 && each.slice(0, -1).every((one) => one.status === 503 && one.outcome === 'again'))
  assert.deepEqual(new Set(channel.sent.map((out) => out.id)), new Set([id]))
})

test('after eight tries over less than a day it is given up, and people can send it again', async () => {
  let isUp = false
  const channel = testChannel(() => (isUp ? undefined : again()))
  const id = (await queued(t, workspace))!
  const sender = senderOf(t, channel)
  const { hours } = await exhaust(sender, id)
  assert.ok(hours > 15 && hours <= SERIES_MS / HOUR, `${hours} hours`)
  assert.deepEqual([channel.sent.length, (await deliveryOf(t, workspace, id)).state], [8, 'dead'])
  t.clock.advance(48 * HOUR)
  await sender.runOnce()
  assert.equal(channel.sent.length, 8)

  await sendDeliveryAgain(t.inside(workspace), id)
  await exhaust(sender, id)
  const second = await deliveryOf(t, workspace, id)
  assert.deepEqual([channel.sent.length, second.state, second.each.length], [16, 'dead', 16])
  isUp = true
  await sendDeliveryAgain(t.inside(workspace), id)
  await sender.runOnce()
  const third = await deliveryOf(t, workspace, id)
  assert.deepEqual([third.state, third.tries, third.each.at(-1)!.number], ['delivered', 17, 17])
  assert.equal((await t.records('delivery_sent_again')).length, 2)
})

test('what is refused is not tried again, and a longer pause that a receiver asks for is kept', async () => {
  const refusing = testChannel(() => ({ kind: 'refused', status: 401, answer: 'bad token' }))
  const id = (await queued(t, workspace))!
  await senderOf(t, refusing).runOnce()
  assert.deepEqual((await deliveryOf(t, workspace, id)).state, 'dead')

  const busy = testChannel(() => again(429, 7200))
  const later = (await queued(t, workspace))!
  const sender = senderOf(t, busy)
  await sender.runOnce()
  t.clock.advance(7_199_000)
  await sender.runOnce()
  assert.equal(busy.sent.length, 1)
  t.clock.advance(2000)
  await sender.runOnce()
  assert.equal(busy.sent.length, 2)
  await exhaust(senderOf(t, testChannel()), later)
})

test('two senders at once send each delivery once', async () => {
  const channel = testChannel()
  for (let count = 0; count < 60; count++) await queued(t, workspace)
  await Promise.all([1, 2, 3].map(() => senderOf(t, channel).runOnce()))
  const ids = channel.sent.map((out) => out.id)
  assert.deepEqual([ids.length, new Set(ids).size], [60, 60])
})

test('what a sender that died had in hand is sent again when its claim runs out, and that is written down', async () => {
  const hung = testChannel(() => new Promise(() => {}))
  const id = (await queued(t, workspace))!
  // It is never heard of again.
  await senderOf(t, hung).step()
  const channel = testChannel()
  const sender = senderOf(t, channel)
  await sender.runOnce()
  assert.equal(channel.sent.length, 0)
  t.clock.advance(76_000)
  await sender.runOnce()
  const { state, each } = await deliveryOf(t, workspace, id)
  assert.deepEqual([channel.sent.map((out) => out.id), state], [[id], 'delivered'])
  assert.deepEqual(
    each.map((one) => [one.number, one.outcome, /not known/.test(one.answer)]),
    [
      [1, 'again', true],
      [2, 'delivered', false],
    ],
  )
})

test('a sender whose claim ran out writes nothing over what another one found', async () => {
  const release = Promise.withResolvers<undefined>()
  const slow = testChannel(async () => {
    await release.promise
    return { kind: 'refused', status: 400, answer: 'too late' }
  })
  const id = (await queued(t, workspace))!
  const first = senderOf(t, slow)
  await first.step()
  t.clock.advance(76_000)
  await senderOf(t, testChannel()).runOnce()
  release.resolve(undefined)
  await first.runOnce()
  const { state, each } = await deliveryOf(t, workspace, id)
  assert.deepEqual([state, each.map((one) => one.outcome)], ['delivered', ['again', 'delivered']])
})

test('a receiver that hangs holds up nobody else, and no more than a few places', async () => {
  const hooks = await Promise.all(
    ['a', 'b'].map((name) =>
      createIntegration(t.inside(workspace), {
        kind: 'teams',
        name,
        settings: {},
        secrets: { url: `https://teams.example/${name}` },
      }),
    ),
  )
  const release = Promise.withResolvers<undefined>()
  const channel: TestChannel = testChannel(
    (out) => (out.secrets.url?.endsWith('/a') ? release.promise : undefined),
    'teams',
  )
  for (let count = 0; count < 8; count++) await queued(t, workspace, { channel: 'teams', integrationId: hooks[0]!.id })
  for (let count = 0; count < 8; count++) await queued(t, workspace, { channel: 'teams', integrationId: hooks[1]!.id })
  const sender = senderWith(t, { channels: [channel], parallel: 8, perTarget: 3 })
  const all = sender.runOnce()
  const count = (name: string) => channel.sent.filter((out) => out.secrets.url?.endsWith(`/${name}`)).length
  await waitFor('the other receiver to have all', () => count('b') === 8)
  assert.equal(count('a'), 3)
  release.resolve(undefined)
  await all
  // A look may have ended while the first three were still on their way.
  await waitFor('the rest of the first', async () => {
    await sender.runOnce()
    return count('a') === 8
  })
  await removeIntegration(t.inside(workspace), hooks[1]!.id)
})

test('a channel that never answers is given up after its time, and one that breaks is tried again', async () => {
  const hung = testChannel(() => new Promise(() => {}))
  const id = (await queued(t, workspace))!
  await senderWith(t, { channels: [hung], tryMs: 20 }).runOnce()
  const broken = testChannel(() => {
    throw new Error('a fault of ours')
  })
  t.clock.advance(HOUR)
  await senderOf(t, broken).runOnce()
  const { state, each } = await deliveryOf(t, workspace, id)
  assert.equal(state, 'waiting')
  assert.deepEqual(
    each.map((one) => one.answer),
    ['No answer in time.', 'The service itself failed to send this; its log says why.'],
  )
  assert.ok(t.lines.some((line) => line.message === 'a channel broke'))
  await exhaust(senderOf(t, testChannel()), id)
})

test('a line is sent in its order: the next one waits for the one before, and sees what it gave back', async () => {
  let isUp = false
  const channel = testChannel((out) =>
    isUp ? { kind: 'delivered', status: 201, answer: '', result: { opened: out.event } } : again(),
  )
  const [first, second] = [
    (await queued(t, workspace, { line: 'incident 1', event: 'open' }))!,
    (await queued(t, workspace, { line: 'incident 1', event: 'close' }))!,
  ]
  const other = (await queued(t, workspace, { line: 'incident 2', event: 'open' }))!
  const sender = senderOf(t, channel)
  await sender.runOnce()
  assert.deepEqual(channel.sent.map((out) => out.id).sort(), [first, other].sort())
  isUp = true
  t.clock.advance(HOUR)
  await sender.runOnce()
  assert.equal((await deliveryOf(t, workspace, second)).state, 'delivered')
  assert.deepEqual(channel.sent.find((out) => out.id === second)!.earlier, [
    { event: 'open', result: { opened: 'open' } },
  ])
})

test('an answer that repeats the secret is kept without it, and not without end', async () => {
  const secret = 'xoxb-very-secret-token'
  const { id: integrationId } = await createIntegration(t.inside(workspace), {
    kind: 'slack',
    name: '',
    settings: {},
    secrets: { token: secret },
  })
  const channel = testChannel(
    (out) => ({
      kind: 'refused',
      status: 400,
      answer: `you sent ${out.secrets.token} and ${Buffer.from(secret).toString('base64')}\0${'x'.repeat(5000)}`,
    }),
    'slack',
  )
  const id = (await queued(t, workspace, { channel: 'slack', integrationId }))!
  await senderOf(t, channel).runOnce()
  const [only] = (await deliveryOf(t, workspace, id)).each
  assert.match(only!.answer, /^you sent \*\*\* and \*\*\*=*x{1900,2000}…$/)

  await removeIntegration(t.inside(workspace), integrationId)
  await sendDeliveryAgain(t.inside(workspace), id)
  await senderOf(t, channel).runOnce()
  const { state, each } = await deliveryOf(t, workspace, id)
  assert.deepEqual([state, each.at(-1)!.answer, channel.sent.length], ['dead', 'The integration was removed.', 1])
})

test('a stop waits for what is under way and begins nothing more', async () => {
  const release = Promise.withResolvers<undefined>()
  const channel = testChannel(() => release.promise)
  const id = (await queued(t, workspace))!
  const sender = senderOf(t, channel)
  await sender.step()
  const stopped = sender.stop()
  const late = (await queued(t, workspace))!
  assert.equal(await sender.step(), false)
  release.resolve(undefined)
  await stopped
  assert.equal((await deliveryOf(t, workspace, id)).state, 'delivered')
  assert.equal((await deliveryOf(t, workspace, late)).tries, 0)
})

test('old deliveries go with their tries, those that wait stay', async () => {
  const ended = (await queued(t, workspace))!
  await senderOf(t, testChannel()).runOnce()
  const waiting = (await queued(t, workspace))!
  assert.ok((await deliveries.deleteOld(t.app.db, 1, 10_000)) > 0)
  assert.equal(await deliveries.find(t.app.db, workspace.id, ended), null)
  assert.notEqual(await deliveries.find(t.app.db, workspace.id, waiting), null)
})
