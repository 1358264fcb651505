import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PASSWORD, testPages } from '../../../test/support/pages.ts'
import { disableUser, inviteUser } from '../../app/users.ts'
import * as audit from '../../store/audit.ts'
import * as sessions from '../../store/sessions.ts'

describe('signing in', () => {
  test('with the right password opens a session whose cookie is kept from scripts and other sites', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { email: 'Ana@Example.com', password: PASSWORD })
    const visitor = t.visitor('192.0.2.9')
    // The address is one whatever its case, and a space before or behind it is no part of it.
    const answer = await visitor.signIn(' ana@example.com ', PASSWORD)
    assert.equal(answer.status, 303)
    assert.equal(answer.location, '/')
    assert.equal(answer.cookies.length, 1)
    assert.match(
      answer.cookies[0]!,
      /^yardmaster_session=ymt_[A-Za-z0-9]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    )
    assert.equal((await visitor.get('/')).status, 200)
    const [record, ...others] = await t.records('signed_in')
    assert.deepEqual(others, [])
    assert.equal(record?.actorType, 'user')
    assert.equal(record?.actorUserId, ana.id)
    assert.equal(record?.actorEmail, 'Ana@Example.com')
    assert.deepEqual(record?.data, { how: 'password', address: '192.0.2.9' })
  })

  test('under https makes a cookie that never leaves it', async () => {
    await using t = await testPages({ settings: { publicUrl: 'https://yard.example.com', sessionHours: 2 } })
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const answer = await t.visitor().signIn(ana.email, PASSWORD)
    assert.match(answer.cookies[0]!, /; Path=\/; Max-Age=7200; HttpOnly; SameSite=Strict; Secure$/)
  })

  test('gives a new token each time, and the token itself is nowhere in the database', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    await visitor.signIn(ana.email, PASSWORD)
    const first = visitor.cookies.get('yardmaster_session')!
    await visitor.signIn(ana.email, PASSWORD)
    const second = visitor.cookies.get('yardmaster_session')!
    assert.notEqual(first, second)
    const rows = await t.app.db.selectFrom('session').selectAll().execute()
    assert.equal(rows.length, 2)
    assert.ok(!JSON.stringify(rows).includes(first.slice(4)))
    assert.ok(!JSON.stringify(await t.records()).includes('ymt_'))
  })

  test('leads to where the visitor was going, if that is here', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    const page = await visitor.get('/signin?next=/graphiql')
    assert.match(page.html, /<input type="hidden" name="next" value="\/graphiql">/)
    const fields = { email: ana.email, password: PASSWORD }
    assert.equal((await visitor.post('/signin', { ...fields, next: '/graphiql' })).location, '/graphiql')
    assert.equal((await visitor.post('/signin', { ...fields, next: '//evil.example' })).location, '/')
    // Signed in already: there is nothing to ask.
    assert.equal((await visitor.get('/signin?next=/graphiql')).location, '/graphiql')
    assert.equal((await visitor.get('/signin?next=https://evil.example')).location, '/')
  })

  test('is refused in the same words whether the person, the password or every workspace is missing', async () => {
    await using t = await testPages()
    const workspace = await t.workspace()
    await t.member(workspace, 'ADMIN', { email: 'ana@example.com', password: PASSWORD })
    await t.member(workspace, 'ADMIN', { email: 'link-only@example.com' })
    await t.person({ email: 'outside@example.com', password: PASSWORD })
    const tries = [
      ['ana@example.com', 'wrong password'],
      ['ana@example.com', ''],
      ['nobody@example.com', PASSWORD],
      ['link-only@example.com', ''],
      ['outside@example.com', PASSWORD],
      ['not an address', PASSWORD],
      ['ana@example.com\0', PASSWORD],
      ['a'.repeat(300), PASSWORD],
      ['', ''],
    ] as const
    for (const [email, password] of tries) {
      const answer = await t.visitor().signIn(email, password)
      assert.equal(answer.status, 401, email)
      assert.equal(answer.error, 'The e-mail address or the password is not right.')
      assert.deepEqual(answer.cookies, [])
      // What was typed into the password is not shown again.
      assert.ok(password === '' || !answer.html.includes(password))
    }
  })

  test('refusals are one record an hour for an address, with their count beside it', async () => {
    await using t = await testPages()
    for (let time = 0; time < 5; time++) await t.visitor('192.0.2.1').signIn('ana@example.com', 'wrong password')
    await t.visitor('192.0.2.2').signIn('ana@example.com', 'wrong password')
    const records = await t.records('sign_in_refused')
    assert.deepEqual(
      records.map((one) => one.data),
      [
        { how: 'password', address: '192.0.2.1' },
        { how: 'password', address: '192.0.2.2' },
      ],
    )
    const filter = {
      visible: 'all',
      offset: 0,
      limit: 10,
      from: null,
      to: null,
      eventType: null,
      actorEmail: null,
    } as const
    const { records: listed } = await audit.list(t.app.db, filter)
    assert.deepEqual(
      listed.map((one) => one.refusals),
      [1, 5],
    )
    // People type passwords into the field for the address.
    assert.ok(!JSON.stringify(records).includes('ana@'))
  })

  test('from a link on another page comes without the cookie, and is sent on once to fetch it', async () => {
    await using t = await testPages()
    const visitor = t.visitor()
    const elsewhere = { 'sec-fetch-site': 'cross-site' }
    const answer = await visitor.get('/signin?next=/graphiql', elsewhere)
    assert.equal(answer.status, 200)
    assert.match(answer.html, /<meta http-equiv="refresh" content="0; url=\/signin\?next=%2Fgraphiql">/)
    assert.match(answer.html, /<a href="\/signin\?next=%2Fgraphiql">/)
    const own = await visitor.get('/signin?next=/graphiql', { 'sec-fetch-site': 'same-origin' })
    assert.match(own.html, /<form/)
    for (const path of ['/', '/account/password']) {
      assert.match((await visitor.get(path, elsewhere)).html, new RegExp(`content="0; url=${path}"`))
    }
  })
})

