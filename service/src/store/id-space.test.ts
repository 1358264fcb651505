import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import { createEnvironment, setSecret } from '../app/environments.ts'
import { inviteUser } from '../app/users.ts'
import { createWorkspace } from '../app/workspaces.ts'
import { AppError } from '../domain/errors.ts'
import { housekeeping } from '../engine/housekeeping.ts'
import { MAX_ID } from './expected-errors.ts'
import { listNearlyUsedUp } from './id-space.ts'
import * as people from './people.ts'
import * as workspaces from './workspaces.ts'

/** Every sequence gives out `left` more ids. */
async function nearTheEnd(t: TestApp, left: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select sequencename as name from pg_sequences
    where schemaname = 'yardmaster'`.execute(t.database.owner.kysely)
  for (const { name } of rows) {
    await sql`select setval(${`yardmaster.${name}`}::regclass, ${MAX_ID - left})`.execute(t.database.owner.kysely)
  }
  return rows.map((row) => row.name.replace('_id_seq', '')).sort()
}

test('every sequence of ours ends where a 32-bit integer ends, and none begins again', async () => {
  await using t = await testApp()
  const { rows } = await sql<{ name: string; max: number; cycle: boolean; type: string }>`
    select sequencename as name, max_value as max, cycle, data_type::text as type from pg_sequences
    where schemaname = 'yardmaster'`.execute(t.app.db)
  assert.ok(rows.length >= 8)
  for (const { name, max, cycle, type } of rows) assert.deepEqual([max, cycle, type], [MAX_ID, false, 'integer'], name)
})

test('the last ids are given out, and after them a caller is told that there are no more', async () => {
  await using t = await testApp()
  const first = await t.workspace()
  await nearTheEnd(t, 10)
  for (let number = 1; number <= 10; number++) {
    const { id } = await createWorkspace(t.system, { name: `W${number}` })
    assert.equal(id, MAX_ID - 10 + number)
  }
  await assert.rejects(createWorkspace(t.system, { name: 'One too many' }), (error) => {
    return (
      error instanceof AppError &&
      error.code === 'CONFLICT' &&
      /^The id space of workspace is used up/.test(error.message)
    )
  })
  // Nothing wrapped, nothing of the refused one is left, and the service goes on with what it has.
  assert.equal((await workspaces.list(t.app.db, 'all')).length, 11)
  assert.ok(!(await t.records('workspace_created')).some((one) => one.data.name === 'One too many'))
  await createEnvironment(t.inside(first), { displayName: 'Production' })
})

test('whatever table it is, the refusal names it and is no fault', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ADMIN')
  await createEnvironment(t.inside(workspace), { displayName: 'Production' })
  await nearTheEnd(t, 0)
  const works: Record<string, () => Promise<unknown>> = {
    workspace: () => createWorkspace(t.system, { name: 'New' }),
    environment: () => createEnvironment(t.inside(workspace), { displayName: 'New' }),
    secret: () =>
      setSecret(t.inside(workspace), { environment: 'production', kind: 'variable', name: 'S', value: '123456' }),
    person: () => t.person(),
    invitation: () => inviteUser(t.inside(workspace), { email: 'new@example.com', accountType: 'ANALYST' }),
    api_key: () => t.key(),
    one_time_link: () =>
      people.insertLink(t.app.db, { personId: ana.id, purpose: 'sign_in', tokenHash: Buffer.alloc(32), minutes: 1 }),
  }
  for (const [table, work] of Object.entries(works)) {
    await assert.rejects(work(), (error) => {
      return (
        error instanceof AppError && error.code === 'CONFLICT' && error.message.startsWith(`The id space of ${table} `)
      )
    })
  }
})

test('housekeeping warns of each table that has used more than 80 % of its ids, and of no other', async () => {
  await using t = await testApp()
  await t.workspace()
  await housekeeping(t.app).runOnce()
  assert.deepEqual(
    t.lines.filter((line) => line.level === 'warn'),
    [],
  )
  const below = Math.floor(MAX_ID * 0.8)
  await sql`select setval('yardmaster.person_id_seq', ${below})`.execute(t.database.owner.kysely)
  assert.deepEqual(await listNearlyUsedUp(t.app.db, 0.8), [])
  await sql`select setval('yardmaster.person_id_seq', ${below + 1})`.execute(t.database.owner.kysely)
  await sql`update audit_head set last_id = ${MAX_ID - 5}`.execute(t.database.owner.kysely)
  await housekeeping(t.app).runOnce()
  assert.deepEqual(
    t.lines.filter((line) => line.level === 'warn').map((line) => [line.fields.table, line.fields.used]),
    [
      ['audit_log', MAX_ID - 5],
      ['person', below + 1],
    ],
  )
})
