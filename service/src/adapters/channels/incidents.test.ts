import assert from 'node:assert/strict'
import { test } from 'node:test'
import { datadogReceiver } from '../../../test/receivers/datadog.ts'
import { incidentIoReceiver } from '../../../test/receivers/incident-io.ts'
import { newRelicReceiver } from '../../../test/receivers/new-relic.ts'
import { pagerDutyReceiver } from '../../../test/receivers/pagerduty.ts'
import { channelDeps, line, sendOnce } from '../../../test/support/channels.ts'
import {
  DATADOG_ENTRY,
  failedReport,
  hostileReport,
  INCIDENT_IO_ENTRY,
  NEW_RELIC_ENTRY,
  news,
  PAGERDUTY_ENTRY,
  passedReport,
} from '../../../test/support/reports.ts'
import type { RunReport } from '../../domain/run-report.ts'
import { datadogChannel } from './datadog.ts'
import { incidentIoChannel } from './incident-io.ts'
import { newRelicChannel } from './new-relic.ts'
import { pagerDutyChannel } from './pagerduty.ts'

const run = (id: number, report: RunReport = failedReport): RunReport => ({
  ...report,
  run: { ...report.run, id },
  links: { ...report.links, run: `https://yard.example.com/workspaces/wsp_1/runs/${id}` },
})
const passedRun = (id: number): RunReport => run(id, passedReport)

async function pagerDuty() {
  const receiver = await pagerDutyReceiver()
  const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token } }
  const told = line(pagerDutyChannel(channelDeps()), common)
  const failed = (id: number) => told.send({ event: 'failed', body: news(run(id), PAGERDUTY_ENTRY) })
  const passed = (id: number) => told.send({ event: 'passed', body: news(passedRun(id), PAGERDUTY_ENTRY) })
  return Object.assign(receiver, { failed, passed, earlier: told.earlier })
}

test('PagerDuty: the first failure opens, the next ones are notes, the first pass resolves, the next failure opens anew', async () => {
  await using receiver = await pagerDuty()
  for (const id of [1, 2, 3]) assert.equal((await receiver.failed(id)).kind, 'delivered')
  assert.equal(receiver.incidents.length, 1)
  const [incident] = receiver.incidents
  assert.match(incident!.title, /^Nightly build failed \(run 1\)$/)
  assert.match(incident!.details, /orders \(model\)/)
  assert.deepEqual(
    incident!.notes.map((one) => /Run (\d+)/.exec(one)![1]),
    ['2', '3'],
  )
  assert.equal((await receiver.passed(4)).kind, 'delivered')
  assert.equal(incident!.status, 'resolved')
  assert.match(incident!.resolution!, /Run 4 passed/)
  await receiver.failed(5)
  assert.equal(receiver.incidents.length, 2)
  assert.equal(receiver.incidents[1]!.key, incident!.key)
  assert.deepEqual(
    receiver.refused.map((one) => one.answer),
    [],
  )
})

test('PagerDuty: a lost answer doubles nothing: not the incident, not a note, not the end', async () => {
  await using receiver = await pagerDuty()
  receiver.behave({ kind: 'answer lost' }, 1)
  assert.equal((await receiver.failed(1)).kind, 'again')
  assert.equal((await receiver.failed(1)).kind, 'delivered')
  assert.deepEqual([receiver.incidents.length, receiver.incidents[0]!.notes.length], [1, 0])
  // Before the note come two questions: is it open, and is the note there.
  receiver.behave({ kind: 'answer lost' }, 1, 2)
  assert.equal((await receiver.failed(2)).kind, 'again')
  assert.equal(receiver.incidents[0]!.notes.length, 1)
  assert.equal((await receiver.failed(2)).kind, 'delivered')
  assert.equal(receiver.incidents[0]!.notes.length, 1)
  receiver.behave({ kind: 'answer lost' }, 1, 1)
  assert.equal((await receiver.passed(3)).kind, 'again')
  assert.equal(receiver.incidents[0]!.status, 'resolved')
  assert.equal((await receiver.passed(3)).kind, 'delivered')
  assert.equal(receiver.incidents.length, 1)
})

test('PagerDuty: an incident that a person resolved is over: the next failure opens a new one', async () => {
  await using receiver = await pagerDuty()
  await receiver.failed(1)
  receiver.resolve(receiver.incidents[0]!.id)
  assert.equal((await receiver.passed(2)).answer, 'No incident was open.')
  await receiver.failed(3)
  receiver.resolve(receiver.incidents[1]!.id)
  await receiver.failed(4)
  assert.deepEqual(
    receiver.incidents.map((one) => one.status),
    ['resolved', 'resolved', 'triggered'],
  )
})

