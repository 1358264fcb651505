// From the end of a run to what people and services were told: the events, their handlers, the deliveries, the channels and
// real receivers that misbehave. Time is the test's own.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { messageChannels } from '../service/src/adapters/channels/index.ts'
import { smtpMailer } from '../service/src/adapters/mail/smtp.ts'
import { sendDeliveryAgain } from '../service/src/app/deliveries.ts'
import { createEnvironment } from '../service/src/app/environments.ts'
import { incidentHandler } from '../service/src/app/incidents.ts'
import { createIntegration, listIntegrations, removeIntegration } from '../service/src/app/integrations.ts'
import { createMessageTemplate, deleteMessageTemplate } from '../service/src/app/message-templates.ts'
import { noticeHandler } from '../service/src/app/notices.ts'
import { finishRun } from '../service/src/app/runs.ts'
import { createSchedule, getSchedule, updateSchedule } from '../service/src/app/schedules.ts'
import { triggerRun } from '../service/src/app/trigger-run.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import type { RunOutcome } from '../service/src/domain/run.ts'
import { type DeliverySender, deliverySender } from '../service/src/engine/delivery-sender.ts'
import { deadlines, runEvents } from '../service/src/engine/run-events.ts'
import * as deliveries from '../service/src/store/deliveries.ts'
import { type AllReceivers, setUpIntegrations, startReceivers, TELLS_ALL } from '../service/test/receivers/all.ts'
import type { Behaviour } from '../service/test/receivers/receiver.ts'
import { type TestApp, testApp } from '../service/test/support/app.ts'
import { receiverHttp } from '../service/test/support/channels.ts'
import { inUnit } from '../service/test/support/deliveries.ts'

let t: TestApp
let workspace: WorkspaceRef
let all: AllReceivers
let sender: DeliverySender
/** One that waits for an answer only so long. */
let senderWithin: (timeoutMs: number) => DeliverySender

before(async () => {
  t = await testApp({ poolSize: 10 })
})
after(() => t.close())

/** Each test has receivers and a workspace of its own. */
beforeEach(async (context) => {
  all = await startReceivers()
  workspace = await t.workspace()
  await createEnvironment(t.inside(workspace), { displayName: 'production' })
  await setUpIntegrations(t.inside(workspace), all)
  const mailer = smtpMailer({ url: all.smtp.url, from: 'Yardmaster <yard@mail.example.com>' })
  senderWithin = (timeoutMs) => {
    const channels = messageChannels({ http: receiverHttp(timeoutMs), clock: t.clock, mailer })
    return deliverySender(t.app, { channels, random: () => 0.5 })
  }
  sender = senderWithin(5000)
  const own = all
  ;(context as { after(work: () => Promise<void>): void }).after(async () => await own[Symbol.asyncDispose]())
})

let made = 0
const schedule = async (more: object = TELLS_ALL): Promise<string> =>
  (
    await createSchedule(t.inside(workspace), {
      ...{ name: `Nightly ${++made}`, schedule: 'OFF', environment: 'production', commands: ['dbt build'] },
      ...more,
    })
  ).slug

const begin = async (slug: string, prNumber: number | null = null): Promise<number> =>
  (await triggerRun(t.inside(workspace), { slug, prNumber })).runId

const end = async (runId: number, kind: RunOutcome['kind']): Promise<void> => {
  const outcome: RunOutcome = kind === 'failed' ? { kind, detail: 'The worker was lost.' } : { kind }
  await inUnit(t, (unit) => finishRun(unit, runId, 0, outcome))
}

const handle = (): Promise<void> => runEvents(t.app, [noticeHandler(t.app), incidentHandler(t.app)]).runOnce()

async function run(slug: string, kind: RunOutcome['kind'], prNumber: number | null = null): Promise<number> {
  const runId = await begin(slug, prNumber)
  await end(runId, kind)
  await handle()
  return runId
}

/** Tells that it is late, as the watch over deadlines does. */
async function late(runId: number): Promise<void> {
  await sql`update run set late_at = clock_timestamp() - interval '1 second' where id = ${runId}`.execute(t.app.db)
  await deadlines(t.app).runOnce()
  await handle()
}

