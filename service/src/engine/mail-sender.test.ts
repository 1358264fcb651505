import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testApp } from '../../test/support/app.ts'
import { recordingMailer } from '../../test/support/mailer.ts'
import { inviteUser } from '../app/users.ts'
import type { Mail } from '../ports/mailer.ts'
import { startMailSender } from './mail-sender.ts'

test('a mail goes through the queue to the mailer, and its link is not readable on the way', async () => {
  await using t = await testApp({ queue: 'real' })
  const invitation = { email: 'ben@example.com', accountType: 'ANALYST' } as const
  const { link } = await inviteUser(t.inside(await t.workspace()), invitation)
  const { rows } = await sql<{ data: unknown }>`select data from pgboss.job where name = 'mail'`.execute(t.app.db)
  assert.equal(rows.length, 1)
  assert.ok(!JSON.stringify(rows).includes('ymt_') && !JSON.stringify(rows).includes('ben@'))

  const sent = Promise.withResolvers<Mail>()
  const mailer = recordingMailer()
  await startMailSender(t.app, t.queue!, {
    ...mailer,
    send: async (mail, signal) => {
      await mailer.send(mail, signal)
      sent.resolve(mail)
    },
  })
  const mail = await sent.promise
  assert.equal(mail.to, 'ben@example.com')
  assert.ok(mail.text.includes(link))
})

test('a mail that was not sent stays in the queue, and the log says why without its text', async () => {
  await using t = await testApp({ queue: 'real' })
  const { link } = await inviteUser(t.inside(await t.workspace()), { email: 'ben@example.com', accountType: 'ANALYST' })
  const mailer = recordingMailer()
  mailer.failWith(new Error('the mail server is down'))
  await startMailSender(t.app, t.queue!, mailer)
  const stateOf = async () =>
    (await sql<{ state: string }>`select state from pgboss.job where name = 'mail'`.execute(t.app.db)).rows[0]?.state
  while ((await stateOf()) !== 'retry') await new Promise(setImmediate)
  const line = t.lines.find((one) => one.level === 'warn')
  assert.match(String(line?.fields.err), /the mail server is down/)
  assert.ok(!JSON.stringify(t.lines).includes(link))
  assert.deepEqual(mailer.sent, [])
})
