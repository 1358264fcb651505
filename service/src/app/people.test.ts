import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { RIGHTS } from '../domain/account-type.ts'
import { CAPABILITIES } from '../domain/capability.ts'
import { AppError } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatToken } from '../domain/key.ts'
import type { Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import { authenticate } from './authenticate.ts'
import type { Context } from './context.ts'
import { endSession, listSessions, me } from './people.ts'

async function session(t: TestApp, person: Person, address: string): Promise<{ token: string; ctx: Context }> {
  const token = formatToken(newSecret())
  const tokenHash = t.app.vault.hashSecret(token)
  await sessions.insert(t.app.db, { personId: person.id, tokenHash, address, userAgent: 'browser', hours: 1 })
  const { actor } = await authenticate(t.app, { kind: 'session', token }, null)
  return { token, ctx: { ...(await t.contextOf(person)), actor } }
}

test('a person sees themselves, their workspaces and what they may do in each', async () => {
  await using t = await testApp()
  const [one, two, gone] = [await t.workspace('One'), await t.workspace('Two'), await t.workspace('Gone')]
  const ana = await t.member(one, 'ADMIN', { email: 'ana@example.com', name: 'Ana' })
  await people.join(t.app.db, two.id, ana.id, 'SANDBOX_USER')
  await people.join(t.app.db, gone.id, ana.id, 'ADMIN')
  await sql`update workspace set archived_at = clock_timestamp() where id = ${gone.id}`.execute(t.app.db)
  const seen = await me(await t.contextOf(ana))
  assert.deepEqual([seen.person.email, seen.person.name, seen.person.uid], ['ana@example.com', 'Ana', ana.uid])
  assert.deepEqual(
    seen.workspaces.map((place) => [place.workspace.name, place.accountType, place.capabilities]),
    [
      ['One', 'ADMIN', CAPABILITIES],
      ['Two', 'SANDBOX_USER', CAPABILITIES.filter((capability) => RIGHTS.SANDBOX_USER.may.includes(capability))],
    ],
  )
  await assert.rejects(me(t.system), /no person/)
})

test('sessions are listed newest first with the one in use, and never with their tokens', async () => {
  await using t = await testApp()
  const ana = await t.member(await t.workspace(), 'ADMIN')
  const first = await session(t, ana, '192.0.2.1')
  const second = await session(t, ana, '192.0.2.2')
  await session(t, await t.member(await t.workspace(), 'ADMIN'), '192.0.2.3')
  const listed = await listSessions(second.ctx)
  assert.deepEqual(
    listed.sessions.map((one) => [one.address, one.id === listed.current]),
    [
      ['192.0.2.2', true],
      ['192.0.2.1', false],
    ],
  )
  assert.ok(!JSON.stringify(listed).includes(first.token))
  await sql`update session set expires_at = clock_timestamp() where address = '192.0.2.1'`.execute(t.app.db)
  assert.equal((await listSessions(second.ctx)).sessions.length, 1)
  assert.equal((await authenticate(t.app, { kind: 'session', token: first.token }, null)).actor.kind, 'anonymous')
})

test('ending a session ends it at once; that of somebody else, or one that has ended, is not found', async () => {
  await using t = await testApp()
  const [ana, ben] = [await t.member(await t.workspace(), 'ADMIN'), await t.member(await t.workspace(), 'ADMIN')]
  const [laptop, phone, other] = [await session(t, ana, 'a'), await session(t, ana, 'b'), await session(t, ben, 'c')]
  const { current } = await listSessions(phone.ctx)
  await endSession(laptop.ctx, current)
  assert.equal((await authenticate(t.app, { kind: 'session', token: phone.token }, null)).actor.kind, 'anonymous')
  for (const id of [current, (await listSessions(other.ctx)).current, 999, -1]) {
    await assert.rejects(endSession(laptop.ctx, id), (error) => error instanceof AppError && error.code === 'NOT_FOUND')
  }
  await endSession(laptop.ctx, (await listSessions(laptop.ctx)).current)
  assert.deepEqual(
    (await t.records()).map((one) => [one.eventType, one.actorUserId]),
    [
      ['session_ended', ana.id],
      ['signed_out', ana.id],
    ],
  )
  assert.equal((await authenticate(t.app, { kind: 'session', token: other.token }, null)).actor.kind, 'person')
})

test('who is taken out of their last workspace is signed out with it', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ADMIN')
  const { token } = await session(t, ana, 'a')
  await people.disable(t.app.db, workspace.id, ana.id)
  assert.equal((await authenticate(t.app, { kind: 'session', token }, null)).actor.kind, 'anonymous')
})