test('PagerDuty: where what was told before is not known any more, the open incident is found by its key', async () => {
  await using receiver = await pagerDuty()
  await receiver.failed(1)
  receiver.earlier.length = 0
  assert.equal((await receiver.failed(2)).kind, 'delivered')
  assert.deepEqual([receiver.incidents.length, receiver.incidents[0]!.notes.length], [1, 1])
  await receiver.passed(3)
  assert.equal(receiver.incidents[0]!.status, 'resolved')
})

test('PagerDuty: what the entry says reaches its fields, and what it refuses is shown', async () => {
  await using receiver = await pagerDutyReceiver()
  const channel = pagerDutyChannel(channelDeps())
  const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token }, event: 'failed' }
  const entry = { ...PAGERDUTY_ENTRY, assigneeIds: ['PUSER'], urgency: 'low' }
  await sendOnce(channel, { ...common, body: news(failedReport, entry) })
  assert.deepEqual(receiver.incidents[0]!.fields, {
    type: 'incident',
    service: { id: 'PSERVICE', type: 'service_reference' },
    incident_type: { name: 'data_incident' },
    priority: { id: 'PPRIO', type: 'priority_reference' },
    urgency: 'low',
    assignments: [{ assignee: { id: 'PUSER', type: 'user_reference' } }],
  })
  for (const wrong of [{ fromEmail: 'nobody@example.com' }, { serviceId: 'PNONE' }, { urgency: 'medium' }]) {
    const body = { ...news(failedReport, { ...PAGERDUTY_ENTRY, ...wrong }), key: 'other' }
    const sent = await sendOnce(channel, { ...common, body })
    assert.deepEqual([sent.kind, sent.status], ['refused', 400], JSON.stringify(wrong))
  }
})

test('incident.io: ids and names, further failures in the summary, closed by its status, safe to repeat', async () => {
  await using receiver = await incidentIoReceiver()
  const common = { settings: { apiUrl: receiver.url }, secrets: { token: receiver.token } }
  const told = line(incidentIoChannel(channelDeps()), common)
  const entry = { ...INCIDENT_IO_ENTRY, severity: 'major', type: 'data', status: 'Fixing' }
  const failed = (id: number, deliveryId = `delivery-${id}`) =>
    told.send({ id: deliveryId, event: 'failed', body: news(run(id), entry) })
  // After three questions for the ids of the names.
  receiver.behave({ kind: 'answer lost' }, 1, 3)
  assert.equal((await failed(1)).kind, 'again')
  assert.equal(receiver.incidents.length, 1)
  assert.equal((await failed(1)).kind, 'delivered')
  assert.equal((await failed(2)).kind, 'delivered')
  assert.equal((await failed(3)).kind, 'delivered')
  assert.equal(receiver.incidents.length, 1)
  const [incident] = receiver.incidents
  assert.deepEqual(incident!.fields, { mode: 'standard', severity_id: '01SEVMAJOR', incident_type_id: '01TYPEDATA' })
  assert.match(incident!.summary, /Also failed since then \(2\):\n- run 2, .*\n- run 3, /)
  await told.send({ event: 'passed', body: news(passedRun(4), entry) })
  assert.equal(receiver.isOpen(incident!), false)
  assert.match(incident!.summary, /Run 4 passed/)
  assert.deepEqual(receiver.refused, [])
  const unknown = await sendOnce(incidentIoChannel(channelDeps()), {
    ...common,
    body: news(run(5), { ...entry, severity: 'Huge' }),
  })
  assert.equal(unknown.kind, 'refused')
  assert.match(unknown.answer, /knows no "Huge" among its severities: Minor, Major/)
})

test('Datadog: its form, further failures in the summary, resolved by its state', async () => {
  await using receiver = await datadogReceiver()
  const { apiKey, applicationKey } = receiver
  const common = { settings: { apiUrl: receiver.url }, secrets: { apiKey, applicationKey } }
  const told = line(datadogChannel(channelDeps()), common)
  for (const id of [1, 2]) {
    const sent = await told.send({ event: 'failed', body: news(run(id), DATADOG_ENTRY) })
    assert.equal(sent.kind, 'delivered', sent.answer)
  }
  await told.send({ event: 'passed', body: news(passedRun(3), DATADOG_ENTRY) })
  assert.equal(receiver.incidents.length, 1)
  const [incident] = receiver.incidents
  assert.equal(incident!.commander, DATADOG_ENTRY.commanderUserId)
  assert.deepEqual([incident!.fields.severity, incident!.fields.state], ['SEV-2', 'resolved'])
  assert.match(incident!.fields.summary!, /Also failed since then \(1\):\n- run 2[\s\S]*Run 3 passed/)
  assert.deepEqual(receiver.refused, [])
})

