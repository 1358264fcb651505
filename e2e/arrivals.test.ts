// From the end of a run to what people and services were told: the events, their handlers, the deliveries, the channels and
// real receivers that misbehave. Time is the test's own.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { sendDeliveryAgain } from '../service/src/app/deliveries.ts'
import { createIntegration, listIntegrations, removeIntegration } from '../service/src/app/integrations.ts'
import { createMessageTemplate, deleteMessageTemplate } from '../service/src/app/message-templates.ts'
import { getSchedule } from '../service/src/app/schedules.ts'
import * as deliveries from '../service/src/store/deliveries.ts'
import { TELLS_ALL } from '../service/test/receivers/all.ts'
import type { Behaviour } from '../service/test/receivers/receiver.ts'
import { type TestApp, testApp } from '../service/test/support/app.ts'
import { type Arrivals, startArrivals } from './support/arrivals.ts'

let t: TestApp
let a: Arrivals
before(async () => {
  t = await testApp({ poolSize: 10 })
})
after(() => t.close())
/** Each test has receivers and a workspace of its own. */
beforeEach(async () => {
  a = await startArrivals(t)
})
afterEach(() => a[Symbol.asyncDispose]())

test('each event arrives once, at everybody who wants it, with the right content', async () => {
  const slug = await a.schedule()
  const failed = await a.run(slug, 'errored')
  await a.handle()
  await a.sender.runOnce()
  await a.sender.runOnce()
  assert.deepEqual(a.counts(), { slack: 1, teams: 1, inbox: 2, pagerduty: 1, incidentIo: 1, datadog: 1, newRelic: 1 })
  const { name } = await getSchedule(a.inside, { slug })
  const page = `http://127.0.0.1:4400/workspaces/${a.workspace.uid}/runs/${failed}`
  const told = [
    a.all.slack.messages[0]!.text + JSON.stringify(a.all.slack.messages[0]!.blocks),
    JSON.stringify(a.all.teams.cards[0]),
    ...a.all.smtp.inbox.flatMap((one) => [one.text, one.html]),
    a.all.pagerduty.incidents[0]!.title + a.all.pagerduty.incidents[0]!.details,
    a.all.incidentIo.incidents[0]!.name + a.all.incidentIo.incidents[0]!.summary,
    a.all.datadog.incidents[0]!.title + a.all.datadog.incidents[0]!.fields.summary,
    JSON.stringify(a.all.newRelic.events[0]),
  ]
  for (const text of told) {
    assert.ok(text.includes(name), text)
    assert.ok(text.includes(page), text)
    assert.match(text, /ERROR/)
  }
  assert.deepEqual(a.all.smtp.inbox.map((one) => one.recipients).sort(), [['ana@example.com'], ['ben@example.com']])
  assert.deepEqual(
    a.all.web.flatMap((one) => one.refused),
    [],
  )
  assert.ok((await a.listed()).every((one) => one.state === 'delivered' && one.tries === 1 && one.runId === failed))
})

