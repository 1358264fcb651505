import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestOidc, testOidc } from '../../../test/support/oidc.ts'
import { type Answer, PASSWORD, type TestPages, type TestVisitor, testPages } from '../../../test/support/pages.ts'
import { oidcProvider } from '../../adapters/oidc.ts'
import { disableUser, inviteUser } from '../../app/users.ts'
import * as people from '../../store/people.ts'

const CALLBACK = 'http://127.0.0.1:4400/signin/sso/callback'

interface Sso extends AsyncDisposable {
  readonly t: TestPages
  readonly oidc: TestOidc
}

async function testSso(options: { signInsPerMinute?: number } = {}): Promise<Sso> {
  const oidc = await testOidc(CALLBACK)
  const provider = oidcProvider({ issuer: oidc.issuer, ...oidc.client, name: 'Test & Co' })
  const t = await testPages({ ...options, provider })
  return {
    t,
    oidc,
    [Symbol.asyncDispose]: async () => {
      await t.close()
      await oidc[Symbol.asyncDispose]()
    },
  }
}

const pathOf = (url: string): string => url.slice(new URL(url).origin.length)

/** To the provider and back, as far as the callback's own answer. */
async function signIn(oidc: TestOidc, visitor: TestVisitor, next = ''): Promise<Answer> {
  const begun = await visitor.get(`/signin/sso${next}`)
  assert.equal(begun.status, 303, begun.text)
  const back = await oidc.visit(begun.location!)
  assert.ok(back.startsWith(CALLBACK))
  return await visitor.get(pathOf(back), { 'sec-fetch-site': 'cross-site' })
}

const verified = (email: string, name = 'Ana') => ({ email, email_verified: true, name })

test('somebody who is a user comes in, and the first page after it is asked for by a page of ours', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  const ana = await t.member(await t.workspace(), 'ADMIN', { email: 'ana@example.com', name: 'Ana' })
  oidc.user = verified('ANA@example.com', 'Another name')
  const visitor = t.visitor('192.0.2.5')
  const page = await visitor.get('/signin?next=/graphiql')
  assert.match(
    page.html,
    /<a class="button secondary" href="\/signin\/sso\?next=%2Fgraphiql">Sign in with Test &amp; Co<\/a>/,
  )
  const begun = await visitor.get('/signin/sso?next=%2Fgraphiql')
  assert.match(begun.cookies[0]!, /^yardmaster_sso=[\w.-]+; Path=\/signin\/sso; Max-Age=600; HttpOnly; SameSite=Lax$/)
  const answer = await signIn(oidc, visitor, '?next=%2Fgraphiql')
  // A redirect would be part of the foreign navigation, which a strict cookie does not come with.
  assert.equal(answer.status, 200)
  assert.match(answer.html, /<meta http-equiv="refresh" content="0; url=\/graphiql">/)
  assert.match(answer.cookies.join('\n'), /^yardmaster_sso=; Path=\/signin\/sso; Max-Age=0; HttpOnly; SameSite=Lax$/m)
  assert.match(
    answer.cookies.join('\n'),
    /^yardmaster_session=ymt_\w+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/m,
  )
  assert.match((await visitor.get('/')).text, /Hello, Ana /)
  const [record] = await t.records('signed_in')
  assert.equal(record?.actorUserId, ana.id)
  assert.deepEqual(record?.data, { how: 'sso', address: '192.0.2.5' })
})

test('somebody who is invited comes in, in every workspace that waits for them', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  const [first, second] = [await t.workspace('First'), await t.workspace('Second')]
  await inviteUser(t.inside(first), { email: 'ben@example.com', accountType: 'ANALYST' })
  const { link } = await inviteUser(t.inside(second), { email: 'Ben@example.com', accountType: 'ADMIN' })
  oidc.user = verified('ben@example.com', '  Ben\u0000\n ')
  const visitor = t.visitor()
  assert.equal((await signIn(oidc, visitor)).status, 200)
  assert.match((await visitor.get('/')).text, /Hello, Ben .*First [a-z0-9]{16} ANALYST Second [a-z0-9]{16} ADMIN/)
  assert.equal((await t.records('invitation_accepted')).length, 2)
  const ben = (await people.findByEmail(t.app.db, 'ben@example.com'))!
  assert.equal((await t.records('signed_in'))[0]?.actorUserId, ben.id)
  assert.equal(ben.passwordHash, null)
  assert.equal((await t.visitor().get(pathOf(link))).status, 404)
  // The second time they are simply a user.
  assert.equal((await signIn(oidc, t.visitor())).status, 200)
  assert.equal((await t.app.db.selectFrom('person').selectAll().execute()).length, 1)
})

test('somebody invited who comes in through two windows at once is one person', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  await inviteUser(t.inside(await t.workspace()), { email: 'ben@example.com', accountType: 'ANALYST' })
  oidc.user = verified('ben@example.com', '')
  const answers = await Promise.all([signIn(oidc, t.visitor()), signIn(oidc, t.visitor()), signIn(oidc, t.visitor())])
  assert.deepEqual(
    answers.map((one) => one.status),
    [200, 200, 200],
  )
  const [ben, ...others] = await t.app.db.selectFrom('person').selectAll().execute()
  assert.deepEqual(others, [])
  assert.equal(ben?.name, 'ben@example.com')
  assert.equal((await t.records('invitation_accepted')).length, 1)
})

