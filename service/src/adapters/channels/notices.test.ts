import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slackReceiver } from '../../../test/receivers/slack.ts'
import { smtpReceiver } from '../../../test/receivers/smtp.ts'
import { teamsReceiver } from '../../../test/receivers/teams.ts'
import { channelDeps, line, sendOnce } from '../../../test/support/channels.ts'
import { failedReport, hostileReport, lateReport, notice, passedReport } from '../../../test/support/reports.ts'
import { smtpMailer } from '../mail/smtp.ts'
import { mailChannel } from './mail.ts'
import { slackChannel } from './slack.ts'
import { teamsChannel } from './teams.ts'

const TEST_BODY = { workspace: passedReport.workspace, url: 'https://yard.example.com/workspaces/wsp_1' }

test('Slack takes every notice, the most hostile one too, under the name or the id of a channel', async () => {
  await using slack = await slackReceiver()
  const channel = slackChannel(channelDeps())
  const common = { settings: { apiUrl: slack.url }, secrets: { token: slack.token } }
  for (const address of ['alerts', '#alerts', 'C0ALERTS01'])
    for (const report of [failedReport, hostileReport]) {
      const sent = await sendOnce(channel, { ...common, address, body: notice('failed', report) })
      assert.equal(sent.kind, 'delivered', sent.answer)
    }
  assert.equal(slack.messages.length, 6)
  assert.ok(slack.messages.every((one) => one.channel === 'C0ALERTS01'))
  assert.match(slack.messages[0]!.text, /Nightly build failed/)
})

test('a late run that ended: its notice says so, and what happened stands in its thread', async () => {
  await using slack = await slackReceiver()
  const channel = slackChannel(channelDeps())
  const common = { settings: { apiUrl: slack.url }, secrets: { token: slack.token }, address: '#alerts' }
  const run = line(channel, common)
  await run.send({ event: 'sla', body: notice('sla', lateReport) })
  assert.match(slack.messages[0]!.text, /is late/)
  assert.equal((await run.send({ event: 'failed', body: notice('failed', failedReport) })).kind, 'delivered')
  const [late, ended] = slack.messages
  assert.equal(late!.edits, 1)
  assert.match(late!.text, /was late and failed/)
  assert.deepEqual([ended!.threadTs, ended!.isBroadcast], [late!.ts, true])
  // Good news does not go to everybody once more.
  const other = line(channel, common)
  await other.send({ event: 'sla', body: notice('sla', lateReport) })
  await other.send({ event: 'passed', body: notice('passed', passedReport) })
  assert.deepEqual([slack.messages[3]!.threadTs, slack.messages[3]!.isBroadcast], [slack.messages[2]!.ts, false])
})

test('a notice whose late message was deleted is posted in its thread all the same', async () => {
  await using slack = await slackReceiver()
  const common = { settings: { apiUrl: slack.url }, secrets: { token: slack.token }, address: '#alerts' }
  const run = line(slackChannel(channelDeps()), common)
  await run.send({ event: 'sla', body: notice('sla', lateReport) })
  slack.behave({ kind: 'status', status: 404 }, 1)
  assert.equal((await run.send({ event: 'passed', body: notice('passed', passedReport) })).kind, 'delivered')
  assert.deepEqual(
    slack.messages.map((one) => one.edits),
    [0, 0],
  )
})

test('what Slack says with 200 and ok:false is its real answer: a bad token is final, a busy moment is not', async () => {
  await using slack = await slackReceiver()
  const channel = slackChannel(channelDeps())
  const common = { settings: { apiUrl: slack.url }, address: '#alerts', body: notice('passed', passedReport) }
  const wrong = await sendOnce(channel, { ...common, secrets: { token: 'xoxb-wrong-token-0' } })
  assert.equal(wrong.kind, 'refused')
  assert.match(wrong.answer, /^invalid_auth: Slack does not know this token/)
  const gone = await sendOnce(channel, { ...common, secrets: { token: slack.token }, address: '#gone' })
  assert.deepEqual([gone.kind, gone.answer.slice(0, 17)], ['refused', 'channel_not_found'])
  const none = await sendOnce(channel, { ...common, secrets: {} })
  assert.deepEqual([none.kind, none.status], ['refused', null])
  assert.match(none.answer, /not set up/)
  slack.behave({ kind: 'rate limited', seconds: 30 })
  const busy = await sendOnce(channel, { ...common, secrets: { token: slack.token } })
  assert.deepEqual(busy.kind === 'again' && [busy.status, busy.afterSeconds], [429, 30])
  assert.equal(slack.messages.length, 0)
})

