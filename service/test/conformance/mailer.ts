// What every mailer keeps to, whatever is behind it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Mail, Mailer } from '../../src/ports/mailer.ts'

export interface Delivered {
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  /** Null where nothing shows it. */
  readonly messageId: string | null
}

export interface MailerUnderTest extends AsyncDisposable {
  readonly mailer: Mailer
  delivered(): readonly Delivered[]
}

export const LINK = `http://127.0.0.1:4400/invitation/ymt_${'Ab3'.repeat(14)}x`

export const mailTo = (to: string, fields: Partial<Mail> = {}): Mail => ({
  id: '0b1e6c1e-8d5c-4a7e-9a53-0d8b6a1f2c3d',
  to,
  subject: 'Invitation to Demo on Yardmaster',
  text: `You are invited.\n\nOpen this link to accept:\n\n${LINK}\n\nGrüße, 数据\n`,
  ...fields,
})

const unhurried = (): AbortSignal => new AbortController().signal

export function mailerConformance(name: string, make: () => Promise<MailerUnderTest>): void {
  describe(`a mailer: ${name}`, () => {
    test('delivers the whole text, with its link in one piece, to the one who is named', async () => {
      await using t = await make()
      await t.mailer.send(mailTo('ana@example.com'), unhurried())
      const [mail, ...others] = t.delivered()
      assert.deepEqual(others, [])
      assert.deepEqual(mail?.to, ['ana@example.com'])
      assert.equal(mail?.subject, 'Invitation to Demo on Yardmaster')
      assert.ok(mail?.text.includes(LINK))
      assert.ok(mail?.text.includes('Grüße, 数据'))
    })

    test('gives a repetition the Message-ID of the first try', async () => {
      await using t = await make()
      await t.mailer.send(mailTo('ana@example.com'), unhurried())
      await t.mailer.send(mailTo('ana@example.com'), unhurried())
      await t.mailer.send(mailTo('ana@example.com', { id: 'another' }), unhurried())
      const [first, second, other] = t.delivered().map((mail) => mail.messageId)
      assert.equal(first, second)
      if (first !== null) assert.notEqual(first, other)
    })

    test('keeps mails that are sent at once apart', async () => {
      await using t = await make()
      const names = ['ana', 'ben', 'cleo', 'dev']
      await Promise.all(
        names.map((one) => t.mailer.send(mailTo(`${one}@example.com`, { text: `for ${one} only` }), unhurried())),
      )
      const pairs = t.delivered().map((mail) => [mail.to.join(), mail.text.trim()].join(': '))
      assert.deepEqual(
        pairs.sort(),
        names.map((one) => `${one}@example.com: for ${one} only`),
      )
    })

    test('sends nothing once it was called off', async () => {
      await using t = await make()
      await assert.rejects(t.mailer.send(mailTo('ana@example.com'), AbortSignal.abort(new Error('stop'))), /stop/)
      assert.deepEqual(t.delivered(), [])
    })

    test('takes a line break in a subject for a space, and not for a header', async () => {
      await using t = await make()
      const subject = 'Hello\r\nBcc: eve@example.com\r\n\r\nbody'
      await t.mailer.send(mailTo('ana@example.com', { subject }), unhurried())
      const [mail] = t.delivered()
      assert.deepEqual(mail?.to, ['ana@example.com'])
      assert.equal(mail?.subject.replace(/\s+/g, ' '), 'Hello Bcc: eve@example.com body')
      assert.ok(!mail?.subject.includes('\n'))
    })

    test('refuses an address with a line break in it', async () => {
      await using t = await make()
      for (const to of ['ana@example.com\r\nBcc: eve@example.com', 'ana@example.com\nRCPT TO:<eve@example.com>']) {
        await assert.rejects(t.mailer.send(mailTo(to), unhurried()))
      }
      assert.deepEqual(t.delivered(), [])
    })

    test('says that it is well', async () => {
      await using t = await make()
      await t.mailer.verify()
    })
  })
}
