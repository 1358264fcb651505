// What people and services are told about real runs of a real service, set up through the API alone. A secret of the run goes
// wherever a run can put it, and arrives nowhere.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AllReceivers, integrationSetups, startReceivers, TELLS_ALL } from '../service/test/receivers/all.ts'
import { webhookReceiver } from '../service/test/support/webhook-receiver.ts'
import { formsOf } from './support/needles.ts'
import { plain } from './support/planted.ts'
import { type Client, clientOf, makeRepository } from './support/runs.ts'
import { type ServiceProcess, startProcess } from './support/service.ts'

let all: AllReceivers
let hook: Awaited<ReturnType<typeof webhookReceiver>>
let hookSecret = ''
let service: ServiceProcess
let client: Client
let environment: string
const secret = plain('password-of-the-warehouse')

before(async () => {
  all = await startReceivers()
  hook = await webhookReceiver({ secret: () => hookSecret, now: () => new Date() })
  service = await startProcess({
    env: {
      YARDMASTER_OUTGOING_ALLOW: '127.0.0.1',
      YARDMASTER_SMTP_URL: all.smtp.url,
      YARDMASTER_MAIL_FROM: 'Yardmaster <yard@mail.example.com>',
    },
  })
  client = clientOf(service)
  environment = await client.environment(await makeRepository({ 'fail.sh': FAIL }))
  await client.ask(
    `mutation ($value: String!, $environment: String) {
      setSecret(environment: $environment, kind: VARIABLE, name: "WAREHOUSE_PASSWORD", value: $value) { ok } }`,
    { value: secret, environment },
  )
  for (const { kind, name, settings, secrets } of integrationSetups(all)) {
    const pairs = (values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([key, value]) => ({ name: key, value }))
    await client.ask(
      `mutation ($kind: IntegrationKind!, $name: String, $settings: [IntegrationSettingInput!],
          $secrets: [IntegrationSettingInput!]) {
        createIntegration(kind: $kind, name: $name, settings: $settings, secrets: $secrets) { id } }`,
      { kind: kind.toUpperCase(), name, settings: pairs(settings), secrets: pairs(secrets) },
    )
  }
  const made = await client.ask('mutation ($webhook: WebhookInput!) { createWebhook(webhook: $webhook) { secret } }', {
    webhook: { url: hook.url, events: ['bolt.run.started', 'bolt.run.completed'] },
  })
  hookSecret = made.secret
})
after(async () => {
  await service.stop()
  await hook[Symbol.asyncDispose]()
  await all[Symbol.asyncDispose]()
})

/** Says the secret on both streams and in dbt's results, as a careless job does. */
const FAIL = `echo "connecting with $WAREHOUSE_PASSWORD"
echo "could not connect: $WAREHOUSE_PASSWORD" >&2
mkdir -p target
cat > target/run_results.json <<END
{"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"}, "results": [
  {"unique_id": "model.shop.orders", "status": "error", "message": "refused: $WAREHOUSE_PASSWORD", "timing": [],
   "execution_time": 1, "failures": null},
  {"unique_id": "test.shop.not_null_orders_id.0123456789", "status": "fail", "message": "Got 3", "timing": [],
   "execution_time": 1, "failures": 3},
  {"unique_id": "model.shop.fine", "status": "success", "message": "OK", "timing": [], "execution_time": 1,
   "failures": null}]}
END
exit 3
`

const settled = (runId: number) =>
  client.until(async () => {
    const { deliveries } = await client.ask(
      'query ($runId: Int) { listDeliveries(filter: { runId: $runId }, limit: 100) { deliveries { channel state } } }',
      { runId },
    )
    return deliveries.length > 3 && deliveries.every((one: { state: string }) => one.state !== 'WAITING') && deliveries
  })

