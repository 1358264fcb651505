// What follows from a run, from outside: a real service process, a real receiver, real commands.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type WebhookReceiver, webhookReceiver } from '../service/test/support/webhook-receiver.ts'
import { type Client, clientOf, makeRepository } from './support/runs.ts'
import { graphql, type ServiceProcess, startProcess } from './support/service.ts'

const SECRET = 'a-secret-of-the-workspace-81723'
/** Nothing here is measured: the machine may be busy. */
const LONG = 90_000
const OUTGOING = { YARDMASTER_OUTGOING_ALLOW: '127.0.0.1' }

let service: ServiceProcess
let client: Client
let other: Client
let environment: string
let elsewhere: string
let receiver: WebhookReceiver
let secret = ''

before(async () => {
  receiver = await webhookReceiver({ secret: () => secret, now: () => new Date() })
  const repository = await makeRepository({ 'one.txt': '1\n' })
  service = await startProcess({ env: OUTGOING })
  client = clientOf(service)
  environment = await client.environment(repository)
  await client.ask('mutation ($value: String!) { setSecret(kind: VARIABLE, name: "TOKEN", value: $value) { ok } }', {
    value: SECRET,
  })
  const { workspace } = await client.ask('mutation { createWorkspace(name: "Elsewhere") { workspace { uid } } }')
  other = clientOf({ url: service.url, key: service.key, workspaceUid: workspace.uid })
  elsewhere = await other.environment(repository)
  secret = await hook(client)
})
after(async () => {
  // What failed to start has nothing to stop, and must not keep the test going.
  await receiver[Symbol.asyncDispose]()
  await service?.stop()
})

/** Gives the secret. */
async function hook(at: Client): Promise<string> {
  const events = '["bolt.run.started", "bolt.run.completed"]'
  const made = await at.ask(
    `mutation ($url: String!) { createWebhook(webhook: { url: $url, events: ${events} }) { id secret } }`,
    { url: receiver.url },
  )
  return made.secret
}

const about = (runId: number, event: string) =>
  receiver.received.filter((one) => one.body.run?.id === runId && one.body.event === event)

test('a run is told of when it starts and when it ends, and what is told leads to the rest', async () => {
  const commands = ['echo "the token is $TOKEN"; printf "{}" > out.json', 'echo reason >&2; exit 7']
  const runId = await client.trigger(await client.schedule(environment, commands), { reason: 'to see' })
  await client.ended(runId, LONG)
  const [completed] = await client.until(async () => {
    const found = about(runId, 'bolt.run.completed')
    return found.length > 0 && about(runId, 'bolt.run.started').length > 0 && found
  }, LONG)
  const { body, text } = completed!
  assert.deepEqual([body.run.state, body.run.reason, body.run.end_dttm !== null], ['ERROR', 'to see', true])
  assert.equal(body.api_url, `${service.url}/graphql`)
  assert.ok(receiver.accepted.has(completed!.id))
  assert.ok(!text.includes(SECRET) && !text.includes('reason"\n'))
  assert.deepEqual(
    body.commands.slice(2).map((one: { status: string; return_code: number }) => [one.status, one.return_code]),
    [
      ['SUCCEEDED', 0],
      ['FAILED', 7],
    ],
  )
  for (const command of body.commands) {
    const found = await client.ask(command.api_query)
    assert.deepEqual([found.id, found.returnCode, found.scheduleRunId], [command.id, command.return_code, runId])
    for (const file of command.json_resources) {
      const { url } = await client.ask(file.resource_query)
      assert.equal(await (await fetch(url)).text(), '{}')
    }
  }
  assert.deepEqual(
    body.commands[2].json_resources.map((one: { path: string }) => one.path),
    ['out.json'],
  )
  assert.match((await client.ask(body.commands[3].api_query)).stderr, /reason/)

  const { deliveries } = await client.ask(
    'query ($id: Int!) { listDeliveries(filter: { runId: $id }) { deliveries { id event state tries } } }',
    { id: runId },
  )
  assert.deepEqual(
    deliveries.map((one: { event: string; state: string; tries: number }) => [one.event, one.state, one.tries]),
    [
      ['bolt.run.completed', 'DELIVERED', 1],
      ['bolt.run.started', 'DELIVERED', 1],
    ],
  )
  const { each } = await client.ask(
    'query ($id: String!) { delivery(id: $id) { each { status outcome durationMs } } }',
    { id: deliveries[0].id },
  )
  assert.deepEqual([each.length, each[0].status, each[0].outcome], [1, 204, 'DELIVERED'])
  const metrics = await (await fetch(`${service.url}/metrics`)).text()
  assert.match(metrics, /yardmaster_delivery_tries_total\{channel="webhook",outcome="delivered"\} [1-9]/)
})

