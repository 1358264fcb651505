// contract/semantics.md, "Users": each test has a sentence of it for a name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptInvitation, findInvitation } from '../service/src/app/invitations.ts'
import { signInWithPassword } from '../service/src/app/sign-in.ts'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import type { Person } from '../service/src/store/people.ts'
import * as people from '../service/src/store/people.ts'
import { type Ask, bearer, type RequestHeaders, sessionOf, type TestApi, testApi } from './support/api.ts'

const visitor = { id: 'test', address: '192.0.2.7', userAgent: 'test' }
const INVITE =
  'mutation ($email: String!, $type: UserAccountType!) { inviteUser(email: $email, accountType: $type) { ok } }'
const UPDATE =
  'mutation ($uid: String!, $type: UserAccountType!) { updateUserAccountType(uid: $uid, accountType: $type) { ok } }'
const DISABLE = 'mutation ($uid: String!) { disableUser(uid: $uid) { ok } }'
const LIST = '{ listUsers { activeUsers { uid email accountType } invitedUsers { email accountType inviteStatus } } }'

interface Place {
  readonly api: TestApi
  readonly a: WorkspaceRef
  readonly by: RequestHeaders
  invite(email: string, type?: string): ReturnType<TestApi['ask']>
  listed(): Promise<{ active: Record<string, string>[]; invited: Record<string, string>[] }>
  /** The token of the last link that was sent. */
  lastLink(): string
  join(token: string, password?: string): Promise<Person>
}

async function place(): Promise<Place & AsyncDisposable> {
  const api = await testApi()
  const a = await api.t.workspace('A')
  const by = bearer((await api.t.key()).key)
  return {
    api,
    a,
    by,
    invite: (email, type = 'ANALYST') => api.ask(INVITE, { by, workspace: a.uid, variables: { email, type } }),
    listed: async () => {
      const { data } = (await api.ask(LIST, { by, workspace: a.uid })).json
      return { active: data.listUsers.activeUsers, invited: data.listUsers.invitedUsers }
    },
    lastLink: () => /\/invitation\/(ymt_\w+)/.exec(api.t.mails().at(-1)!.text)![1]!,
    join: async (token, password = 'correct horse battery') => {
      const input = { token, name: 'Ben', password }
      return (await acceptInvitation(api.t.app, api.t.refusals, visitor, input)).person
    },
    [Symbol.asyncDispose]: () => api.close(),
  }
}

const ok = (reply: { status: number; json: { errors?: unknown } }): void =>
  assert.deepEqual([reply.status, reply.json.errors], [200, undefined])

test('inviteUser sends an e-mail with a single-use link', async () => {
  await using p = await place()
  ok(await p.invite('ben@example.com'))
  assert.deepEqual(
    p.api.t.mails().map((mail) => mail.to),
    ['ben@example.com'],
  )
  assert.deepEqual((await p.listed()).invited, [
    { email: 'ben@example.com', accountType: 'ANALYST', inviteStatus: 'ACTIVE' },
  ])
  const token = p.lastLink()
  await p.join(token)
  await assert.rejects(p.join(token), /This link was used/)
  assert.equal(p.api.t.mails().length, 1)
})

test('inviting again renews it and may change the type', async () => {
  await using p = await place()
  ok(await p.invite('ben@example.com', 'ANALYST'))
  const first = p.lastLink()
  ok(await p.invite('BEN@example.com', 'DEVELOPER'))
  const { invited } = await p.listed()
  assert.deepEqual(
    invited.map((one) => one.accountType),
    ['DEVELOPER'],
  )
  await assert.rejects(p.join(first), /This link/)
  await p.join(p.lastLink())
  assert.equal((await p.listed()).active[0]?.accountType, 'DEVELOPER')
})

test('an active user or a bad address is refused', async () => {
  await using p = await place()
  await p.api.t.member(p.a, 'ADMIN', { email: 'ana@example.com' })
  for (const email of ['ana@example.com', 'ANA@EXAMPLE.COM', ' ana@example.com ']) {
    assert.equal((await p.invite(email)).code, 'CONFLICT', email)
  }
  const bad = ['', 'ana', 'ana@', '@example.com', 'a b@example.com', 'a@b@c.d', 'ana@exa mple.com', 'ana@example..com']
  for (const email of [
    ...bad,
    `${'a'.repeat(300)}@example.com`,
    'ana@example.com\nBcc: x@y.z',
    'an\u0000a@example.com',
  ]) {
    assert.deepEqual((await p.invite(email)).code, 'INVALID_INPUT', JSON.stringify(email))
  }
  assert.equal(p.api.t.mails().length, 0)
})

