// One-time links: the sign-in link, the invitation, the new password.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PASSWORD, type TestPages, testPages } from '../../../test/support/pages.ts'
import { createSignInLink, requestPasswordReset, sendPasswordReset } from '../../app/sign-in.ts'
import { disableUser, inviteUser } from '../../app/users.ts'
import type { AccountType } from '../../domain/account-type.ts'
import type { WorkspaceRef } from '../../domain/actor.ts'
import * as people from '../../store/people.ts'

const NEW = 'a new password'
const pathOf = (link: string): string => new URL(link).pathname
const twice = (password: string) => ({ password, again: password })

const invite = async (t: TestPages, workspace: WorkspaceRef, email: string, accountType: AccountType = 'ANALYST') =>
  pathOf((await inviteUser(t.inside(workspace), { email, accountType })).link)

const MADE_UP = `/ymt_${'a'.repeat(43)}`

test('a link that is made up, cut short or of another kind is a page that says so', async () => {
  await using t = await testPages()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ADMIN', { password: PASSWORD })
  const token = (await createSignInLink(t.system, ana, 5)).split('/').at(-1)!
  for (const kind of ['welcome', 'invitation', 'reset']) {
    const bad = [MADE_UP, '/x', `/${token.slice(0, -1)}`, `/${token}x`, '/%00', '/ymt_%F0%9F%99%88']
    if (kind !== 'welcome') bad.push(`/${token}`)
    for (const path of bad) {
      const visitor = t.visitor()
      const fields = { name: 'Eve', current: PASSWORD, ...twice(NEW) }
      for (const answer of [await visitor.get(`/${kind}${path}`), await visitor.post(`/${kind}${path}`, fields)]) {
        assert.equal(answer.status, 404, `/${kind}${path}`)
        assert.match(answer.text, /This link was used, has expired, or is not whole\. Ask for a new one\./)
        assert.deepEqual(answer.cookies, [])
      }
    }
  }
  // Counted into one record for the address.
  assert.equal((await t.records('sign_in_refused')).length, 1)
})

describe('the one-time sign-in link', () => {
  test('is not used up by looking, signs in once and leads to a first password', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { email: 'ana@example.com' })
    const path = pathOf(await createSignInLink(t.system, ana, 5))
    for (let look = 0; look < 3; look++) {
      const page = await t.visitor().get(path)
      assert.equal(page.status, 200)
      assert.match(page.text, /ana@example\.com/)
      assert.deepEqual(page.cookies, [])
    }
    const visitor = t.visitor()
    const answer = await visitor.post(path)
    assert.equal(answer.status, 303)
    assert.equal(answer.location, '/account/password')
    assert.match((await visitor.get('/account/password')).text, /Choose a password/)
    assert.equal((await t.visitor().post(path)).status, 404)
    assert.equal((await t.visitor().get(path)).status, 404)
    assert.deepEqual(
      (await t.records('signed_in')).map((one) => one.data.how),
      ['link'],
    )
  })

  test('leads to the start page for somebody who has a password', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    assert.equal((await t.visitor().post(pathOf(await createSignInLink(t.system, ana, 5)))).location, '/')
  })

  test('lets one of two in who press at once', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN')
    const path = pathOf(await createSignInLink(t.system, ana, 5))
    const answers = await Promise.all(Array.from({ length: 5 }, () => t.visitor().post(path)))
    assert.deepEqual(answers.map((one) => one.status).sort(), [303, 404, 404, 404, 404])
    assert.equal((await t.records('signed_in')).length, 1)
    assert.equal((await t.records('sign_in_refused')).length, 1)
  })

  test('ends with its time, with the last workspace and with a new password', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    await t.member(workspace, 'ADMIN')
    const ana = await t.member(workspace, 'ANALYST', { password: PASSWORD })
    const expired = pathOf(await createSignInLink(t.system, ana, 0))
    assert.equal((await t.visitor().post(expired)).status, 404)

    const path = pathOf(await createSignInLink(t.system, ana, 5))
    const visitor = t.visitor()
    await visitor.signIn(ana.email, PASSWORD)
    await visitor.post('/account/password', { current: PASSWORD, ...twice(NEW) })
    assert.equal((await t.visitor().post(path)).status, 404)

    const other = pathOf(await createSignInLink(t.system, ana, 5))
    await disableUser(t.inside(workspace), { uid: ana.uid })
    assert.equal((await t.visitor().post(other)).status, 404)
  })
})