test('Teams takes every notice as a card, and only under its secret address', async () => {
  await using teams = await teamsReceiver()
  const channel = teamsChannel(channelDeps())
  for (const report of [failedReport, hostileReport])
    for (const event of ['failed', 'passed', 'sla'] as const) {
      const sent = await sendOnce(channel, { secrets: { url: teams.webhook }, body: notice(event, report) })
      assert.deepEqual([sent.kind, sent.status], ['delivered', 202], sent.answer)
    }
  assert.equal(teams.cards.length, 6)
  const wrong = teams.webhook.replace(/sig=.*/, 'sig=wrong-signature')
  const refused = await sendOnce(channel, { secrets: { url: wrong }, body: notice('passed', passedReport) })
  assert.deepEqual([refused.kind, refused.status], ['refused', 401])
})

test('a mail has text and HTML, one receiver, and the id of its delivery over all tries', async () => {
  await using smtp = await smtpReceiver()
  const channel = mailChannel(smtpMailer({ url: smtp.url, from: 'Yardmaster <yard@mail.example.com>' }))
  const id = '0b1e6c1e-8d5c-4a7e-9a53-0d8b6a1f2c3d'
  const mail = { id, address: 'ana@example.com', body: notice('failed', failedReport) }
  assert.equal((await sendOnce(channel, mail)).kind, 'delivered')
  assert.equal((await sendOnce(channel, mail)).kind, 'delivered')
  assert.equal(smtp.received.length, 2)
  assert.equal(smtp.inbox.length, 1)
  const [one] = smtp.inbox
  assert.deepEqual(one!.headers.get('message-id'), [`<${id}@mail.example.com>`])
  assert.deepEqual(one!.recipients, ['ana@example.com'])
  assert.match(one!.text, /not_null_customers_id/)
  assert.match(one!.html, /not_null_customers_id/)
  const hostile = await sendOnce(channel, { address: 'ana@example.com', body: notice('failed', hostileReport) })
  assert.equal(hostile.kind, 'delivered', hostile.answer)
})

test('a mail that its server refuses for good is not tried again; one that it puts off is', async () => {
  await using smtp = await smtpReceiver()
  const channel = mailChannel(smtpMailer({ url: smtp.url, from: 'yard@mail.example.com' }))
  const mail = { address: 'ana@example.com', body: notice('passed', passedReport) }
  for (const [behaviour, kind] of [
    ['greylisting', 'again'],
    ['no such user', 'refused'],
    ['no such content', 'refused'],
    [null, 'delivered'],
  ] as const) {
    smtp.behave(behaviour)
    assert.equal((await sendOnce(channel, mail)).kind, kind, String(behaviour))
  }
})

test('a test says that it is one, in each channel', async () => {
  await using slack = await slackReceiver()
  await using teams = await teamsReceiver()
  await using smtp = await smtpReceiver()
  const inSlack = { event: 'test', settings: { apiUrl: slack.url }, secrets: { token: slack.token }, body: TEST_BODY }
  const toSlack = slackChannel(channelDeps())
  assert.equal((await sendOnce(toSlack, { ...inSlack, address: '#alerts' })).kind, 'delivered')
  assert.match(slack.messages[0]!.text, /Test message/)
  // Without a channel only the token is asked about.
  assert.equal((await sendOnce(toSlack, inSlack)).kind, 'delivered')
  assert.equal(slack.asked.at(-1)!.path, '/auth.test')
  const toTeams = teamsChannel(channelDeps())
  await sendOnce(toTeams, { event: 'test', secrets: { url: teams.webhook }, body: TEST_BODY })
  assert.match(JSON.stringify(teams.cards[0]), /Test message/)
  const byMail = mailChannel(smtpMailer({ url: smtp.url, from: 'yard@mail.example.com' }))
  await sendOnce(byMail, { event: 'test', address: 'ana@example.com', body: TEST_BODY })
  assert.match(smtp.inbox[0]!.text, /Test message/)
})