test('an invitation is ACTIVE until 7 days have passed, then EXPIRED', async () => {
  await using p = await place()
  ok(await p.invite('ben@example.com'))
  const token = p.lastLink()
  const owner = p.api.t.database.owner.kysely
  const row = await owner.selectFrom('invitation').select(['created_at', 'expires_at']).executeTakeFirstOrThrow()
  const days = (Date.parse(String(row.expires_at)) - Date.parse(String(row.created_at))) / 86_400_000
  assert.ok(Math.abs(days - 7) < 0.01, String(days))
  await owner.updateTable('invitation').set({ expires_at: '2020-01-01Z' }).execute()
  assert.equal((await p.listed()).invited[0]?.inviteStatus, 'EXPIRED')
  assert.equal(await findInvitation(p.api.t.app, token), null)
  await assert.rejects(p.join(token), /has expired/)
  ok(await p.invite('ben@example.com'))
  assert.equal((await p.listed()).invited[0]?.inviteStatus, 'ACTIVE')
})

test('invitedUsers holds open and expired invitations, not used ones', async () => {
  await using p = await place()
  for (const email of ['open@example.com', 'used@example.com', 'expired@example.com']) ok(await p.invite(email))
  const owner = p.api.t.database.owner.kysely
  await owner.updateTable('invitation').set({ expires_at: '2020-01-01Z' }).where('email', 'like', 'expired%').execute()
  const used = p.api.t.mails().find((mail) => mail.to.startsWith('used'))!
  await p.join(/ymt_\w+/.exec(used.text)![0])
  const { active, invited } = await p.listed()
  assert.deepEqual(
    invited.map((one) => [one.email, one.inviteStatus]),
    [
      ['expired@example.com', 'EXPIRED'],
      ['open@example.com', 'ACTIVE'],
    ],
  )
  assert.deepEqual(
    active.map((one) => one.email),
    ['used@example.com'],
  )
})

test('updateUserAccountType and disableUser refuse to leave a workspace without an administrator', async () => {
  await using p = await place()
  const ana = await p.api.t.member(p.a, 'ADMIN')
  await p.api.t.member(p.a, 'DEVELOPER')
  await p.api.t.member(p.a, 'SECURITY_ADMIN')
  const ask = (document: string, variables: object) => p.api.ask(document, { by: p.by, workspace: p.a.uid, variables })
  for (const type of ['DEVELOPER', 'SECURITY_ADMIN', 'BILLING_ADMIN', 'WORKSPACE_SETTINGS_ADMIN']) {
    const reply = await ask(UPDATE, { uid: ana.uid, type })
    assert.deepEqual([reply.status, reply.code], [200, 'CONFLICT'], type)
    assert.match(reply.message, /last administrator.*ADMIN or WORKSPACE_ADMIN first/)
  }
  assert.equal((await ask(DISABLE, { uid: ana.uid })).code, 'CONFLICT')
  ok(await ask(UPDATE, { uid: ana.uid, type: 'WORKSPACE_ADMIN' }))
  assert.equal((await ask(DISABLE, { uid: ana.uid })).code, 'CONFLICT')
  await p.api.t.member(p.a, 'ADMIN')
  ok(await ask(DISABLE, { uid: ana.uid }))
})

test('of two administrators who are taken out at the same time one stays', async () => {
  await using p = await place()
  const both = [await p.api.t.member(p.a, 'ADMIN'), await p.api.t.member(p.a, 'WORKSPACE_ADMIN')]
  const replies = await Promise.all(
    both.map(({ uid }) => p.api.ask(DISABLE, { by: p.by, workspace: p.a.uid, variables: { uid } })),
  )
  assert.deepEqual(replies.map((one) => one.code).sort(), ['', 'CONFLICT'])
  assert.equal((await p.listed()).active.length, 1)
})

test('disableUser takes the person out of the selected workspace only: what they hold there ends at once', async () => {
  await using p = await place()
  const { t } = p.api
  const b = await t.workspace('B')
  await t.member(p.a, 'ADMIN')
  const ben = await t.member(p.a, 'DEVELOPER')
  await people.join(t.app.db, b.id, ben.id, 'DEVELOPER')
  const ways = [bearer((await t.key({ kind: 'personal', person: ben })).key), sessionOf(await p.api.session(ben))]
  const status = async (by: RequestHeaders, at: WorkspaceRef, more: Ask = {}) =>
    (await p.api.ask('{ listUsers { ok } }', { by, workspace: at.uid, ...more })).status
  for (const by of ways) assert.deepEqual([await status(by, p.a), await status(by, b)], [200, 200])
  const second = await p.api.secondNode()
  ok(await p.api.ask(DISABLE, { by: p.by, workspace: p.a.uid, variables: { uid: ben.uid } }))
  for (const by of ways) {
    assert.deepEqual([await status(by, p.a), await status(by, b)], [403, 200])
    assert.deepEqual([await status(by, p.a, { node: second }), await status(by, b, { node: second })], [403, 200])
  }
})