describe('signing out', () => {
  test('ends the session at once, takes the cookie away and is on record', async () => {
    await using t = await testPages()
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    await visitor.signIn(ana.email, PASSWORD)
    const stolen = visitor.cookies.get('yardmaster_session')!
    const answer = await visitor.post('/signout')
    assert.equal(answer.location, '/signin')
    assert.match(answer.cookies[0]!, /^yardmaster_session=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/)
    const thief = t.visitor()
    thief.cookies.set('yardmaster_session', stolen)
    assert.equal((await thief.get('/')).location, '/signin')
    const [record] = await t.records('signed_out')
    assert.equal(record?.actorUserId, ana.id)
  })

  test('is no error for somebody who is not signed in, also twice at once', async () => {
    await using t = await testPages()
    assert.equal((await t.visitor().post('/signout')).location, '/signin')
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    await visitor.signIn(ana.email, PASSWORD)
    const both = await Promise.all([visitor.post('/signout'), visitor.post('/signout')])
    assert.deepEqual(
      both.map((one) => one.location),
      ['/signin', '/signin'],
    )
    assert.equal((await t.records('signed_out')).length, 1)
  })
})

test('a cookie that is none of ours, twice there, expired or of somebody else is nobody', async () => {
  await using t = await testPages()
  const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
  const visitor = t.visitor()
  await visitor.signIn(ana.email, PASSWORD)
  const token = visitor.cookies.get('yardmaster_session')!
  const with_ = (cookie: string) => t.visitor().get('/', { cookie })
  assert.equal((await with_(`yardmaster_session=${token}`)).status, 200)
  for (const cookie of [
    'yardmaster_session=',
    'yardmaster_session=ymt_short',
    `yardmaster_session=${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`,
    `yardmaster_session=${token}; yardmaster_session=other`,
    `other=${token}`,
  ]) {
    assert.equal((await with_(cookie)).location, '/signin', cookie)
  }
  await t.app.db.updateTable('session').set({ expires_at: '2020-01-01T00:00:00Z' }).execute()
  assert.equal((await with_(`yardmaster_session=${token}`)).location, '/signin')
})

test('a person with no workspace left is out at once and cannot come back, until a new invitation', async () => {
  await using t = await testPages()
  const workspace = await t.workspace('Demo')
  const inside = t.inside(workspace)
  await t.member(workspace, 'ADMIN')
  const { link: first } = await inviteUser(inside, { email: 'ben@example.com', accountType: 'ANALYST' })
  const ben = t.visitor()
  const joined = await ben.post(new URL(first).pathname, { name: 'Ben', password: PASSWORD, again: PASSWORD })
  assert.equal(joined.location, '/')
  const person = (await t.app.db.selectFrom('person').selectAll().where('email', '=', 'ben@example.com').execute())[0]!

  await disableUser(inside, { uid: person.uid })
  assert.equal((await ben.get('/')).location, '/signin')
  assert.equal((await ben.signIn('ben@example.com', PASSWORD)).status, 401)
  assert.equal((await ben.get(new URL(first).pathname)).status, 404)
  assert.equal((await ben.post(new URL(first).pathname, { current: PASSWORD })).status, 404)

  const { link: second } = await inviteUser(inside, { email: 'ben@example.com', accountType: 'BUSINESS' })
  const before = t.visitor()
  before.cookies.set('yardmaster_session', ben.cookies.get('yardmaster_session')!)
  assert.equal((await ben.post(new URL(second).pathname, { current: PASSWORD })).location, '/')
  assert.match((await ben.get('/')).text, /BUSINESS/)
  // What was open before they were taken out stays closed.
  assert.equal((await before.get('/')).location, '/signin')
  assert.equal((await sessions.list(t.app.db, person.id)).length, 1)
})