const listed = () => deliveries.list(t.app.db, workspace.id, {}, { offset: 0, limit: 1000 })
const statesOf = async (channel: string): Promise<string[]> =>
  (await listed()).flatMap((one) => (one.channel === channel ? [one.state] : []))

/** Sends until nothing waits, moving the clock on by half an hour at a time. */
async function untilSettled(): Promise<void> {
  for (let hours = 0; hours < 60; hours++) {
    await sender.runOnce()
    if ((await listed()).every((one) => one.state !== 'waiting')) return
    t.clock.advance(1_800_000)
  }
  assert.fail('something still waits')
}

const counts = () => ({
  slack: all.slack.messages.length,
  teams: all.teams.cards.length,
  inbox: all.smtp.inbox.length,
  pagerduty: all.pagerduty.incidents.length,
  incidentIo: all.incidentIo.incidents.length,
  datadog: all.datadog.incidents.length,
  newRelic: all.newRelic.events.length,
})

test('each event arrives once, at everybody who wants it, with the right content', async () => {
  const slug = await schedule()
  const failed = await run(slug, 'errored')
  await handle()
  await sender.runOnce()
  await sender.runOnce()
  assert.deepEqual(counts(), { slack: 1, teams: 1, inbox: 2, pagerduty: 1, incidentIo: 1, datadog: 1, newRelic: 1 })
  const { name } = await getSchedule(t.inside(workspace), { slug })
  const page = `http://127.0.0.1:4400/workspaces/${workspace.uid}/runs/${failed}`
  const told = [
    all.slack.messages[0]!.text + JSON.stringify(all.slack.messages[0]!.blocks),
    JSON.stringify(all.teams.cards[0]),
    ...all.smtp.inbox.flatMap((one) => [one.text, one.html]),
    all.pagerduty.incidents[0]!.title + all.pagerduty.incidents[0]!.details,
    all.incidentIo.incidents[0]!.name + all.incidentIo.incidents[0]!.summary,
    all.datadog.incidents[0]!.title + all.datadog.incidents[0]!.fields.summary,
    JSON.stringify(all.newRelic.events[0]),
  ]
  for (const text of told) {
    assert.ok(text.includes(name), text)
    assert.ok(text.includes(page), text)
    assert.match(text, /ERROR/)
  }
  assert.deepEqual(all.smtp.inbox.map((one) => one.recipients).sort(), [['ana@example.com'], ['ben@example.com']])
  assert.deepEqual(
    all.web.flatMap((one) => one.refused),
    [],
  )
  assert.ok((await listed()).every((one) => one.state === 'delivered' && one.tries === 1 && one.runId === failed))
})