test('a failed run is told everywhere, with its failing command, last lines, models, tests and links, without its secret', async () => {
  const slug = await client.schedule(environment, ['true', 'sh fail.sh', 'echo never'], {
    ...TELLS_ALL,
    name: 'Warehouse & <co>',
  })
  const runId = await client.trigger(slug, { reason: 'to see it fail' })
  const status = await client.ended(runId)
  assert.equal(status.state, 'ERROR')
  const deliveries = await settled(runId)
  assert.deepEqual(deliveries.map((one: { channel: string; state: string }) => `${one.channel} ${one.state}`).sort(), [
    ...['DATADOG DELIVERED', 'INCIDENT_IO DELIVERED', 'MAIL DELIVERED', 'MAIL DELIVERED', 'NEW_RELIC DELIVERED'],
    ...['PAGERDUTY DELIVERED', 'SLACK DELIVERED', 'TEAMS DELIVERED', 'WEBHOOK DELIVERED', 'WEBHOOK DELIVERED'],
  ])
  assert.deepEqual(
    all.web.flatMap((one) => one.refused),
    [],
  )
  const [mail] = all.smtp.inbox
  const command = status.commands.find((one: { command: string }) => one.command === 'sh fail.sh')
  const page = `${new URL(service.url).origin}/workspaces/${service.workspaceUid}/runs/${runId}`
  const told: Readonly<Record<string, string>> = {
    slack: JSON.stringify(all.slack.messages[0]),
    teams: JSON.stringify(all.teams.cards[0]).replaceAll('\\\\', ''),
    text: mail!.text,
    html: mail!.html.replaceAll('&amp;', '&'),
    pagerduty: all.pagerduty.incidents[0]!.details,
    incidentIo: all.incidentIo.incidents[0]!.summary,
    datadog: all.datadog.incidents[0]!.fields.summary!,
    newRelic: JSON.stringify(all.newRelic.events[0]),
  }
  for (const [name, text] of Object.entries(told))
    for (const part of [
      'sh fail.sh',
      'could not connect: ***',
      'orders',
      'not_null_orders_id',
      page,
      `command=${command.id}`,
    ])
      assert.ok(text.includes(part), `${name} lacks ${part}: ${text}`)
  assert.match(told.text!, /Warehouse & <co>/)
  assert.match(told.text!, /to see it fail/)
  assert.match(told.text!, /ended with 3/)
  assert.match(told.text!, /Commit: +[0-9a-f]{12}/)
  const everything = all.everything() + JSON.stringify(hook.received)
  for (const [form, bytes] of formsOf(secret))
    assert.ok(!Buffer.from(everything).includes(bytes), `the secret is told, as ${form}`)
})

test('the next run that passes closes the incidents and says so', async () => {
  const slug = await client.schedule(environment, ['true'], TELLS_ALL)
  const failed = await client.trigger(slug, { commands: ['exit 1'] })
  await settled(failed)
  const passed = await client.trigger(slug)
  await settled(passed)
  const own = all.pagerduty.incidents.find((one) => one.title.endsWith(`(run ${failed})`))
  assert.equal(own!.status, 'resolved')
  assert.match(own!.resolution!, new RegExp(`Run ${passed} passed`))
})

test('each integration and the mail server are tried out by a mutation', async () => {
  const { integrations } = await client.ask('{ listIntegrations { integrations { id kind } } }')
  const before = all.slack.messages.length
  const queued: string[] = []
  for (const { id } of integrations) {
    const test = 'mutation ($id: Int!) { testIntegration(id: $id, address: "#alerts") { deliveryId } }'
    queued.push((await client.ask(test, { id })).deliveryId)
  }
  queued.push((await client.ask('mutation { testMail(address: "ana@example.com") { deliveryId } }')).deliveryId)
  for (const id of queued) {
    const one = await client.until(async () => {
      const { delivery } = await client.ask(
        'query ($id: String!) { delivery(id: $id) { delivery { channel state } } }',
        { id },
      )
      return delivery.state !== 'WAITING' && delivery
    })
    assert.equal(one.state, 'DELIVERED', one.channel)
  }
  assert.equal(integrations.length, 6)
  assert.equal(all.slack.messages.length, before + 1)
  assert.match(all.smtp.inbox.at(-1)!.text, /Test message/)
})

test('a template is made, named by a schedule, shown with its name, and its words arrive', async () => {
  await client.ask(
    `mutation { createMessageTemplate(channel: EMAIL, name: "Plain words", subject: "{{schedule.name}}: {{run.state}}",
      text: "It took {{run.duration}}.") { slug } }`,
  )
  const slug = await client.schedule(environment, ['true'], {
    name: 'With words',
    notifications: {
      emailNotifications: [{ channel: 'cy@example.com', events: ['passed'], templateSlug: 'plain-words' }],
    },
  })
  const { schedule } = await client.ask(
    `query ($slug: String!) { boltSchedule(slug: $slug) { schedule {
      notifications { emailNotifications { templateSlug templateName } } } } }`,
    { slug },
  )
  assert.deepEqual(schedule.notifications.emailNotifications, [
    { templateSlug: 'plain-words', templateName: 'Plain words' },
  ])
  await client.trigger(slug)
  const mail = await client.until(async () => all.smtp.inbox.find((one) => one.recipients[0] === 'cy@example.com'))
  assert.deepEqual(mail.headers.get('subject'), ['With words: SUCCESS'])
  assert.match(mail.text, /^It took \d+ s\./)
})