test('with no workspace left they cannot sign in, and nothing that they hold works', async () => {
  await using p = await place()
  const { t } = p.api
  await t.member(p.a, 'ADMIN')
  const ben = await t.member(p.a, 'DEVELOPER', { email: 'ben@example.com', password: 'correct horse battery' })
  const input = { email: 'ben@example.com', password: 'correct horse battery' }
  const { token } = await signInWithPassword(t.app, t.refusals, visitor, input)
  const personal = await t.key({ kind: 'personal', person: ben })
  ok(await p.api.ask(DISABLE, { by: p.by, workspace: p.a.uid, variables: { uid: ben.uid } }))
  await assert.rejects(signInWithPassword(t.app, t.refusals, visitor, input), /not right/)
  for (const by of [sessionOf(token), bearer(personal.key)]) {
    assert.equal((await p.api.ask('{ me { ok } }', { by })).status, 401)
    const identity = await p.api.ask('{ apiKeyIdentity { isValid capabilities } }', { by })
    assert.deepEqual(identity.json.data.apiKeyIdentity, { isValid: false, capabilities: [] })
  }
})

test('a new invitation lets them back in, an old one does not', async () => {
  await using p = await place()
  const { t } = p.api
  await t.member(p.a, 'ADMIN')
  ok(await p.invite('ben@example.com'))
  const ben = await p.join(p.lastLink())
  ok(await p.api.ask(DISABLE, { by: p.by, workspace: p.a.uid, variables: { uid: ben.uid } }))
  ok(await p.invite('ben@example.com', 'ANALYST'))
  const old = p.lastLink()
  await p.join(old)
  ok(await p.api.ask(DISABLE, { by: p.by, workspace: p.a.uid, variables: { uid: ben.uid } }))
  await assert.rejects(p.join(old), /This link was used/)
  ok(await p.invite('ben@example.com', 'DEVELOPER'))
  const again = await p.join(p.lastLink())
  assert.equal(again.id, ben.id)
  assert.deepEqual((await p.listed()).active.map((one) => one.accountType).sort(), ['ADMIN', 'DEVELOPER'])
})

test("a user's role decides what they may do in the console and with a personal key", async () => {
  await using p = await place()
  const { t } = p.api
  await t.member(p.a, 'ADMIN')
  const ben = await t.member(p.a, 'SECURITY_ADMIN')
  const ways = [bearer((await t.key({ kind: 'personal', person: ben })).key), sessionOf(await p.api.session(ben))]
  for (const by of ways) {
    assert.equal((await p.api.ask('{ getAuditLogs(limit: 1) { ok } }', { by })).status, 200)
    // Nobody grants what they may not: 200 and FORBIDDEN, a rule about what one may give.
    const variables = { email: 'new@example.com', type: 'ADMIN' }
    const reply = await p.api.ask(INVITE, { by, workspace: p.a.uid, variables })
    assert.deepEqual([reply.status, reply.code], [200, 'FORBIDDEN'])
  }
  ok(await p.api.ask(UPDATE, { by: p.by, workspace: p.a.uid, variables: { uid: ben.uid, type: 'BUSINESS' } }))
  for (const by of ways) assert.equal((await p.api.ask('{ getAuditLogs(limit: 1) { ok } }', { by })).status, 403)
})

test('nobody makes themselves more than they are by way of a key', async () => {
  await using p = await place()
  const { t } = p.api
  await t.member(p.a, 'ADMIN')
  const make = (capabilities: string) =>
    `mutation { createApiKey(key: { name: "k", kind: WORKSPACE, workspaceUid: "${p.a.uid}"${capabilities} }) { key } }`
  for (const role of ['SECURITY_ADMIN', 'WORKSPACE_ADMIN'] as const) {
    const by = sessionOf(await p.api.session(await t.member(p.a, role)))
    const asked = await p.api.ask(make(', capabilities: ["users:admin"]'), { by })
    assert.deepEqual([asked.status, asked.code], [200, 'FORBIDDEN'], role)
    const key = (await p.api.ask(make(''), { by })).json.data.createApiKey.key
    const variables = { email: 'x@example.com', type: 'ADMIN' }
    const reply = await p.api.ask(INVITE, { by: bearer(key), workspace: p.a.uid, variables })
    assert.equal(reply.status, 403, role)
    const mine = await p.api.ask('{ me { workspaces { capabilities } } }', { by })
    assert.ok(mine.json.data.me.workspaces[0].capabilities.includes('User Management Admin'))
  }
  const admin = sessionOf(await p.api.session(await t.member(p.a, 'ADMIN')))
  ok(await p.api.ask(make(', capabilities: ["users:admin"]'), { by: admin }))
})
