import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { ACCOUNT_TYPES, type AccountType, RIGHTS } from '../domain/account-type.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError } from '../domain/errors.ts'
import * as people from '../store/people.ts'
import type { Context } from './context.ts'
import { disableUser, inviteUser, listUsers, updateUserAccountType } from './users.ts'

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

async function typesIn(t: TestApp, workspace: WorkspaceRef): Promise<Record<string, AccountType>> {
  const { active } = await listUsers(t.inside(workspace))
  return Object.fromEntries(active.map((one) => [one.email, one.accountType]))
}

/** The context of a key with the capability: no person stands behind it. */
async function asKey(t: TestApp, workspace: WorkspaceRef): Promise<Context> {
  const { id } = await t.key({ capabilities: ['users:admin'] })
  const key = {
    id,
    kind: 'account' as const,
    name: 'k',
    client: null,
    capabilities: ['users:admin'] as const,
    workspaceId: null,
    makerId: null,
    makerEmail: '',
  }
  return { ...t.inside(workspace), actor: { kind: 'key', key } }
}

test('users are listed by name, with open and expired invitations and without used ones', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN', { name: 'Zoe', email: 'zoe@example.com' })
  await t.member(workspace, 'ANALYST', { name: 'Ana', email: 'ana@example.com' })
  await t.member(await t.workspace(), 'ADMIN', { name: 'Elsewhere' })
  await inviteUser(t.inside(workspace), { email: 'open@example.com', accountType: 'DEVELOPER' })
  await inviteUser(t.inside(workspace), { email: 'late@example.com', accountType: 'BUSINESS' })
  await inviteUser(t.inside(workspace), { email: 'used@example.com', accountType: 'BUSINESS' })
  await sql`update invitation set expires_at = clock_timestamp() where email = 'late@example.com'`.execute(t.app.db)
  await sql`update invitation set accepted_at = clock_timestamp() where email = 'used@example.com'`.execute(t.app.db)
  const { active, invited } = await listUsers(t.inside(workspace))
  assert.deepEqual(
    active.map((one) => [one.name, one.accountType]),
    [
      ['Ana', 'ANALYST'],
      ['Zoe', 'ADMIN'],
    ],
  )
  assert.deepEqual(
    invited.map((one) => [one.email, one.accountType, one.expired]),
    [
      ['late@example.com', 'BUSINESS', true],
      ['open@example.com', 'DEVELOPER', false],
    ],
  )
})

test('an invitation is sent as a link that is in the mail and nowhere in the database', async () => {
  await using t = await testApp()
  const workspace = await t.workspace('Demo')
  const { link } = await inviteUser(t.inside(workspace), { email: ' ben@example.com ', accountType: 'ANALYST' })
  assert.match(link, /^http:\/\/127\.0\.0\.1:4400\/invitation\/ymt_[A-Za-z0-9]{43}$/)
  const [mail] = t.mails()
  assert.equal(mail?.to, 'ben@example.com')
  assert.ok(mail.text.includes(link) && mail.text.includes('Demo') && mail.text.includes('7 days'))
  const token = link.split('/').at(-1)!
  const { rows } = await sql<{ row: string }>`select invitation::text as row from invitation
    union all select audit_log::text from audit_log`.execute(t.app.db)
  for (const { row } of rows) assert.ok(!row.includes(token) && !row.includes(Buffer.from(token).toString('hex')))
  const [record] = await t.records('user_invited')
  assert.deepEqual(record?.data, { email: 'ben@example.com', account_type: 'ANALYST', renewed: false, by: 'test' })
})

test('inviting again renews the one invitation, may change the type, and makes the old link worthless', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const first = await inviteUser(t.inside(workspace), { email: 'ben@example.com', accountType: 'ANALYST' })
  const second = await inviteUser(t.inside(workspace), { email: 'BEN@example.com', accountType: 'DEVELOPER' })
  const find = (link: string) => people.findInvitation(t.app.db, t.app.vault.hashesOf(link.split('/').at(-1)!))
  assert.equal(await find(first.link), null)
  assert.equal((await find(second.link))?.accountType, 'DEVELOPER')
  assert.equal((await listUsers(t.inside(workspace))).invited.length, 1)
  assert.deepEqual(
    (await t.records('user_invited')).map((one) => one.data.renewed),
    [false, true],
  )
})