const runsOf = async (
  at: Client,
  slug: string,
): Promise<{ id: number; state: string; parentScheduleRunId: number }[]> =>
  (
    await at.ask(
      'query ($slug: String) { listBoltRuns(slug: $slug, offset: 0, limit: 10) { runs { id state actor parentScheduleRunId } } }',
      { slug },
    )
  ).runs

test('children in two workspaces follow what they wait for, and theirs follow them', async () => {
  const parent = await client.schedule(environment, ['sh -c "$WHAT"'], { slaSeconds: 1 })
  const { name } = await client.ask('query ($slug: String) { boltScheduleName(slug: $slug) { name } }', {
    slug: parent,
  })
  const after = (at: string, scheduleName: string, triggerOn: string[]) => ({
    scheduleTrigger: { enabled: true, scheduleName, workspaceName: at, triggerOn },
  })
  const children = {
    passed: await other.schedule(elsewhere, ['true'], after('Demo', name, ['passed'])),
    failed: await client.schedule(environment, ['true'], after('Demo', name, ['failed'])),
    sla: await other.schedule(elsewhere, ['true'], after('Demo', name, ['sla'])),
  }
  const grandchild = await client.schedule(environment, ['true'], after('Elsewhere', children.passed, ['passed']))
  const good = await client.trigger(parent, { commands: ['true'] })
  const bad = await client.trigger(parent, { commands: ['false'] })
  const slow = await client.trigger(parent, { commands: ['sleep 3'] })
  const one = async (at: Client, slug: string, count = 1) =>
    await client.until(async () => {
      const found = await runsOf(at, slug)
      return found.length >= count && found.every((run) => run.state === 'SUCCESS') && found
    }, LONG)
  await client.ended(slow, LONG)
  const passed = await one(other, children.passed, 2)
  const grand = await one(client, grandchild, 2)
  assert.deepEqual(
    passed.map((run) => run.parentScheduleRunId).sort((a, b) => a - b),
    [good, slow],
  )
  assert.deepEqual(
    (await one(client, children.failed)).map((run) => run.parentScheduleRunId),
    [bad],
  )
  assert.ok((await one(other, children.sla)).some((run) => run.parentScheduleRunId === slow))
  assert.ok(grand.every((run) => passed.some(({ id }) => id === run.parentScheduleRunId)))
})

test('what a receiver did not take is sent by the next process, under the same id', async () => {
  receiver.behave = (response) => response.writeHead(500).end('not now')
  const runId = await client.trigger(await client.schedule(environment, ['true']))
  await client.ended(runId, LONG)
  const first = await client.until(async () => about(runId, 'bolt.run.completed')[0])
  // What became of the try is written: otherwise the next one comes when its claim runs out.
  await client.until(async () => {
    const { each } = await client.ask('query ($id: String!) { delivery(id: $id) { each { status } } }', {
      id: first.id,
    })
    return each.length > 0
  })
  await service.kill9()
  receiver.behave = null
  service = await startProcess({ env: OUTGOING, dataFolder: service.dataFolder })
  await client.until(async () => receiver.accepted.has(first.id), LONG)
  const { url, key, workspaceUid } = service
  const look = `{ delivery(id: "${first.id}") { delivery { state } each { status } } }`
  const found = await client.until(async () => {
    const { body } = await graphql(url, key, look, {}, { 'x-service-workspace': workspaceUid })
    const { delivery, each } = body.data!.delivery as Found
    return delivery.state === 'DELIVERED' && each
  }, LONG)
  assert.deepEqual([found[0]!.status, found.at(-1)!.status], [500, 204])
})

interface Found {
  readonly delivery: { readonly state: string }
  readonly each: readonly { readonly status: number | null }[]
}