test('passed and late are told to those who asked for them; a cancel, and nothing asked for, to nobody', async () => {
  const slug = await a.schedule()
  await a.run(slug, 'canceled')
  await a.sender.runOnce()
  assert.deepEqual(a.counts(), { slack: 0, teams: 0, inbox: 0, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
  const runId = await a.begin(slug)
  await a.late(runId)
  await a.late(runId)
  await a.end(runId, 'succeeded')
  await a.handle()
  await a.sender.runOnce()
  assert.deepEqual(a.counts(), { slack: 2, teams: 2, inbox: 2, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
  const [first, second] = a.all.slack.messages
  assert.equal(second!.threadTs, first!.ts)
  assert.match(first!.text, /was late and passed/)
  assert.deepEqual(
    a.all.smtp.inbox
      .map((one) => one.headers.get('subject')![0]!.replace(/.*(is late|passed) \(run \d+\)$/, '$1'))
      .sort(),
    ['is late', 'passed'],
  )
  await a.run(await a.schedule({}), 'errored')
  assert.ok((await a.listed()).every((one) => one.runId === runId))
})

const MISBEHAVIOUR: Readonly<Record<string, Behaviour>> = {
  down: { kind: 'down' },
  'answering 500': { kind: 'status', status: 500 },
  hanging: { kind: 'hanging' },
  'redirecting to loopback': { kind: 'redirect', to: 'http://127.0.0.1:1/' },
  'rate limited': { kind: 'rate limited', seconds: 120 },
}

for (const [name, behaviour] of Object.entries(MISBEHAVIOUR)) {
  test(`receivers that are ${name} for an hour: nothing is lost, nothing is doubled, mail goes on`, async () => {
    const slug = await a.schedule()
    await a.run(slug, 'errored')
    a.all.behave(behaviour)
    const meanwhile = behaviour.kind === 'hanging' ? a.senderWithin(200) : a.sender
    for (let minutes = 0; minutes < 60; minutes += 5) {
      await meanwhile.runOnce()
      t.clock.advance(300_000)
    }
    assert.deepEqual(a.counts(), { slack: 0, teams: 0, inbox: 2, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
    assert.deepEqual(await a.statesOf('slack'), ['waiting'])
    assert.deepEqual(await a.statesOf('mail'), ['delivered', 'delivered'])
    a.all.behave(null)
    await a.untilSettled()
    assert.deepEqual(a.counts(), { slack: 1, teams: 1, inbox: 2, pagerduty: 1, incidentIo: 1, datadog: 1, newRelic: 1 })
    assert.ok((await a.listed()).every((one) => one.state === 'delivered'))
  })
}

/** Where an answer that is lost on its way back leads to a second one, and why nothing can be done about it. */
const DOUBLED: Readonly<Record<string, { times: number; why: string }>> = {
  slack: { times: 2, why: 'chat.postMessage has no key by which Slack would know a repetition' },
  teams: { times: 2, why: 'a workflow takes each request for a new one' },
  datadog: { times: 2, why: 'creating an incident has no idempotency key' },
  newRelic: { times: 2, why: 'events are only ever added; deliveryId is in them, so that queries can count each once' },
  pagerduty: { times: 1, why: 'the incident key is refused a second time' },
  incidentIo: { times: 1, why: 'the idempotency key is the id of the delivery' },
}

test('an answer that is lost doubles only where the receiver cannot tell, as the table says', async () => {
  const slug = await a.schedule()
  await a.run(slug, 'errored')
  a.all.behave({ kind: 'answer lost' }, 1)
  // It is asked for the severity before.
  a.all.incidentIo.behave({ kind: 'answer lost' }, 1, 1)
  await a.untilSettled()
  const seen = a.counts()
  for (const [name, { times, why }] of Object.entries(DOUBLED))
    assert.equal(seen[name as keyof typeof seen], times, `${name}: ${why}`)
  assert.equal(new Set(a.all.newRelic.events.map((one) => one.deliveryId)).size, 1)
})

test('a mail server that lost its answer, or was told twice, shows one mail', async () => {
  const slug = await a.schedule({
    notifications: { emailNotifications: [{ channel: 'ana@example.com', events: ['failed'] }] },
  })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  const [one] = await a.listed()
  await sendDeliveryAgain(a.inside, one!.id)
  await a.sender.runOnce()
  assert.deepEqual([a.all.smtp.received.length, a.all.smtp.inbox.length], [2, 1])
})

test('what is refused for good is a dead letter that can be sent again when it is mended', async () => {
  for (const { id, kind } of await listIntegrations(a.inside))
    if (kind === 'slack') await removeIntegration(a.inside, id)
  const slug = await a.schedule({ notifications: TELLS_ALL.notifications })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  const dead = (await a.listed()).filter((one) => one.state === 'dead')
  assert.deepEqual(
    dead.map((one) => [one.channel, one.tries]),
    [['slack', 1]],
  )
  assert.equal(a.all.teams.cards.length, 1)
  const [attempt] = await deliveries.listTries(t.app.db, a.workspace.id, dead[0]!.id)
  assert.match(attempt!.answer, /Slack is not set up in this workspace/)
  await setUpSlack()
  await sendDeliveryAgain(a.inside, dead[0]!.id)
  await a.sender.runOnce()
  assert.equal(a.all.slack.messages.length, 1)
})

async function setUpSlack(): Promise<void> {
  await createIntegration(a.inside, {
    kind: 'slack',
    name: '',
    settings: { apiUrl: a.all.slack.url },
    secrets: { token: a.all.slack.token },
  })
}

test("a workspace's own words are sent where a notification names them, and ours once they are gone", async () => {
  const inside = a.inside
  const { slug: template } = await createMessageTemplate(inside, {
    channel: 'slack',
    name: 'Short words',
    text: 'Oh dear: {{schedule.name}} is {{run.state}}',
  })
  assert.equal(template, 'short-words')
  const slug = await a.schedule({
    notifications: {
      slackNotifications: [{ channel: '#alerts', events: ['failed'], templateSlug: template }],
      teamsNotifications: [{ channel: 'Data team', events: ['failed'], templateSlug: template }],
    },
  })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  assert.match(JSON.stringify(a.all.slack.messages[0]!.blocks), /Oh dear: Nightly \d+ is ERROR/)
  // It was made for another channel.
  assert.doesNotMatch(JSON.stringify(a.all.teams.cards[0]), /Oh dear/)
  await deleteMessageTemplate(inside, template)
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  assert.doesNotMatch(JSON.stringify(a.all.slack.messages[1]!.blocks), /Oh dear/)
})

test('an address that stands twice in a schedule is told once', async () => {
  const slug = await a.schedule({
    notifications: {
      slackNotifications: [
        { channel: '#alerts', events: ['failed'] },
        { channel: 'alerts', events: ['failed', 'passed'] },
      ],
      emailNotifications: [
        { channel: 'ana@example.com', events: ['failed'] },
        { channel: 'Ana@Example.com', events: ['failed'] },
      ],
    },
  })
  await a.run(slug, 'errored')
  await a.sender.runOnce()
  assert.deepEqual([a.all.slack.messages.length, a.all.smtp.received.length], [1, 1])
})
