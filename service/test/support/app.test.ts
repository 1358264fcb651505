import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authenticate } from '../../src/app/authenticate.ts'
import { inviteUser } from '../../src/app/users.ts'
import { testApp } from './app.ts'

test('what the makers of the test app make is what the service itself finds', async () => {
  await using t = await testApp()
  const workspace = await t.workspace('Demo')
  const admin = await t.member(workspace, 'ADMIN', { email: 'ana@example.com' })
  const context = await t.contextOf(admin, workspace)
  assert.equal(context.actor.kind === 'person' && context.actor.person.runsAccount, true)

  await inviteUser(context, { email: 'ben@example.com', accountType: 'ANALYST' })
  assert.equal(t.mails()[0]?.to, 'ben@example.com')
  const [invited] = await t.records('user_invited')
  assert.equal(invited?.actorEmail, 'ana@example.com')
  assert.equal(invited?.data.email, 'ben@example.com')

  for (const kind of ['account', 'workspace', 'pair', 'personal'] as const) {
    const { key, secret } = await t.key({ kind, workspace, person: admin })
    const credentials =
      kind === 'pair' ? { kind: 'pair' as const, key, secret } : { kind: 'bearer' as const, token: key }
    const identity = await authenticate(t.app, credentials, workspace.uid)
    assert.equal(identity.rejected, null, kind)
    assert.equal(identity.selection.kind, 'found')
  }
})

test('the real queue takes a job in the transaction that sends it', async () => {
  await using t = await testApp({ queue: 'real' })
  const workspace = await t.workspace()
  await inviteUser(t.inside(workspace), { email: 'ben@example.com', accountType: 'ANALYST' })
  const { promise, resolve } = Promise.withResolvers<unknown>()
  await t.queue!.work('mail', async (data) => resolve(data))
  assert.equal(typeof (await promise), 'object')
})