test('ten invitations of one address at once are one invitation', async () => {
  await using t = await testApp({ poolSize: 10 })
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN')
  const all = await Promise.all(
    Array.from({ length: 10 }, () =>
      inviteUser(t.inside(workspace), { email: 'b@example.com', accountType: 'ANALYST' }),
    ),
  )
  assert.equal(all.length, 10)
  assert.equal((await listUsers(t.inside(workspace))).invited.length, 1)
})

test('a user who is active, and an address that is none, are not invited', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN', { email: 'ana@example.com' })
  const invite = (email: string) => inviteUser(t.inside(workspace), { email, accountType: 'ANALYST' })
  await refused(invite('Ana@Example.com'), 'CONFLICT', /active user of this workspace already.*updateUserAccountType/)
  for (const email of ['', 'ana', 'a@b@c', 'a\u0000@example.com'])
    await refused(invite(email), 'INVALID_INPUT', /^email: /)
  assert.equal(t.mails().length, 0)
})

test('each account type gives and takes what the table of grants says, and nothing else', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  // Two administrators, so that it is never the last one who is changed.
  await t.member(workspace, 'ADMIN')
  await t.member(workspace, 'ADMIN')
  let tried = 0
  for (const own of ACCOUNT_TYPES) {
    const ctx = await t.contextOf(await t.member(workspace, own), workspace)
    for (const type of ACCOUNT_TYPES) {
      const may = RIGHTS[own].grants.includes(type)
      const other = await t.member(workspace, type)
      const third = await t.member(workspace, 'SANDBOX_USER')
      const works: [string, () => Promise<unknown>][] = [
        ['invites', () => inviteUser(ctx, { email: `new-${tried}@example.com`, accountType: type })],
        ['changes from', () => updateUserAccountType(ctx, { uid: other.uid, accountType: type })],
        ['removes', () => disableUser(ctx, { uid: other.uid })],
      ]
      if (RIGHTS[own].grants.includes('SANDBOX_USER')) {
        works.push(['changes to', () => updateUserAccountType(ctx, { uid: third.uid, accountType: type })])
      }
      for (const [what, work] of works) {
        if (may) await work()
        else await refused(work(), 'FORBIDDEN', new RegExp(`account type ${type}`))
        tried++
        assert.ok(tried > 0, `${own} ${what} ${type}`)
      }
    }
  }
  assert.equal(tried, 9 * 9 * 3 + 3 * 9)
})

test('an invitation of a mightier type cannot be renewed into a lesser one by somebody who could not give it', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN')
  const security = await t.contextOf(await t.member(workspace, 'SECURITY_ADMIN'), workspace)
  await inviteUser(t.inside(workspace), { email: 'boss@example.com', accountType: 'ADMIN' })
  await refused(inviteUser(security, { email: 'boss@example.com', accountType: 'ANALYST' }), 'FORBIDDEN', /ADMIN/)
  assert.equal((await listUsers(t.inside(workspace))).invited[0]?.accountType, 'ADMIN')
})

test('a key with the capability gives any type', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN')
  const ctx = await asKey(t, workspace)
  for (const type of ACCOUNT_TYPES)
    await inviteUser(ctx, { email: `${type.toLowerCase()}@example.com`, accountType: type })
  assert.equal((await listUsers(ctx)).invited.length, 9)
})

test('the last administrator stays: neither a lesser role nor a removal, whoever asks', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'WORKSPACE_ADMIN', { email: 'ana@example.com' })
  await t.member(workspace, 'SECURITY_ADMIN')
  await t.member(await t.workspace(), 'ADMIN')
  for (const ctx of [t.inside(workspace), await t.contextOf(ana, workspace), await asKey(t, workspace)]) {
    await refused(disableUser(ctx, { uid: ana.uid }), 'CONFLICT', /ana@example.com is the last administrator/)
    await refused(
      updateUserAccountType(ctx, { uid: ana.uid, accountType: 'DEVELOPER' }),
      'CONFLICT',
      /last administrator/,
    )
  }
  // From one kind of administrator to the other is no loss.
  await updateUserAccountType(t.inside(workspace), { uid: ana.uid, accountType: 'ADMIN' })
  const ben = await t.member(workspace, 'WORKSPACE_ADMIN')
  await disableUser(await t.contextOf(ben, workspace).then((ctx) => ({ ...ctx, actor: t.system.actor })), {
    uid: ana.uid,
  })
  await refused(disableUser(t.inside(workspace), { uid: ben.uid }), 'CONFLICT', /last administrator/)
})