test('passed and late are told to those who asked for them; a cancel, and nothing asked for, to nobody', async () => {
  const slug = await schedule()
  await run(slug, 'canceled')
  await sender.runOnce()
  assert.deepEqual(counts(), { slack: 0, teams: 0, inbox: 0, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
  const runId = await begin(slug)
  await late(runId)
  await late(runId)
  await end(runId, 'succeeded')
  await handle()
  await sender.runOnce()
  assert.deepEqual(counts(), { slack: 2, teams: 2, inbox: 2, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
  const [first, second] = all.slack.messages
  assert.equal(second!.threadTs, first!.ts)
  assert.match(first!.text, /was late and passed/)
  assert.deepEqual(
    all.smtp.inbox
      .map((one) => one.headers.get('subject')![0]!.replace(/.*(is late|passed) \(run \d+\)$/, '$1'))
      .sort(),
    ['is late', 'passed'],
  )
  await run(await schedule({}), 'errored')
  assert.ok((await listed()).every((one) => one.runId === runId))
})

test('one incident per schedule and entry: opened, added to, closed by the next pass, then opened anew', async () => {
  const slug = await schedule()
  const ids = [await run(slug, 'errored'), await run(slug, 'failed'), await run(slug, 'errored')]
  await sender.runOnce()
  await run(slug, 'errored', 7)
  await run(slug, 'succeeded', 7)
  await sender.runOnce()
  assert.deepEqual(
    all.pagerduty.incidents.map((one) => [one.status, one.notes.length]),
    [['triggered', 2]],
  )
  assert.match(all.incidentIo.incidents[0]!.summary, new RegExp(`run ${ids[1]}, .*\\n- run ${ids[2]}, `))
  await run(slug, 'canceled')
  await run(slug, 'succeeded')
  await run(slug, 'succeeded')
  await sender.runOnce()
  assert.equal(all.pagerduty.incidents[0]!.status, 'resolved')
  assert.equal(all.incidentIo.isOpen(all.incidentIo.incidents[0]!), false)
  assert.equal(all.datadog.incidents[0]!.fields.state, 'resolved')
  assert.deepEqual(
    all.newRelic.events.map((one) => one.action),
    ['open', 'add', 'add', 'close'],
  )
  await run(slug, 'errored')
  await sender.runOnce()
  assert.deepEqual(counts(), { ...counts(), pagerduty: 2, incidentIo: 2, datadog: 2, newRelic: 5 })
  // Another schedule has an incident of its own at the same service.
  await run(await schedule(), 'errored')
  await sender.runOnce()
  assert.equal(all.pagerduty.incidents.filter((one) => one.status === 'triggered').length, 2)
})

test('open, note and close keep their order over retries, and events that are handled out of order change nothing', async () => {
  const slug = await schedule({ integrations: TELLS_ALL.integrations })
  all.behave({ kind: 'status', status: 503 })
  await run(slug, 'errored')
  await sender.runOnce()
  await run(slug, 'errored')
  await run(slug, 'succeeded')
  await sender.runOnce()
  assert.equal(all.pagerduty.incidents.length, 0)
  all.behave(null)
  await untilSettled()
  assert.deepEqual(
    all.pagerduty.incidents.map((one) => [one.status, one.notes.length]),
    [['resolved', 1]],
  )
  assert.equal(all.datadog.incidents.length, 1)
  // The pass of the second run is handled before the failure of the first.
  const first = await begin(slug)
  await end(first, 'errored')
  await sql`update run_event set next_try_at = 'infinity' where run_id = ${first}`.execute(t.app.db)
  await run(slug, 'succeeded')
  await sql`update run_event set next_try_at = '-infinity' where run_id = ${first}`.execute(t.app.db)
  await handle()
  await untilSettled()
  assert.equal(all.pagerduty.incidents.length, 1)
})

test('an entry that was taken off its schedule is closed all the same', async () => {
  const slug = await schedule({ integrations: TELLS_ALL.integrations })
  await run(slug, 'errored')
  await updateSchedule(t.inside(workspace), { slug, schedule: { integrations: {} } })
  await run(slug, 'succeeded')
  await sender.runOnce()
  assert.equal(all.pagerduty.incidents[0]!.status, 'resolved')
  assert.equal(all.datadog.incidents[0]!.fields.state, 'resolved')
})

test('an incident that stays open longer than deliveries are kept is still closed', async () => {
  const slug = await schedule({ integrations: TELLS_ALL.integrations })
  await run(slug, 'errored')
  await sender.runOnce()
  await sql`update delivery set ended_at = ended_at - interval '400 days' where workspace_id = ${workspace.id}`.execute(
    t.app.db,
  )
  await deliveries.deleteOld(t.app.db, 30, 1000)
  assert.equal((await listed()).length, 4)
  await run(slug, 'succeeded')
  await sender.runOnce()
  assert.equal(all.pagerduty.incidents[0]!.status, 'resolved')
  await sql`update delivery set ended_at = ended_at - interval '400 days' where workspace_id = ${workspace.id}`.execute(
    t.app.db,
  )
  await deliveries.deleteOld(t.app.db, 30, 1000)
  assert.deepEqual(await listed(), [])
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
    const slug = await schedule()
    await run(slug, 'errored')
    all.behave(behaviour)
    const meanwhile = behaviour.kind === 'hanging' ? senderWithin(200) : sender
    for (let minutes = 0; minutes < 60; minutes += 5) {
      await meanwhile.runOnce()
      t.clock.advance(300_000)
    }
    assert.deepEqual(counts(), { slack: 0, teams: 0, inbox: 2, pagerduty: 0, incidentIo: 0, datadog: 0, newRelic: 0 })
    assert.deepEqual(await statesOf('slack'), ['waiting'])
    assert.deepEqual(await statesOf('mail'), ['delivered', 'delivered'])
    all.behave(null)
    await untilSettled()
    assert.deepEqual(counts(), { slack: 1, teams: 1, inbox: 2, pagerduty: 1, incidentIo: 1, datadog: 1, newRelic: 1 })
    assert.ok((await listed()).every((one) => one.state === 'delivered'))
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
  const slug = await schedule()
  await run(slug, 'errored')
  all.behave({ kind: 'answer lost' }, 1)
  // It is asked for the severity before.
  all.incidentIo.behave({ kind: 'answer lost' }, 1, 1)
  await untilSettled()
  const seen = counts()
  for (const [name, { times, why }] of Object.entries(DOUBLED))
    assert.equal(seen[name as keyof typeof seen], times, `${name}: ${why}`)
  assert.equal(new Set(all.newRelic.events.map((one) => one.deliveryId)).size, 1)
})

test('a mail server that lost its answer, or was told twice, shows one mail', async () => {
  const slug = await schedule({
    notifications: { emailNotifications: [{ channel: 'ana@example.com', events: ['failed'] }] },
  })
  await run(slug, 'errored')
  await sender.runOnce()
  const [one] = await listed()
  await sendDeliveryAgain(t.inside(workspace), one!.id)
  await sender.runOnce()
  assert.deepEqual([all.smtp.received.length, all.smtp.inbox.length], [2, 1])
})

test('what is refused for good is a dead letter that can be sent again when it is mended', async () => {
  for (const { id, kind } of await listIntegrations(t.inside(workspace)))
    if (kind === 'slack') await removeIntegration(t.inside(workspace), id)
  const slug = await schedule({ notifications: TELLS_ALL.notifications })
  await run(slug, 'errored')
  await sender.runOnce()
  const dead = (await listed()).filter((one) => one.state === 'dead')
  assert.deepEqual(
    dead.map((one) => [one.channel, one.tries]),
    [['slack', 1]],
  )
  assert.equal(all.teams.cards.length, 1)
  const [attempt] = await deliveries.listTries(t.app.db, workspace.id, dead[0]!.id)
  assert.match(attempt!.answer, /Slack is not set up in this workspace/)
  await setUpSlack()
  await sendDeliveryAgain(t.inside(workspace), dead[0]!.id)
  await sender.runOnce()
  assert.equal(all.slack.messages.length, 1)
})

async function setUpSlack(): Promise<void> {
  await createIntegration(t.inside(workspace), {
    kind: 'slack',
    name: '',
    settings: { apiUrl: all.slack.url },
    secrets: { token: all.slack.token },
  })
}

test("a workspace's own words are sent where a notification names them, and ours once they are gone", async () => {
  const inside = t.inside(workspace)
  const { slug: template } = await createMessageTemplate(inside, {
    channel: 'slack',
    name: 'Short words',
    text: 'Oh dear: {{schedule.name}} is {{run.state}}',
  })
  assert.equal(template, 'short-words')
  const slug = await schedule({
    notifications: {
      slackNotifications: [{ channel: '#alerts', events: ['failed'], templateSlug: template }],
      teamsNotifications: [{ channel: 'Data team', events: ['failed'], templateSlug: template }],
    },
  })
  await run(slug, 'errored')
  await sender.runOnce()
  assert.match(JSON.stringify(all.slack.messages[0]!.blocks), /Oh dear: Nightly \d+ is ERROR/)
  // It was made for another channel.
  assert.doesNotMatch(JSON.stringify(all.teams.cards[0]), /Oh dear/)
  await deleteMessageTemplate(inside, template)
  await run(slug, 'errored')
  await sender.runOnce()
  assert.doesNotMatch(JSON.stringify(all.slack.messages[1]!.blocks), /Oh dear/)
})

test('an address that stands twice in a schedule is told once', async () => {
  const slug = await schedule({
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
  await run(slug, 'errored')
  await sender.runOnce()
  assert.deepEqual([all.slack.messages.length, all.smtp.received.length], [1, 1])
})
