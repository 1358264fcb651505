import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testApp } from '../../test/support/app.ts'
import { MissingMasterKey, Vault } from '../store/vault.ts'
import { openMail, queueMail } from './mail.ts'

const MAIL = { to: 'ana@example.com', subject: 'Invitation – Démo', text: 'Open http://h/invitation/ymt_abc\n' }

test('a mail lies sealed in its job and opens to what it was, with an id of its own', async () => {
  await using t = await testApp()
  await queueMail(t.app, t.app.db, MAIL)
  await queueMail(t.app, t.app.db, MAIL)
  const text = JSON.stringify(t.jobs)
  for (const word of ['ana@example.com', 'Invitation', 'ymt_', Buffer.from('ymt_abc').toString('base64').slice(0, 8)]) {
    assert.ok(!text.includes(word), word)
  }
  const [first, second] = t.mails()
  assert.deepEqual({ ...first, id: '' }, { ...MAIL, id: '' })
  assert.match(first!.id, /^[0-9a-f-]{36}$/)
  assert.notEqual(first!.id, second!.id)
})

test('a job whose bytes, id or key were changed does not open', async () => {
  await using t = await testApp()
  await queueMail(t.app, t.app.db, MAIL)
  await queueMail(t.app, t.app.db, MAIL)
  const [one, two] = t.jobs.map((job) => job.data as Record<string, string>)
  const changed: unknown[] = [
    { ...one, id: two!.id },
    { ...one, sealed: two!.sealed },
    { ...one, wrappedKey: two!.wrappedKey },
    { ...one, sealed: '' },
    { id: one!.id },
    {},
    null,
  ]
  for (const data of changed) assert.throws(() => openMail(t.app, data))
})

test('a mail that was queued before a rotation opens after it, and says which key is missing without', async () => {
  await using t = await testApp()
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)]
  await queueMail({ ...t.app, vault: new Vault([oldKey]) }, t.app.db, MAIL)
  const { data } = t.jobs[0]!
  assert.equal(openMail({ ...t.app, vault: new Vault([newKey, oldKey]) }, data).to, MAIL.to)
  assert.throws(() => openMail({ ...t.app, vault: new Vault([newKey]) }, data), MissingMasterKey)
})