test('of two administrators who remove each other at once, or step down at once, one stays, every time', async () => {
  await using t = await testApp({ poolSize: 10 })
  for (let round = 0; round < 15; round++) {
    const workspace = await t.workspace()
    const [ana, ben] = [await t.member(workspace, 'ADMIN'), await t.member(workspace, 'ADMIN')]
    const [asAna, asBen] = [await t.contextOf(ana, workspace), await t.contextOf(ben, workspace)]
    const step = round % 3
    const works =
      step === 0
        ? [disableUser(asAna, { uid: ben.uid }), disableUser(asBen, { uid: ana.uid })]
        : step === 1
          ? [disableUser(asAna, { uid: ana.uid }), disableUser(asBen, { uid: ben.uid })]
          : [
              updateUserAccountType(asAna, { uid: ana.uid, accountType: 'DEVELOPER' }),
              disableUser(asBen, { uid: ben.uid }),
            ]
    const outcomes = await Promise.allSettled(works)
    assert.equal(outcomes.filter((one) => one.status === 'fulfilled').length, 1, `round ${round}`)
    for (const one of outcomes) if (one.status === 'rejected') assert.ok(one.reason instanceof AppError)
    const left = Object.values(await typesIn(t, workspace)).filter((type) => type === 'ADMIN')
    assert.equal(left.length, 1)
  }
})

test('a change of role is recorded from what to what; a change to the same role is none', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ANALYST', { email: 'ana@example.com' })
  const ctx = t.inside(workspace)
  await updateUserAccountType(ctx, { uid: ana.uid, accountType: 'DEVELOPER' })
  await updateUserAccountType(ctx, { uid: ana.uid, accountType: 'DEVELOPER' })
  assert.deepEqual(await typesIn(t, workspace), { 'ana@example.com': 'DEVELOPER' })
  assert.deepEqual(
    (await t.records('user_account_type_updated')).map((one) => [one.data.from, one.data.to]),
    [['ANALYST', 'DEVELOPER']],
  )
})

test('a person is taken out of one workspace only, with the invitations that would let them back in', async () => {
  await using t = await testApp()
  const [one, two] = [await t.workspace(), await t.workspace()]
  const ana = await t.member(one, 'ANALYST', { email: 'ana@example.com' })
  await people.join(t.app.db, two.id, ana.id, 'DEVELOPER')
  await sql`insert into invitation (workspace_id, email, account_type, token_hash, expires_at)
    values (${one.id}, 'ANA@example.com', 'ADMIN', 'x', clock_timestamp() + interval '1 day')`.execute(t.app.db)
  await disableUser(t.inside(one), { uid: ana.uid })
  assert.deepEqual(await typesIn(t, one), {})
  assert.deepEqual(await typesIn(t, two), { 'ana@example.com': 'DEVELOPER' })
  assert.equal((await listUsers(t.inside(one))).invited.length, 0)
  await refused(disableUser(t.inside(one), { uid: ana.uid }), 'NOT_FOUND', /No active user/)
  // A new invitation lets them back in.
  await inviteUser(t.inside(one), { email: 'ana@example.com', accountType: 'BUSINESS' })
  assert.equal((await listUsers(t.inside(one))).invited.length, 1)
})

test('a uid of another workspace, of nobody and of nonsense are the same: not found', async () => {
  await using t = await testApp()
  const [one, two] = [await t.workspace(), await t.workspace()]
  const stranger = await t.member(two, 'ANALYST')
  const messages = new Set<string>()
  for (const uid of [stranger.uid, 'a'.repeat(16), '', "'; drop table person", '\u0000']) {
    for (const work of [
      () => disableUser(t.inside(one), { uid }),
      () => updateUserAccountType(t.inside(one), { uid, accountType: 'ANALYST' }),
    ]) {
      const error = await work().then(
        () => null,
        (error: unknown) => error,
      )
      assert.ok(error instanceof AppError && error.code === 'NOT_FOUND')
      messages.add(error.message)
    }
  }
  assert.equal(messages.size, 1)
})