test('whoever is no user and not invited, was taken out, or has no verified address is refused', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  const workspace = await t.workspace()
  await t.member(workspace, 'ADMIN', { email: 'ana@example.com', password: PASSWORD })
  const out = await t.member(workspace, 'ANALYST', { email: 'out@example.com' })
  await disableUser(t.inside(workspace), { uid: out.uid })
  // lower() makes a k of the Kelvin sign; whoever has that mailbox is somebody else.
  await t.member(workspace, 'ANALYST', { email: 'kim@example.com' })
  const cases = [
    [verified('stranger@example.com'), /You are not a user here\. Ask an administrator to invite you\./],
    [verified('out@example.com'), /You are not a user here/],
    [verified('\u212Aim@example.com'), /You are not a user here/],
    [{ email: 'ana@example.com', email_verified: false }, /has not verified your e-mail address/],
    [{ email: 'ana@example.com' }, /has not verified your e-mail address/],
    [{ name: 'Ana' }, /has not verified your e-mail address/],
  ] as const
  for (const [user, words] of cases) {
    oidc.user = user
    const visitor = t.visitor()
    const answer = await signIn(oidc, visitor)
    assert.equal(answer.status, 403, JSON.stringify(user))
    assert.match(answer.text, words)
    assert.equal(visitor.cookies.size, 0)
  }
  const [record, ...more] = await t.records('sign_in_refused')
  assert.deepEqual(more, [])
  assert.deepEqual(record?.data, { how: 'sso', issuer: oidc.issuer, address: '192.0.2.7' })
  const [row] = await t.app.db.selectFrom('audit_refusal').select('count').execute()
  assert.equal(row?.count, cases.length)
})

test('coming back with the cookie of another sign-in, an old one, a changed one or none is refused', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  await t.member(await t.workspace(), 'ADMIN', { email: 'ana@example.com' })
  oidc.user = verified('ana@example.com')
  const begin = async () => {
    const visitor = t.visitor()
    const begun = await visitor.get('/signin/sso')
    return { visitor, back: pathOf(await oidc.visit(begun.location!)), cookie: visitor.cookies.get('yardmaster_sso')! }
  }
  const refused = async (back: string, cookie: string | null, what: string) => {
    const visitor = t.visitor()
    if (cookie !== null) visitor.cookies.set('yardmaster_sso', cookie)
    const answer = await visitor.get(back)
    assert.equal(answer.status, 401, what)
    assert.match(answer.text, /Start again/)
    assert.equal(visitor.cookies.get('yardmaster_session'), undefined)
  }
  const [ours, theirs] = [await begin(), await begin()]
  await refused(theirs.back, null, 'somebody is sent a callback of somebody else')
  await refused(theirs.back, ours.cookie, 'the cookie of another sign-in')
  const last = ours.cookie.at(-1) === 'A' ? 'B' : 'A'
  await refused(ours.back, ours.cookie.slice(0, -3) + last.repeat(3), 'a changed cookie')
  await refused(ours.back, 'a.b.c', 'a made-up cookie')
  await refused(ours.back, ours.cookie.split('.').slice(0, 2).join('.'), 'half a cookie')

  const late = await begin()
  t.clock.advance(10 * 60_000)
  await refused(late.back, late.cookie, 'an old cookie')

  const good = await begin()
  assert.equal((await good.visitor.get(good.back)).status, 200)
  await refused(good.back, good.cookie, 'all of it a second time')
  await refused('/signin/sso/callback', (await begin()).cookie, 'nothing from the provider')
  await refused('/signin/sso/callback?code=a&code=b&state=x', (await begin()).cookie, 'a doubled code')
})

test('a provider that is down does not keep anybody from a password, and is asked again', async () => {
  await using sso = await testSso()
  const { t, oidc } = sso
  await t.member(await t.workspace(), 'ADMIN', { email: 'ana@example.com', password: PASSWORD })
  oidc.user = verified('ana@example.com')
  await oidc.stop()
  const visitor = t.visitor()
  const down = await visitor.get('/signin/sso')
  assert.equal(down.status, 503)
  assert.equal(down.headers['retry-after'], '5')
  assert.match(down.text, /The identity provider does not answer\. Try again in a moment\./)
  // Whoever runs the service is told why.
  const line = t.lines.find((one) => one.level === 'warn')
  assert.match(String(line?.fields.reason), /fetch failed: .*ECONNREFUSED/)
  assert.equal((await visitor.signIn('ana@example.com', PASSWORD)).status, 303)
  await oidc.start()
  const other = t.visitor()
  const begun = await other.get('/signin/sso')
  const back = pathOf(await oidc.visit(begun.location!))
  await oidc.stop()
  assert.equal((await other.get(back)).status, 503)
  await oidc.start()
  // Reloading the page goes on where it stopped.
  assert.equal((await other.get(back)).status, 200)
})

test('without a provider there is no button and no route', async () => {
  await using t = await testPages()
  const visitor = t.visitor()
  assert.doesNotMatch((await visitor.get('/signin')).html, /sso/)
  assert.equal((await visitor.get('/signin/sso')).status, 404)
})

test('failed attempts are limited for an address', async () => {
  await using sso = await testSso({ signInsPerMinute: 3 })
  const statuses: number[] = []
  for (let time = 0; time < 5; time++) statuses.push((await sso.t.visitor().get('/signin/sso/callback?code=x')).status)
  assert.deepEqual(statuses, [401, 401, 401, 429, 429])
})
