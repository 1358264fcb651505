import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestApp, testApp } from '../../test/support/app.ts'
import {
  createMessageTemplate,
  deleteMessageTemplate,
  listMessageTemplates,
  type NewMessageTemplate,
  updateMessageTemplate,
} from './message-templates.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(() => t.close())

const SHORT: NewMessageTemplate = { channel: 'slack', name: 'Short words', text: '{{run.state}}' }

test('a template is made, changed field by field and deleted, each with its audit record', async () => {
  const ctx = t.inside(await t.workspace())
  assert.deepEqual(await createMessageTemplate(ctx, SHORT), { slug: 'short-words' })
  await createMessageTemplate(ctx, { ...SHORT, channel: 'EMAIL', slug: 'mail', subject: 'Hm: {{run.id}}' })
  await updateMessageTemplate(ctx, 'short-words', { text: '{{run.id}}', name: null })
  await updateMessageTemplate(ctx, 'mail', { subject: '' })
  assert.deepEqual(
    (await listMessageTemplates(ctx)).map(({ slug, name, channel, subject, text }) => [
      slug,
      name,
      channel,
      subject,
      text,
    ]),
    [
      ['mail', 'Short words', 'email', '', '{{run.state}}'],
      ['short-words', 'Short words', 'slack', '', '{{run.id}}'],
    ],
  )
  await deleteMessageTemplate(ctx, 'mail')
  assert.equal((await listMessageTemplates(ctx)).length, 1)
  const events = (await t.records()).map((one) => one.eventType).filter((one) => one.startsWith('message_template'))
  assert.deepEqual(events.slice(-5), [
    ...['message_template_created', 'message_template_created', 'message_template_updated'],
    ...['message_template_updated', 'message_template_deleted'],
  ])
})

test('what no template can be is refused, with the field and what is allowed', async () => {
  const ctx = t.inside(await t.workspace())
  await createMessageTemplate(ctx, SHORT)
  const refused: [Partial<NewMessageTemplate>, RegExp][] = [
    [{}, /slug: there is a message template "short-words" already/],
    [{ channel: 'sms' }, /channel: "sms" is not one of slack, email, teams/],
    [{ slug: 'No Slug' }, /slug: lower-case letters/],
    [{ name: ' ' }, /name: must not be empty/],
    [{ text: '{{run.password}}' }, /no placeholder/],
    [{ slug: 'other', subject: 'x' }, /subject: only mail has one/],
    [{ slug: 'other', channel: 'email', subject: 'a\nb' }, /subject: one line/],
  ]
  for (const [change, message] of refused)
    await assert.rejects(createMessageTemplate(ctx, { ...SHORT, ...change }), { message })
  await assert.rejects(updateMessageTemplate(ctx, 'short-words', { text: '{{' }), /two braces/)
})

test('a template of another workspace is as unknown as one that there is not', async () => {
  await createMessageTemplate(t.inside(await t.workspace()), SHORT)
  const other = t.inside(await t.workspace())
  const unknown = { code: 'NOT_FOUND', message: 'No message template "short-words" in this workspace.' }
  await assert.rejects(updateMessageTemplate(other, 'short-words', { name: 'Mine' }), unknown)
  await assert.rejects(deleteMessageTemplate(other, 'short-words'), unknown)
  assert.deepEqual(await listMessageTemplates(other), [])
})
