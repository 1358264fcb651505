import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testApp } from '../../test/support/app.ts'
import { AppError } from '../domain/errors.ts'
import * as people from '../store/people.ts'
import { authenticate } from './authenticate.ts'
import {
  archiveWorkspace,
  createWorkspace,
  features,
  listWorkspaces,
  renameWorkspace,
  setAccountFeature,
  setWorkspaceFeature,
} from './workspaces.ts'

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

test('workspaces are listed by name, those that the caller sees and that are not archived', async () => {
  await using t = await testApp()
  const [b, a, gone] = [await t.workspace('B'), await t.workspace('A'), await t.workspace('Gone')]
  await archiveWorkspace(t.inside(gone))
  assert.deepEqual(
    (await listWorkspaces(t.system)).map((one) => one.name),
    ['A', 'B'],
  )
  assert.deepEqual(await listWorkspaces({ ...t.system, visible: [b.id, gone.id] }), [b])
  assert.deepEqual(await listWorkspaces({ ...t.system, visible: [] }), [])
  assert.match(a.uid, /^[a-z0-9]{16}$/)
})

test('who creates a workspace is its first administrator; a key makes one without people', async () => {
  await using t = await testApp()
  const ana = await t.member(await t.workspace(), 'ADMIN')
  const own = await createWorkspace(await t.contextOf(ana), { name: ' Own ' })
  assert.equal(own.name, 'Own')
  assert.deepEqual(
    (await people.listMembers(t.app.db, own.id)).map((one) => [one.id, one.accountType]),
    [[ana.id, 'ADMIN']],
  )
  const bare = await createWorkspace(t.system, { name: 'Bare' })
  assert.deepEqual(await people.listMembers(t.app.db, bare.id), [])
  assert.deepEqual(
    (await t.records('workspace_created')).map((one) => [one.workspaceId, one.data.uid]),
    [
      [own.id, own.uid],
      [bare.id, bare.uid],
    ],
  )
})

test('a name is taken once among the active, in whatever case, also when two ask at once', async () => {
  await using t = await testApp()
  const first = await createWorkspace(t.system, { name: 'Demo' })
  await refused(createWorkspace(t.system, { name: 'dEMO' }), 'CONFLICT', /there is a workspace "dEMO" already/)
  const other = await createWorkspace(t.system, { name: 'Other' })
  await refused(renameWorkspace(t.inside(other), { name: 'DEMO' }), 'CONFLICT', /already/)
  await renameWorkspace(t.inside(first), { name: 'DEMO' })
  await archiveWorkspace(t.inside(first))
  await renameWorkspace(t.inside(other), { name: 'demo' })
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(129)]) {
    await refused(createWorkspace(t.system, { name }), 'INVALID_INPUT', /^name: /)
  }
  for (let round = 0; round < 5; round++) {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => createWorkspace(t.system, { name: `Race ${round}` })),
    )
    assert.equal(outcomes.filter((one) => one.status === 'fulfilled').length, 1)
    for (const one of outcomes) {
      if (one.status === 'rejected') assert.ok(one.reason instanceof AppError, `${one.reason}`)
    }
  }
})

test('an archived workspace is gone for everyone, and its keys are as good as revoked', async () => {
  await using t = await testApp()
  const [kept, gone] = [await t.workspace(), await t.workspace()]
  const { key } = await t.key({ kind: 'workspace', workspace: gone })
  const account = await t.key()
  await archiveWorkspace(t.inside(gone))
  const bound = await authenticate(t.app, { kind: 'bearer', token: key }, null)
  assert.equal(bound.rejected?.reason, 'revoked')
  const header = await authenticate(t.app, { kind: 'bearer', token: account.key }, gone.uid)
  assert.equal(header.selection.kind, 'unknown')
  await refused(archiveWorkspace(t.inside(kept)), 'CONFLICT', /last workspace of the account/)
  assert.equal((await t.records('workspace_archived')).length, 1)
})

test('of two who archive the last two workspaces at once, one does not', async () => {
  await using t = await testApp()
  const [one, two] = [await t.workspace(), await t.workspace()]
  const outcomes = await Promise.allSettled([archiveWorkspace(t.inside(one)), archiveWorkspace(t.inside(two))])
  assert.equal(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, 1)
  assert.equal((await listWorkspaces(t.system)).length, 1)
})

test('switches are on, are switched by their names, and each switching is on record', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const all = await features(t.system)
  assert.deepEqual(all.account, {
    scheduling: true,
    user_management: true,
    workspace_management: true,
    audit_logs: true,
  })
  assert.deepEqual(
    all.workspaces.map((one) => one.agents),
    [true],
  )
  await setAccountFeature(t.system, { feature: 'audit_logs', enabled: false })
  await setWorkspaceFeature(t.inside(workspace), { feature: 'agents', enabled: false })
  const after = await features(t.system)
  assert.deepEqual([after.account.audit_logs, after.workspaces[0]?.agents], [false, false])
  assert.deepEqual(
    (await t.records()).map((one) => [one.eventType, one.workspaceId, one.data.feature, one.data.enabled]),
    [
      ['account_feature_switched', 0, 'audit_logs', false],
      ['workspace_feature_switched', workspace.id, 'agents', false],
    ],
  )
})

test('a switch that is none is refused with the names of those there are', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  for (const feature of ['', 'agents', 'toString', 'name', 'id = 2 --']) {
    await refused(
      setAccountFeature(t.system, { feature, enabled: false }),
      'INVALID_INPUT',
      /one of scheduling, user_man/,
    )
  }
  for (const feature of ['', 'scheduling', 'toString']) {
    await refused(setWorkspaceFeature(t.inside(workspace), { feature, enabled: false }), 'INVALID_INPUT', /agents/)
  }
  const { rows } = await sql<{ name: string }>`select name from account`.execute(t.app.db)
  assert.equal(rows[0]?.name, 'Test account')
})
