// Webhooks, integrations and deliveries by command, on a data folder of their own.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type CommandLine, codeOf, commandLine } from '../../test/support/command-line.ts'

let line: CommandLine
before(async () => {
  line = commandLine()
  await line.json(['setup', '--workspace', 'Analytics', '--admin-email', 'ana@example.com'])
})
after(() => line.remove())

test('a webhook is made, tried, given a new secret and deleted; its delivery stays to be seen and sent again', async () => {
  const made = await line.jsonHere<{ id: number; secret: string }>([
    'webhooks',
    'create',
    'https://hooks.example.com/x',
  ])
  assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const id = String(made.id)
  const { secret } = await line.jsonHere<{ secret: string }>(['webhooks', 'rotate', id, '--overlap-hours', '1'])
  assert.notEqual(secret, made.secret)
  const { deliveryId } = await line.jsonHere<{ deliveryId: string }>(['webhooks', 'test', id])
  await line.jsonHere([
    'webhooks',
    'update',
    id,
    '--enabled',
    'false',
    '--event',
    'bolt.run.started,bolt.run.completed',
  ])
  const [listed] = await line.jsonHere<Record<string, unknown>[]>(['webhooks', 'list'])
  assert.deepEqual(
    [listed!.enabled, listed!.events, listed!.secrets],
    [false, ['bolt.run.started', 'bolt.run.completed'], 2],
  )
  assert.ok(!JSON.stringify(listed).includes('whsec_'))
  const refused = await line.here(['webhooks', 'test', id, '--json'])
  assert.equal(codeOf(refused.err), 'CONFLICT')

  await line.jsonHere(['deliveries', 'again', deliveryId])
  const shown = await line.jsonHere<{ state: string; each: unknown[] }>(['deliveries', 'show', deliveryId])
  assert.deepEqual([shown.state, shown.each], ['waiting', []])
  const waiting = await line.jsonHere<{ id: string }[]>(['deliveries', 'list', '--state', 'waiting', '--webhook', id])
  assert.deepEqual(
    waiting.map((one) => one.id),
    [deliveryId],
  )
  await line.jsonHere(['webhooks', 'delete', id])
  assert.deepEqual(await line.jsonHere(['webhooks', 'list']), [])
})

test('an integration takes its secrets from the standard input and never shows them', async () => {
  const kinds = await line.here(['integrations', 'create', 'slack', '--json'])
  assert.match(kinds.err, /secrets\.token: needed/)
  const made = await line.jsonHere<{ id: number }>(['integrations', 'create', 'slack', '--secrets'], {
    input: 'token=xoxb-long-enough\n',
  })
  const all = await line.jsonHere<Record<string, unknown>[]>(['integrations', 'list'])
  assert.deepEqual(
    all.map((one) => [one.id, one.kind, one.secretNames]),
    [[made.id, 'slack', ['token']]],
  )
  assert.ok(!JSON.stringify(all).includes('xoxb'))
  await line.jsonHere(['integrations', 'test', String(made.id), '--address', '#data'])
  await line.jsonHere(['integrations', 'test-mail', 'ana@example.com'])
  await line.jsonHere(['integrations', 'remove', String(made.id)])
  assert.deepEqual(await line.jsonHere(['integrations', 'list']), [])
})