describe('an invitation', () => {
  test('makes somebody new a user with the name and password that they choose', async () => {
    await using t = await testPages()
    const workspace = await t.workspace('Demo')
    const path = await invite(t, workspace, 'ben@example.com')
    const visitor = t.visitor('192.0.2.44')
    const page = await visitor.get(path)
    assert.match(page.text, /Join Demo/)
    assert.match(page.html, /<input id="email"[^>]* readonly value="ben@example.com"/)
    const answer = await visitor.post(path, { name: ' Ben ', ...twice(NEW) })
    assert.equal(answer.location, '/')
    assert.match(answer.cookies[0]!, /^yardmaster_session=ymt_.*HttpOnly; SameSite=Strict$/)
    assert.match((await visitor.get('/')).text, /Hello, Ben .*ben@example\.com .*Demo [a-z0-9]{16} ANALYST/)
    assert.equal((await t.visitor().signIn('ben@example.com', NEW)).status, 303)

    const ben = (await people.findByEmail(t.app.db, 'ben@example.com'))!
    const [accepted] = await t.records('invitation_accepted')
    assert.equal(accepted?.workspaceId, workspace.id)
    assert.equal(accepted?.actorUserId, ben.id)
    assert.deepEqual(accepted?.data, { email: 'ben@example.com', uid: ben.uid, account_type: 'ANALYST' })
    const signedIn = (await t.records('signed_in'))[0]
    assert.equal(signedIn?.actorUserId, ben.id)
    assert.deepEqual(signedIn?.data, { how: 'invitation', address: '192.0.2.44' })
    assert.equal((await t.visitor().post(path, { name: 'Eve', ...twice(NEW) })).status, 404)
  })

  test('says what is wrong with a name or a password, keeps the name, and can be tried again', async () => {
    await using t = await testPages()
    const path = await invite(t, await t.workspace(), 'ben@example.com')
    const visitor = t.visitor()
    const cases = [
      [{ name: 'Ben', password: 'too short', again: 'too short' }, 'Password: at least 10 characters.'],
      [{ name: 'Ben', password: NEW, again: 'another password' }, 'The two passwords differ.'],
      [{ name: 'Ben', ...twice('x'.repeat(1001)) }, 'Password: at most 1,000 characters.'],
      [{ name: '', ...twice(NEW) }, 'Name: must not be empty.'],
      [{ name: 'B'.repeat(129), ...twice(NEW) }, 'Name: at most 128 characters, not 129.'],
      [{ name: 'B\0n', ...twice(NEW) }, 'Name: no line breaks or control characters.'],
    ] as const
    for (const [fields, error] of cases) {
      const answer = await visitor.post(path, fields)
      assert.equal(answer.status, 400)
      assert.equal(answer.error, error)
      assert.ok(!answer.html.includes(fields.password))
      if (fields.name === 'Ben') assert.match(answer.html, /name="name"[^>]* value="Ben"/)
    }
    assert.equal((await visitor.post(path, { name: 'Ben', ...twice(NEW) })).status, 303)
  })

  test('asks somebody known for the password that they have', async () => {
    await using t = await testPages()
    const [first, second] = [await t.workspace('First'), await t.workspace('Second')]
    const ana = await t.member(first, 'ADMIN', { email: 'ana@example.com', name: 'Ana', password: PASSWORD })
    const path = await invite(t, second, 'ANA@example.com', 'DEVELOPER')
    const visitor = t.visitor()
    const page = await visitor.get(path)
    assert.match(page.html, /name="current"[^>]* autocomplete="current-password"/)
    assert.doesNotMatch(page.html, /new-password/)
    assert.match(page.html, /href="\/reset"/)
    // A new password and name are not asked for, and not taken.
    const wrong = await visitor.post(path, { current: 'not it at all', name: 'Eve', ...twice(NEW) })
    assert.equal(wrong.status, 401)
    assert.equal(wrong.error, 'The password is not right.')
    assert.equal((await visitor.post(path, { name: 'Eve', ...twice(NEW) })).status, 401)
    assert.equal((await visitor.post(path, { current: PASSWORD, name: 'Eve', ...twice(NEW) })).location, '/')
    assert.match((await visitor.get('/')).text, /Hello, Ana .*First [a-z0-9]{16} ADMIN Second [a-z0-9]{16} DEVELOPER/)
    assert.equal((await people.findById(t.app.db, ana.id))?.name, 'Ana')
    assert.equal((await t.visitor().signIn('ana@example.com', NEW)).status, 401)
    assert.equal((await t.records('sign_in_refused'))[0]?.data.how, 'invitation')
  })

  test('lets somebody who never had a password choose one', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { email: 'ana@example.com', name: 'By her provider' })
    const path = await invite(t, await t.workspace('Second'), 'ana@example.com')
    assert.equal((await t.visitor().post(path, { name: 'Ana', ...twice(NEW) })).location, '/')
    assert.equal((await people.findById(t.app.db, ana.id))?.name, 'Ana')
    assert.equal((await t.visitor().signIn('ana@example.com', NEW)).status, 303)
    assert.deepEqual(
      (await t.records('password_changed')).map((one) => one.data),
      [{ how: 'invitation' }],
    )
  })

  test('lets one of several in who send it at once, and makes one person', async () => {
    await using t = await testPages()
    const path = await invite(t, await t.workspace(), 'ben@example.com')
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, index) => t.visitor().post(path, { name: `Ben ${index}`, ...twice(NEW) })),
    )
    assert.deepEqual(answers.map((one) => one.status).sort(), [303, 404, 404, 404])
    assert.equal((await t.records('invitation_accepted')).length, 1)
    assert.equal((await t.app.db.selectFrom('person').selectAll().execute()).length, 1)
  })

  test('to two workspaces, accepted at once, makes one person in both or says to try again', async () => {
    await using t = await testPages()
    const paths = [
      await invite(t, await t.workspace('First'), 'ben@example.com'),
      await invite(t, await t.workspace('Second'), 'ben@example.com'),
    ]
    const fields = { name: 'Ben', ...twice(NEW) }
    const answers = await Promise.all(paths.map((path) => t.visitor().post(path, fields)))
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 303) continue
      assert.equal(answer.status, 409)
      assert.match(answer.error!, /open the link again/)
      assert.equal((await t.visitor().post(paths[index]!, { current: NEW })).status, 303)
    }
    const [ben, ...others] = await t.app.db.selectFrom('person').selectAll().execute()
    assert.deepEqual(others, [])
    assert.equal((await people.memberships(t.app.db, ben!.id)).length, 2)
  })

  test('that was renewed gives what the new one says, and the old link is dead', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    const old = await invite(t, workspace, 'ben@example.com', 'ADMIN')
    const renewed = await invite(t, workspace, 'ben@example.com', 'ANALYST')
    assert.equal((await t.visitor().get(old)).status, 404)
    const visitor = t.visitor()
    await visitor.post(renewed, { name: 'Ben', ...twice(NEW) })
    assert.match((await visitor.get('/')).text, /ANALYST/)
  })

  test('that is renewed while the old one is being accepted is not taken with the old account type', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    await invite(t, workspace, 'ben@example.com', 'ADMIN')
    const read = (await people.findInvitationsOf(t.app.db, 'ben@example.com'))[0]!
    await invite(t, workspace, 'ben@example.com', 'ANALYST')
    assert.equal(await people.acceptInvitation(t.app.db, read), false)
  })

  test('to a workspace that was archived meanwhile, or that has expired, is dead', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    const path = await invite(t, workspace, 'ben@example.com')
    await t.app.db.updateTable('invitation').set({ expires_at: '2020-01-01T00:00:00Z' }).execute()
    assert.equal((await t.visitor().get(path)).status, 404)
    const again = await invite(t, workspace, 'ben@example.com')
    await t.app.db.updateTable('workspace').set({ archived_at: '2020-01-01T00:00:00Z' }).execute()
    assert.equal((await t.visitor().post(again, { name: 'Ben', ...twice(NEW) })).status, 404)
  })
})

