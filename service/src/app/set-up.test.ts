import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApp } from '../../test/support/app.ts'
import { AppError } from '../domain/errors.ts'
import * as people from '../store/people.ts'
import * as workspaces from '../store/workspaces.ts'
import { isSetUp, type SetUpInput, setUp } from './set-up.ts'

const INPUT: SetUpInput = {
  accountName: 'Acme',
  workspaceName: 'Main',
  adminEmail: 'ana@example.com',
  adminName: 'Ana',
}

test('setting up makes the account, a workspace and its administrator, each on record', async () => {
  await using t = await testApp({ empty: true })
  assert.equal(await isSetUp(t.system), false)
  const { workspace, admin } = await setUp(t.system, INPUT)
  assert.equal(await isSetUp(t.system), true)
  assert.deepEqual(await workspaces.list(t.app.db, 'all'), [workspace])
  assert.deepEqual(
    (await people.listMembers(t.app.db, workspace.id)).map((one) => [one.id, one.accountType]),
    [[admin.id, 'ADMIN']],
  )
  assert.equal(admin.passwordHash, null, 'there is no default password')
  assert.deepEqual(
    (await t.records()).map((one) => one.eventType),
    ['account_created', 'workspace_created', 'user_created'],
  )
})

test('it is done once: a second one is told, and changes nothing', async () => {
  await using t = await testApp({ empty: true })
  await setUp(t.system, INPUT)
  await assert.rejects(
    setUp(t.system, { ...INPUT, workspaceName: 'Other', adminEmail: 'ben@example.com' }),
    (error) => error instanceof AppError && error.code === 'CONFLICT' && /set up already/.test(error.message),
  )
  assert.equal((await workspaces.list(t.app.db, 'all')).length, 1)
  assert.equal((await t.records()).length, 3)
})

test('of five that set up at once one does, and nothing of the others is left', async () => {
  await using t = await testApp({ empty: true })
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4, 5].map((number) =>
      setUp(t.system, { ...INPUT, workspaceName: `W${number}`, adminEmail: `admin-${number}@example.com` }),
    ),
  )
  assert.equal(outcomes.filter((one) => one.status === 'fulfilled').length, 1)
  for (const one of outcomes) if (one.status === 'rejected') assert.ok(one.reason instanceof AppError)
  assert.equal((await workspaces.list(t.app.db, 'all')).length, 1)
  assert.equal((await t.records()).length, 3)
})

test('what cannot be set up is refused before anything is made', async () => {
  await using t = await testApp({ empty: true })
  const bad: [Partial<SetUpInput>, RegExp][] = [
    [{ accountName: '' }, /^account name: /],
    [{ workspaceName: 'a\nb' }, /^workspace name: /],
    [{ adminEmail: 'ana' }, /^administrator e-mail: /],
    [{ adminName: ' ' }, /^administrator name: /],
  ]
  for (const [part, words] of bad) await assert.rejects(setUp(t.system, { ...INPUT, ...part }), { message: words })
  assert.equal(await isSetUp(t.system), false)
})