test('New Relic: an event for each run that opens, adds to or closes an incident', async () => {
  await using receiver = await newRelicReceiver()
  const { accountId, licenseKey } = receiver
  const common = { settings: { apiUrl: receiver.url, accountId }, secrets: { licenseKey } }
  const told = line(newRelicChannel(channelDeps()), common)
  for (const id of [1, 2]) await told.send({ event: 'failed', body: news(run(id), NEW_RELIC_ENTRY) })
  await told.send({ event: 'passed', body: news(passedRun(3), NEW_RELIC_ENTRY) })
  const seen = receiver.events.map((one) => [one.action, one.runId, one.environment])
  assert.deepEqual(seen, [
    ['open', 1, 'production'],
    ['add', 2, 'production'],
    ['close', 3, 'production'],
  ])
  const wrong = await sendOnce(newRelicChannel(channelDeps()), {
    ...common,
    secrets: { licenseKey: 'wrong-key' },
    body: news(run(1), NEW_RELIC_ENTRY),
  })
  assert.deepEqual([wrong.kind, wrong.status], ['refused', 403])
})

test('the most hostile report is taken by every incident service', async () => {
  await using pagerduty = await pagerDutyReceiver()
  await using incidentIo = await incidentIoReceiver()
  await using datadog = await datadogReceiver()
  await using newRelic = await newRelicReceiver()
  const deps = channelDeps()
  const { apiKey, applicationKey } = datadog
  const sends = [
    sendOnce(pagerDutyChannel(deps), {
      settings: { apiUrl: pagerduty.url },
      secrets: { token: pagerduty.token },
      body: news(hostileReport, PAGERDUTY_ENTRY),
    }),
    sendOnce(incidentIoChannel(deps), {
      settings: { apiUrl: incidentIo.url },
      secrets: { token: incidentIo.token },
      body: news(hostileReport, INCIDENT_IO_ENTRY),
    }),
    sendOnce(datadogChannel(deps), {
      settings: { apiUrl: datadog.url },
      secrets: { apiKey, applicationKey },
      body: news(hostileReport, DATADOG_ENTRY),
    }),
    sendOnce(newRelicChannel(deps), {
      settings: { apiUrl: newRelic.url, accountId: newRelic.accountId },
      secrets: { licenseKey: newRelic.licenseKey },
      body: news(hostileReport, NEW_RELIC_ENTRY),
    }),
  ]
  for (const sent of await Promise.all(sends)) assert.equal(sent.kind, 'delivered', sent.answer)
})

test('a test asks about the account and opens nothing; only New Relic, which has no question, gets an event', async () => {
  await using pagerduty = await pagerDutyReceiver()
  await using incidentIo = await incidentIoReceiver()
  await using datadog = await datadogReceiver()
  await using newRelic = await newRelicReceiver()
  const deps = channelDeps()
  const { apiKey, applicationKey } = datadog
  const body = { workspace: passedReport.workspace, url: 'https://yard.example.com/workspaces/wsp_1' }
  const tests = [
    [pagerDutyChannel(deps), pagerduty.url, { token: pagerduty.token }, {}],
    [incidentIoChannel(deps), incidentIo.url, { token: incidentIo.token }, {}],
    [datadogChannel(deps), datadog.url, { apiKey, applicationKey }, {}],
    [newRelicChannel(deps), newRelic.url, { licenseKey: newRelic.licenseKey }, { accountId: newRelic.accountId }],
  ] as const
  for (const [channel, apiUrl, secrets, settings] of tests) {
    const good = await sendOnce(channel, { event: 'test', body, settings: { apiUrl, ...settings }, secrets })
    assert.equal(good.kind, 'delivered', `${channel.kind}: ${good.answer}`)
    const spoiled = Object.fromEntries(Object.keys(secrets).map((name) => [name, 'wrong-credential']))
    const bad = await sendOnce(channel, { event: 'test', body, settings: { apiUrl, ...settings }, secrets: spoiled })
    assert.equal(bad.kind, 'refused', channel.kind)
  }
  const opened = [pagerduty.incidents, incidentIo.incidents, datadog.incidents].flat()
  assert.deepEqual(opened, [])
  assert.deepEqual(
    newRelic.events.map((one) => one.action),
    ['test'],
  )
})