describe('a forgotten password', () => {
  /** The answer does not wait for the mail, so the test does, until it is committed. */
  async function resetLink(t: TestPages): Promise<string> {
    while ((await t.records('password_reset_requested')).length === 0) await new Promise(setImmediate)
    return /http:\/\/127\.0\.0\.1:4400\/reset\/ymt_\w+/.exec(t.mails().at(-1)!.text)![0]
  }

  test('is answered alike for everybody, and mailed to whom it belongs', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    const ana = await t.member(workspace, 'ADMIN', { email: 'ana@example.com', password: PASSWORD })
    await t.person({ email: 'outside@example.com', password: PASSWORD })
    const ask = (email: string) => t.visitor().post('/reset', { email })
    const [known, unknown, outside] = [
      await ask('ANA@example.com'),
      await ask('nobody@example.com'),
      await ask('outside@example.com'),
    ]
    assert.equal(known.html, unknown.html)
    assert.equal(known.html, outside.html)
    assert.equal(known.status, 200)
    const link = await resetLink(t)
    assert.match((await t.visitor().get(pathOf(link))).text, /Choose a new password/)
    assert.equal((await t.records('password_reset_requested')).length, 1)
    const bad = await ask('no address')
    assert.equal(bad.status, 400)
    assert.match(bad.error!, /E-mail address: not a well-formed/)
    // Closing waits for what is under way.
    await t.server.close()
    assert.deepEqual(
      t.mails().map((mail) => mail.to),
      [ana.email],
    )
  })

  test('is set once by its link, which signs in here and out everywhere else', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const thief = t.visitor()
    await thief.signIn(ana.email, PASSWORD)
    const path = pathOf(await sendPasswordReset(t.system, ana))
    const other = pathOf(await sendPasswordReset(t.system, ana))
    const visitor = t.visitor()
    const short = await visitor.post(path, twice('short'))
    assert.equal(short.error, 'Password: at least 10 characters.')
    assert.equal((await visitor.post(path, { password: NEW, again: `${NEW}!` })).error, 'The two passwords differ.')
    assert.equal((await visitor.post(path, twice(NEW))).location, '/')
    assert.equal((await visitor.get('/')).status, 200)
    assert.equal((await thief.get('/')).location, '/signin')
    assert.equal((await t.visitor().signIn(ana.email, PASSWORD)).status, 401)
    assert.equal((await t.visitor().signIn(ana.email, NEW)).status, 303)
    for (const dead of [path, other]) assert.equal((await t.visitor().post(dead, twice('yet another one'))).status, 404)
    const [changed] = await t.records('password_changed')
    assert.equal(changed?.actorUserId, ana.id)
    assert.deepEqual(changed?.data, { how: 'reset' })
  })

  test('lets one of two set it who send at once', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN')
    const path = pathOf(await sendPasswordReset(t.system, ana))
    const answers = await Promise.all([t.visitor().post(path, twice(NEW)), t.visitor().post(path, twice(PASSWORD))])
    assert.deepEqual(answers.map((one) => one.status).sort(), [303, 404])
    assert.equal((await t.records('password_changed')).length, 1)
  })

  test('of somebody who is invited back can be set, and gets them in through the invitation only', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    await t.member(workspace, 'ADMIN')
    const ben = await t.member(workspace, 'ANALYST', { email: 'ben@example.com', password: PASSWORD })
    await disableUser(t.inside(workspace), { uid: ben.uid })
    await requestPasswordReset(t.app, { id: '', address: '192.0.2.1', userAgent: '' }, ben.email)
    assert.deepEqual(t.mails(), [])
    const invitation = await invite(t, workspace, ben.email)
    const visitor = t.visitor()
    await visitor.post('/reset', { email: ben.email })
    const answer = await visitor.post(pathOf(await resetLink(t)), twice(NEW))
    assert.equal(answer.status, 200)
    assert.match(answer.text, /Open the link of the invitation/)
    assert.deepEqual(answer.cookies, [])
    assert.equal((await visitor.post(invitation, { current: NEW })).location, '/')
  })
})

