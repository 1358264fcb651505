import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  brokenReport,
  DATADOG_ENTRY,
  failedReport,
  hostileReport,
  INCIDENT_IO_ENTRY,
  lateReport,
  NEW_RELIC_ENTRY,
  news,
  notice,
  PAGERDUTY_ENTRY,
  passedReport,
} from '../../../test/support/reports.ts'
import { datadogClosing, datadogFirst, datadogFurther, datadogIncident, datadogSummary } from './datadog.ts'
import { addFailure, NO_FURTHER } from './incident.ts'
import {
  incidentIoClosing,
  incidentIoFirst,
  incidentIoFurther,
  incidentIoIncident,
  incidentIoSummary,
} from './incident-io.ts'
import { renderMail } from './mail.ts'
import { newRelicEvents } from './new-relic.ts'
import { noticeOf } from './notice.ts'
import { pagerDutyIncident, pagerDutyNote, pagerDutyResolution } from './pagerduty.ts'
import { escapedWithin, renderSlack, renderSlackUpdate, type SlackMessage } from './slack.ts'
import { renderTeams } from './teams.ts'
import { cut, durationText, lastLinesWithin, nodeText, plain } from './words.ts'

const file = (name: string): string => join(import.meta.dirname, 'snapshots', name)
const asJson = { serializers: [(value: unknown) => JSON.stringify(value, null, 2)] }
const asText = { serializers: [(value: unknown) => String(value)] }

const NOTICES = {
  failed: notice('failed', failedReport),
  broken: notice('failed', brokenReport),
  passed: notice('passed', passedReport),
  late: notice('sla', lateReport),
  test: noticeOf('test', { workspace: passedReport.workspace, url: 'https://yard.example.com/workspaces/wsp_1' }),
}

for (const [name, one] of Object.entries(NOTICES)) {
  test(`what people read of a run is as it was looked at: ${name}`, (t) => {
    t.assert.fileSnapshot(renderSlack(one), file(`slack-${name}.json`), asJson)
    t.assert.fileSnapshot(renderTeams(one), file(`teams-${name}.json`), asJson)
    const mail = renderMail(one)
    t.assert.fileSnapshot(`Subject: ${mail.subject}\n\n${mail.text}`, file(`mail-${name}.txt`), asText)
    t.assert.fileSnapshot(mail.html, file(`mail-${name}.html`), asText)
  })
}

test('the notice that a run is late says how it ended, as it was looked at', (t) => {
  t.assert.fileSnapshot(renderSlackUpdate(NOTICES.failed), file('slack-late-then-failed.json'), asJson)
  t.assert.fileSnapshot(renderSlackUpdate(NOTICES.passed), file('slack-late-then-passed.json'), asJson)
})

const further = addFailure(NO_FURTHER, { ...failedReport, run: { ...failedReport.run, id: 413 } })

test('what incident services are told is as it was looked at', (t) => {
  const failed = news(failedReport, PAGERDUTY_ENTRY)
  t.assert.fileSnapshot(
    {
      create: pagerDutyIncident(failed),
      createForPeople: pagerDutyIncident(news(brokenReport, { ...PAGERDUTY_ENTRY, assigneeIds: ['PUSER'] })),
      note: pagerDutyNote(failed),
      resolve: pagerDutyResolution(news(passedReport, PAGERDUTY_ENTRY)),
    },
    file('pagerduty.json'),
    asJson,
  )
  const atIo = news(failedReport, INCIDENT_IO_ENTRY)
  const ids = { severityId: '01SEV', statusId: '01STATUS', typeId: '01TYPE' }
  const summary = incidentIoSummary(incidentIoFirst(atIo), further)
  t.assert.fileSnapshot(
    {
      create: incidentIoIncident(atIo, '0b1e6c1e-8d5c-4a7e-9a53-0d8b6a1f2c3d', ids),
      further: incidentIoFurther(summary),
      close: incidentIoClosing(news(passedReport, INCIDENT_IO_ENTRY), summary, '01CLOSED'),
    },
    file('incident-io.json'),
    asJson,
  )
  const atDatadog = news(failedReport, DATADOG_ENTRY)
  const told = datadogSummary(datadogFirst(atDatadog), further)
  t.assert.fileSnapshot(
    {
      create: datadogIncident(atDatadog),
      further: datadogFurther('an-id', told),
      close: datadogClosing('an-id', news(passedReport, DATADOG_ENTRY), told),
    },
    file('datadog.json'),
    asJson,
  )
  t.assert.fileSnapshot(
    {
      open: newRelicEvents(news(failedReport, NEW_RELIC_ENTRY), 'open', 'a-delivery'),
      close: newRelicEvents(news(passedReport, NEW_RELIC_ENTRY), 'close', 'a-delivery'),
    },
    file('new-relic.json'),
    asJson,
  )
})

