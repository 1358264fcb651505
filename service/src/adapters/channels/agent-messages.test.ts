import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slackReceiver } from '../../../test/receivers/slack.ts'
import { channelDeps, line } from '../../../test/support/channels.ts'
import { AGENT_TEXT } from '../../domain/messages/agent.ts'
import { slackChannel } from './slack.ts'

const text = (words: string, threadTs = '') => ({ event: AGENT_TEXT, body: { text: words, threadTs } })

test('an agent answers in the thread of its trigger, and mentions and links that it writes are only text', async () => {
  await using slack = await slackReceiver()
  const common = { settings: { apiUrl: slack.url }, secrets: { token: slack.token }, address: 'C0ALERTS01' }
  await line(slackChannel(channelDeps()), common).send(text('What somebody asked'))
  const { ts } = slack.messages[0]!
  const session = line(slackChannel(channelDeps()), common)
  const sent = await session.send(text('<!channel> & <https://example.com|safe>', ts))
  assert.equal(sent.kind, 'delivered', sent.answer)
  await session.send(text('x'.repeat(50_000), ts))
  const [, first, long] = slack.messages
  assert.equal(first!.text, '&lt;!channel&gt; &amp; &lt;https://example.com|safe&gt;')
  assert.ok(long!.text.length <= 12_000)
  assert.deepEqual([first!.threadTs, long!.threadTs], [ts, ts])
})

test('without a thread the first text begins one and the others follow in it', async () => {
  await using slack = await slackReceiver()
  const common = { settings: { apiUrl: slack.url }, secrets: { token: slack.token }, address: 'alerts' }
  const session = line(slackChannel(channelDeps()), common)
  for (const words of ['one', 'two', 'three']) await session.send(text(words))
  const [one, two, three] = slack.messages
  assert.deepEqual([two!.threadTs, three!.threadTs], [one!.ts, one!.ts])
  assert.equal(one!.threadTs, null)
})
