import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { SessionActor } from '../domain/agent-session.ts'
import type { Capability } from '../domain/capability.ts'
import * as keys from '../store/keys.ts'
import * as people from '../store/people.ts'
import * as workspaces from '../store/workspaces.ts'
import { callerOf } from './agent-caller.ts'

let t: TestApp
before(async () => {
  t = await testApp()
})
after(() => t.close())

const personActor = (person: people.Person): SessionActor => ({
  kind: 'person',
  personId: person.id,
  email: person.email,
})

const keyActor = (keyId: number): SessionActor => ({ kind: 'key', keyId, name: 'Key', email: '' })

const refusedOf = async (workspaceId: number, actor: SessionActor): Promise<string | null> => {
  const { rights, refusal, actor: who } = await callerOf(t.app, { workspaceId, actor })
  if (refusal !== null) {
    assert.deepEqual(rights, [])
    assert.equal(who.kind, 'anonymous')
  }
  return refusal
}

test('a person has the rights of their role in this workspace, and loses them with the role, at once', async () => {
  const workspace = await t.workspace()
  const person = await t.member(workspace, 'DEVELOPER')
  await people.join(t.app.db, (await t.workspace()).id, person.id, 'ADMIN')
  const actor = personActor(person)
  const caller = await callerOf(t.app, { workspaceId: workspace.id, actor })
  assert.ok(caller.rights.includes('bolt:schedules:admin'))
  assert.ok(!caller.rights.includes('users:admin'), 'that is a right of the other workspace')
  assert.deepEqual(caller.visible, [workspace.id])
  await people.setAccountType(t.app.db, workspace.id, person.id, 'ANALYST')
  assert.ok(!(await callerOf(t.app, { workspaceId: workspace.id, actor })).rights.includes('bolt:schedules:admin'))
  await people.setAccountType(t.app.db, workspace.id, person.id, 'BUSINESS')
  assert.match((await refusedOf(workspace.id, actor))!, /may not start agents/)
  await people.setAccountType(t.app.db, workspace.id, person.id, 'DEVELOPER')
  await people.disable(t.app.db, workspace.id, person.id)
  assert.match((await refusedOf(workspace.id, actor))!, /not in the workspace any more/)
})

test('a key has its capabilities until it is revoked or expires, and none in another workspace', async () => {
  const workspace = await t.workspace()
  const capabilities: Capability[] = ['dinoai:agent:trigger', 'bolt:schedules:read']
  const made = await t.key({ kind: 'workspace', workspace, capabilities })
  const actor = keyActor(made.id)
  assert.deepEqual(
    (await callerOf(t.app, { workspaceId: workspace.id, actor })).rights.toSorted(),
    capabilities.toSorted(),
  )
  assert.match((await refusedOf((await t.workspace()).id, actor))!, /another workspace/)
  await sql`update api_key set expires_at = clock_timestamp() where id = ${made.id}`.execute(t.app.db)
  assert.match((await refusedOf(workspace.id, actor))!, /revoked or has expired/)
  await sql`update api_key set expires_at = null where id = ${made.id}`.execute(t.app.db)
  assert.equal(await refusedOf(workspace.id, actor), null)
  await keys.revoke(t.app.db, made.id, { visible: 'all' })
  assert.match((await refusedOf(workspace.id, actor))!, /revoked or has expired/)
})

test('a personal key has what its person and itself both have', async () => {
  const workspace = await t.workspace()
  const person = await t.member(workspace, 'ANALYST')
  const made = await t.key({
    kind: 'personal',
    person,
    capabilities: ['dinoai:agent:trigger', 'bolt:schedules:read'],
  })
  const actor = keyActor(made.id)
  const held = async () => [...(await callerOf(t.app, { workspaceId: workspace.id, actor })).rights].sort()
  assert.deepEqual(await held(), ['bolt:schedules:read', 'dinoai:agent:trigger'])
  await people.disable(t.app.db, workspace.id, person.id)
  assert.match((await refusedOf(workspace.id, actor))!, /not in the workspace any more/)
})

test('the service itself reads schedules and nothing else', async () => {
  const workspace = await t.workspace()
  const caller = await callerOf(t.app, { workspaceId: workspace.id, actor: { kind: 'service', name: 'self-healing' } })
  assert.deepEqual(caller.rights, ['bolt:schedules:read'])
  assert.equal(caller.refusal, null)
})

test('what is switched off gives no rights: scheduling takes its own, agents take all', async () => {
  const workspace = await t.workspace()
  const actor = personActor(await t.member(workspace, 'DEVELOPER'))
  await sql`update account set scheduling = false`.execute(t.app.db)
  try {
    const { rights } = await callerOf(t.app, { workspaceId: workspace.id, actor })
    assert.ok(rights.includes('dinoai:agent:trigger') && !rights.some((one) => one.startsWith('bolt:')))
    const service = await callerOf(t.app, { workspaceId: workspace.id, actor: { kind: 'service', name: 'healer' } })
    assert.deepEqual(service.rights, [])
  } finally {
    await sql`update account set scheduling = true`.execute(t.app.db)
  }
  await workspaces.setAgents(t.app.db, workspace.id, false)
  assert.match((await refusedOf(workspace.id, actor))!, /switched off/)
  await workspaces.setAgents(t.app.db, workspace.id, true)
  await workspaces.archive(t.app.db, workspace.id)
  assert.match((await refusedOf(workspace.id, actor))!, /archived/)
})