/** Every text in a message, with where it stands. */
function* texts(value: unknown, at = ''): Generator<[string, string]> {
  if (typeof value === 'string') yield [at, value]
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) yield* texts(one, `${at}.${key}`)
}

function fitsSlack({ text, blocks }: SlackMessage): void {
  assert.ok(text.length <= 4000 && blocks.length <= 50)
  let all = 0
  for (const block of blocks) {
    const {
      type,
      text: own,
      fields = [],
    } = block as { type: string; text?: { text: string }; fields?: { text: string }[] }
    all += JSON.stringify(block).length
    if (own !== undefined) assert.ok(own.text.length > 0 && own.text.length <= (type === 'header' ? 150 : 3000))
    assert.ok(fields.length <= 10)
    for (const one of fields) assert.ok(one.text.length <= 2000)
  }
  assert.ok(all < 13_000, `${all} characters`)
}

test('the longest report fits what Slack and Teams take', () => {
  const reports = [hostileReport, failedReport, { ...hostileReport, commands: hostileReport.commands.slice(0, 1) }]
  for (const report of reports)
    for (const event of ['failed', 'passed', 'sla', 'test'] as const) {
      fitsSlack(renderSlack(notice(event, report)))
      fitsSlack(renderSlackUpdate(notice(event, report)))
      const card = JSON.stringify(renderTeams(notice(event, report)))
      assert.ok(Buffer.byteLength(card) < 28_000, `${Buffer.byteLength(card)} bytes`)
      assert.ok(renderMail(notice(event, report)).html.length < 200_000)
    }
})

test('what a run says becomes no mention, link, markup or script anywhere', () => {
  const one = notice('failed', hostileReport)
  const slack = renderSlack(one)
  // A header is plain text: Slack reads no markup there.
  for (const [at, text] of texts([slack.text, slack.blocks.slice(1)])) assert.doesNotMatch(text, /[<>]/, at)
  const mail = renderMail(one)
  assert.doesNotMatch(mail.html, /<script|<img|<b>|<i>|<[^>]*\ssrc=|url\(|@import/i)
  assert.doesNotMatch(mail.subject, /[\r\n]/)
  const card = renderTeams(one).attachments[0].content
  for (const [at, text] of texts([card.body])) assert.doesNotMatch(text, /(?<!\\)\]\((?!\\)/, at)
  for (const message of [renderSlack(one), renderTeams(one), mail])
    assert.ok(!JSON.stringify(message).includes('\\u001b'))
})

test('the code of a command cannot end its block early', () => {
  const blocks = renderSlack(notice('failed', hostileReport)).blocks
  const fenced = blocks.map((one) => JSON.stringify(one)).filter((one) => one.includes('```'))
  assert.equal(fenced.length, 1)
  assert.equal(fenced[0]!.split('```').length, 3)
})

test('texts are cut between characters, to what they are when they are escaped', () => {
  assert.equal(cut('abc', 3), 'abc')
  assert.equal(cut('abcd', 3), 'ab…')
  assert.equal(cut('a😀😀', 3), 'a…')
  assert.equal(escapedWithin('&&&&', 12), '&amp;&amp;…')
  assert.ok(escapedWithin('<'.repeat(5000), 3000).length <= 3000)
  assert.equal(lastLinesWithin(['one', 'two', 'three'], 9), 'two\nthree')
  assert.equal(lastLinesWithin(['one', 'a long line'], 6), 'a lon…')
  assert.equal(lastLinesWithin([], 6), '')
})

test('durations, nodes and control characters are written for people', () => {
  assert.deepEqual([0, 59.6, 61, 3725, 90_061].map(durationText), [
    '0 s',
    '1 min',
    '1 min 1 s',
    '1 h 2 min 5 s',
    '1 d 1 h 1 min 1 s',
  ])
  const named = (uniqueId: string) => nodeText({ uniqueId, status: 'error', message: '' })
  assert.equal(named('model.shop.orders.v2'), 'orders.v2 (model)')
  assert.equal(named('test.shop.unique_orders_id.a1b2c3d4e5'), 'unique_orders_id (test)')
  assert.equal(named('odd'), 'odd')
  assert.equal(plain('a\u001b[1;31mb\u001b[0m\r\nc\u0000\u202e'), 'ab\nc')
})
