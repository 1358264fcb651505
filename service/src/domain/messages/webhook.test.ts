import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passedReport } from '../../../test/support/reports.ts'
import { asStarted, type ReportedCommand, type RunReport } from '../run-report.ts'
import { newWebhookSecret, webhookSignature } from '../webhook.ts'
import { MOST_BODY_BYTES, runWebhook, testWebhook } from './webhook.ts'

const report: RunReport = {
  ...passedReport,
  run: { ...passedReport.run, prNumber: 7, parentScheduleRunId: 400 },
  commands: passedReport.commands.map((one, index) =>
    index === 0 ? one : { ...one, jsonResources: [{ id: 31, path: 'target/run_results.json' }] },
  ),
}

test('the body has the documented fields, in their order, and nothing of the output', () => {
  const body = JSON.parse(runWebhook('bolt.run.completed', report))
  const [clone, build] = report.commands
  assert.deepEqual(body, {
    event: 'bolt.run.completed',
    api_url: report.apiUrl,
    workspace: report.workspace,
    schedule: report.schedule,
    run: {
      id: 412,
      state: 'SUCCESS',
      actor: 'schedule',
      actor_email: '',
      reason: '',
      start_dttm: '2026-03-02 09:00:00.123456',
      end_dttm: '2026-03-02 09:12:34.654321',
      branch: 'main',
      commit_hash: report.run.commitHash,
      pull_request_id: '7',
      parent_schedule_run_id: 400,
    },
    commands: [clone!, build!].map((one) => ({
      id: one.id,
      command: one.command,
      start_dttm: one.startDttm,
      end_dttm: one.endDttm,
      return_code: 0,
      status: 'SUCCEEDED',
      api_query: `query { boltCommand(commandId: ${one.id}) { ok id command startDttm endDttm stdout stderr returnCode scheduleRunId resources { id path } } }`,
      json_resources: one.jsonResources.map(({ id, path }) => ({
        id,
        path,
        resource_query: `query { boltResourceUrl(resourceId: ${id}) { ok url } }`,
      })),
    })),
  })
  assert.deepEqual(Object.keys(body), ['event', 'api_url', 'workspace', 'schedule', 'run', 'commands'])
  const failed = { ...report, commands: [{ ...build!, state: 'failed', lastLines: ['the output'] }] }
  assert.ok(!runWebhook('bolt.run.completed', failed).includes('the output'))
})

test('the start of a run says what was true then, however late it is told', () => {
  const body = JSON.parse(runWebhook('bolt.run.started', asStarted(report)))
  assert.deepEqual([body.run.state, body.run.end_dttm], ['RUNNING', null])
  assert.deepEqual(
    body.commands.map((one: { status: string; start_dttm: string; end_dttm: string; return_code: null }) => [
      one.status,
      one.start_dttm !== '',
      one.end_dttm,
      one.return_code,
    ]),
    [
      ['RUNNING', true, '', null],
      ['WAITING', false, '', null],
    ],
  )
})

const many = (count: number, more: (id: number) => Partial<ReportedCommand>): RunReport => ({
  ...report,
  commands: Array.from({ length: count }, (_, index) => ({
    ...report.commands[1]!,
    id: index + 1,
    ...more(index + 1),
  })),
})

test('over 256 KiB the lists of files are left out and it says so; under it nothing is', () => {
  const files = (count: number) =>
    many(1, () => ({ jsonResources: Array.from({ length: count }, (_, id) => ({ id, path: `target/${id}.json` })) }))
  const small = JSON.parse(runWebhook('bolt.run.completed', files(1000)))
  assert.deepEqual([small.truncated, small.commands[0].json_resources.length], [undefined, 1000])
  const text = runWebhook('bolt.run.completed', files(10_000))
  const large = JSON.parse(text)
  assert.deepEqual([large.truncated, large.commands[0].json_resources], [true, []])
  assert.ok(Buffer.byteLength(text) < 10_000)
})

test('a thousand commands of a hundred kilobytes still fit', () => {
  const text = runWebhook(
    'bolt.run.completed',
    many(1000, () => ({ command: 'ö'.repeat(50_000) })),
  )
  const body = JSON.parse(text)
  assert.ok(Buffer.byteLength(text) <= MOST_BODY_BYTES)
  assert.equal(body.truncated, true)
  assert.equal(body.commands.at(-1).id, 1000)
  assert.ok(body.commands.length > 100)
})

test('the signature is that of the published example of the scheme', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  assert.equal(webhookSignature([secret], message), 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  const both = webhookSignature([newWebhookSecret(), secret], message).split(' ')
  assert.deepEqual([both.length, both[1]], [2, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='])
})

test('a test says that it is one', () => {
  const test = { apiUrl: 'https://yard.example.com/graphql', workspace: { uid: 'u', name: 'W' } }
  assert.equal(
    testWebhook(test),
    '{"event":"test","api_url":"https://yard.example.com/graphql","workspace":{"uid":"u","name":"W"}}',
  )
})