describe('the own password', () => {
  test('is changed with the one before it, which ends every other session and keeps this one', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const [visitor, other] = [t.visitor(), t.visitor()]
    await visitor.signIn(ana.email, PASSWORD)
    await other.signIn(ana.email, PASSWORD)
    const page = await visitor.get('/account/password')
    assert.match(page.html, /<label for="current">Current password<\/label>/)
    for (const current of ['', 'not it at all']) {
      const wrong = await visitor.post('/account/password', { current, ...twice(NEW) })
      assert.equal(wrong.status, 401)
      assert.equal(wrong.error, 'The current password is not right.')
    }
    const short = await visitor.post('/account/password', { current: PASSWORD, ...twice('short') })
    assert.equal(short.error, 'Password: at least 10 characters.')
    assert.equal((await visitor.post('/account/password', { current: PASSWORD, ...twice(NEW) })).location, '/')
    assert.equal((await visitor.get('/')).status, 200)
    assert.equal((await other.get('/')).location, '/signin')
    assert.equal((await t.visitor().signIn(ana.email, NEW)).status, 303)
    const [refused] = await t.records('sign_in_refused')
    assert.equal(refused?.actorUserId, ana.id)
    assert.equal(refused?.data.how, 'password change')
    assert.deepEqual(
      (await t.records('password_changed')).map((one) => one.data),
      [{ how: 'changed' }],
    )
  })

  test('is chosen without one before it by somebody who has none', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN')
    const visitor = t.visitor()
    await visitor.post(pathOf(await createSignInLink(t.system, ana, 5)))
    assert.doesNotMatch((await visitor.get('/account/password')).html, /current-password/)
    assert.equal((await visitor.post('/account/password', twice(NEW))).location, '/')
    assert.equal((await t.visitor().signIn(ana.email, NEW)).status, 303)
  })

  test('is for whoever is signed in, everybody else signs in first', async () => {
    await using t = await testPages()
    const visitor = t.visitor()
    assert.equal((await visitor.get('/account/password')).location, '/signin?next=%2Faccount%2Fpassword')
    assert.equal((await visitor.post('/account/password', twice(NEW))).location, '/signin?next=%2Faccount%2Fpassword')
    assert.equal((await visitor.get('/')).location, '/signin')
  })
})

test('the start page says who one is, where, and how to ask', async () => {
  await using t = await testPages()
  const workspace = await t.workspace('Demo')
  const ana = await t.member(workspace, 'ADMIN', { name: 'Ana', password: PASSWORD })
  const visitor = t.visitor()
  await visitor.signIn(ana.email, PASSWORD)
  const page = await visitor.get('/')
  assert.match(page.text, new RegExp(`Hello, Ana .*${ana.email} .*Demo ${workspace.uid} ADMIN`))
  assert.match(page.html, /<a href="\/graphiql">/)
  assert.match(page.html, /curl http:\/\/127\.0\.0\.1:4400\/graphql/)
  assert.match(page.html, new RegExp(`X-Service-Workspace: ${workspace.uid}`))
  assert.match(page.html, /<form method="post" action="\/signout">/)
})
