import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type TestApp, testApp } from '../../test/support/app.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import { AppError, conflict } from '../domain/errors.ts'
import * as idempotency from '../store/idempotency.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { createApiKey } from './keys.ts'
import { mutate } from './mutate.ts'
import { createWorkspace } from './workspaces.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

const asking = (ctx: Context, key: string, body = 'body', position = 0): Context => ({
  ...ctx,
  idempotency: { key, bodyHash: hash(body), position },
})

const names = async (t: TestApp): Promise<string[]> => (await workspaces.list(t.app.db, 'all')).map((one) => one.name)

const kept = async (t: TestApp): Promise<number> =>
  (await sql<{ count: number }>`select count(*)::int as count from idempotent_answer`.execute(t.app.db)).rows[0]!.count

async function refused(work: Promise<unknown>, code: AppError['code'], words: RegExp): Promise<void> {
  await assert.rejects(work, (error) => error instanceof AppError && error.code === code && words.test(error.message))
}

test('a change and its audit records are one: neither is there without the other', async () => {
  await using t = await testApp()
  await mutate(t.system, async (unit) => {
    await workspaces.insert(unit.db, { uid: 'a'.repeat(16), name: 'Kept' })
    unit.record('workspace_created', { name: 'Kept' })
    unit.record('workspace_renamed', { name: 'Kept' }, { id: 7, name: 'Seven' })
  })
  await assert.rejects(
    mutate(t.system, async (unit) => {
      await workspaces.insert(unit.db, { uid: 'b'.repeat(16), name: 'Undone' })
      unit.record('workspace_created', { name: 'Undone' })
      throw new Error('in the middle')
    }),
    /in the middle/,
  )
  assert.deepEqual(await names(t), ['Kept'])
  assert.deepEqual(
    (await t.records()).map((one) => [one.eventType, one.workspaceId, one.workspaceName, one.data.name]),
    [
      ['workspace_created', 0, '', 'Kept'],
      ['workspace_renamed', 7, 'Seven', 'Kept'],
    ],
  )
})

test('a mutation that changed nothing writes no record', async () => {
  await using t = await testApp()
  assert.equal(await mutate(t.system, async () => 5), 5)
  assert.deepEqual(await t.records(), [])
})

test('a record says who did it: a person, a key by its maker, the service, nobody known', async () => {
  await using t = await testApp()
  const workspace = await t.workspace()
  const ana = await t.member(workspace, 'ADMIN', { email: 'ana@example.com' })
  const person = await t.contextOf(ana, workspace)
  const key = {
    id: 9,
    kind: 'account' as const,
    name: 'ci',
    client: null,
    capabilities: [],
    workspaceId: null,
    makerId: ana.id,
    makerEmail: ana.email,
  }
  const actors: Context[] = [
    person,
    { ...person, actor: { kind: 'key', key } },
    { ...person, actor: { kind: 'key', key: { ...key, makerId: null, makerEmail: '' } } },
    { ...person, actor: { kind: 'system', name: 'first start' } },
    { ...person, actor: { kind: 'anonymous' } },
  ]
  for (const ctx of actors) await mutate(ctx, async (unit) => unit.record('secret_set', {}))
  assert.deepEqual(
    (await t.records()).map((one) => [one.actorType, one.actorUserId, one.actorEmail, one.metadata, one.workspaceId]),
    [
      ['user', ana.id, ana.email, '{}', workspace.id],
      ['api_key', ana.id, ana.email, '{"api_key":{"id":9,"name":"ci"}}', workspace.id],
      ['api_key', 0, '', '{"api_key":{"id":9,"name":"ci"}}', workspace.id],
      ['system', 0, '', '{"by":"first start"}', workspace.id],
      ['system', 0, '', '{}', workspace.id],
    ],
  )
})

test('the same request with the same key gets the same answer and changes nothing more', async () => {
  await using t = await testApp()
  const ctx = asking(t.system, 'key-1')
  const first = await createWorkspace(ctx, { name: 'Once' })
  const again = await createWorkspace(ctx, { name: 'Once' })
  assert.deepEqual(again, first)
  assert.deepEqual(await names(t), ['Once'])
  assert.equal((await t.records('workspace_created')).length, 1)
})

test('a key that is shown once is shown again to who repeats the request, and cannot be read in the database', async () => {
  await using t = await testApp()
  const wanted = {
    name: 'ci',
    kind: 'account',
    workspaceUid: null,
    capabilities: null,
    client: null,
    expiresDays: null,
  } as const
  const ctx = asking(t.system, 'key-1')
  const first = await createApiKey(ctx, wanted)
  assert.deepEqual(await createApiKey(ctx, wanted), first)
  const { rows } = await sql<{ row: string }>`select idempotent_answer::text as row from idempotent_answer`.execute(
    t.app.db,
  )
  assert.ok(!rows[0]!.row.includes(first.key) && !rows[0]!.row.includes(Buffer.from(first.key).toString('hex')))
})

test('an answer without a value is repeated as one', async () => {
  await using t = await testApp()
  let ran = 0
  const work = () =>
    mutate(asking(t.system, 'key-1'), async () => {
      ran++
    })
  assert.equal(await work(), undefined)
  assert.equal((await work()) ?? null, null)
  assert.equal(ran, 1)
})

test('the same key with another request is refused, and the first answer stays', async () => {
  await using t = await testApp()
  const first = await createWorkspace(asking(t.system, 'key-1'), { name: 'One' })
  await refused(createWorkspace(asking(t.system, 'key-1', 'other'), { name: 'Two' }), 'CONFLICT', /Idempotency-Key/)
  assert.deepEqual(await createWorkspace(asking(t.system, 'key-1'), { name: 'One' }), first)
  assert.deepEqual(await names(t), ['One'])
})

test('each mutation of a document, each caller and each workspace has its own answer', async () => {
  await using t = await testApp()
  const workspace = await t.workspace('Zero')
  const ana = await t.contextOf(await t.member(workspace, 'ADMIN'), workspace)
  const contexts = [
    asking(t.system, 'key-1', 'body', 0),
    asking(t.system, 'key-1', 'body', 1),
    asking(t.inside(workspace), 'key-1', 'body', 0),
    asking(ana, 'key-1', 'body', 0),
  ]
  for (const [index, ctx] of contexts.entries()) await createWorkspace(ctx, { name: `W${index}` })
  assert.deepEqual(await names(t), ['W0', 'W1', 'W2', 'W3', 'Zero'])
})

test('of ten that send the same request at once one changes something, and all get its answer', async () => {
  await using t = await testApp({ poolSize: 10 })
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => createWorkspace(asking(t.system, 'key-1'), { name: 'Once' })),
  )
  for (const answer of answers) assert.deepEqual(answer, answers[0])
  assert.deepEqual(await names(t), ['Once'])
  assert.equal((await t.records('workspace_created')).length, 1)
})

test('a second caller waits for the first, and goes on itself when that one is undone', async () => {
  await using t = await testApp()
  const [inside, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = mutate(asking(t.system, 'key-1'), async () => {
    inside.resolve()
    await mayEnd.promise
    throw new Error('lost its database')
  })
  await inside.promise
  let ran = false
  const second = mutate(asking(t.system, 'key-1'), async () => {
    ran = true
    return 'second'
  })
  await untilSomebodyWaits(t)
  assert.equal(ran, false)
  mayEnd.resolve()
  await assert.rejects(first, /lost its database/)
  assert.equal(await second, 'second')
})

test('a refusal is repeated too, also when what caused it is gone', async () => {
  await using t = await testApp()
  const taken: WorkspaceRef = await createWorkspace(t.system, { name: 'Taken' })
  const ctx = asking(t.system, 'key-1')
  await refused(createWorkspace(ctx, { name: 'Taken' }), 'CONFLICT', /there is a workspace "Taken" already/)
  await workspaces.rename(t.app.db, taken.id, 'Free')
  await refused(createWorkspace(ctx, { name: 'Taken' }), 'CONFLICT', /there is a workspace "Taken" already/)
  assert.equal((await createWorkspace(asking(t.system, 'key-2'), { name: 'Taken' })).name, 'Taken')
})

test('a fault, or a database that does not answer, is not remembered: trying again may succeed', async () => {
  await using t = await testApp()
  const ctx = asking(t.system, 'key-1')
  const faults = [new Error('a fault'), new AppError('UNAVAILABLE', 'later')]
  for (const fault of faults) {
    await assert.rejects(
      mutate(ctx, async () => {
        throw fault
      }),
      fault,
    )
  }
  assert.equal(await kept(t), 0)
  assert.equal(await mutate(ctx, async () => 'done'), 'done')
})

test('an answer is forgotten after a day, by the next request with its key and by housekeeping', async () => {
  await using t = await testApp()
  const ctx = asking(t.system, 'key-1')
  await createWorkspace(ctx, { name: 'First' })
  const age = (interval: string) =>
    sql`update idempotent_answer set created_at = clock_timestamp() - ${interval}::interval`.execute(t.app.db)
  await age('23 hours 59 minutes')
  assert.equal((await createWorkspace(ctx, { name: 'First' })).name, 'First')
  await age('24 hours 1 minute')
  await refused(createWorkspace(ctx, { name: 'First' }), 'CONFLICT', /already/)
  await age('24 hours 1 minute')
  assert.equal(await idempotency.forgetOld(t.app.db), 1)
  assert.equal(await kept(t), 0)
})

test('the answer of one key, place or body cannot be put in the place of another', async () => {
  await using t = await testApp()
  await mutate(asking(t.system, 'key-1'), async () => 'one')
  await mutate(asking(t.system, 'key-2'), async () => 'two')
  await sql`update idempotent_answer a set kid = b.kid, wrapped_key = b.wrapped_key, sealed = b.sealed
    from idempotent_answer b where a.key = 'key-1' and b.key = 'key-2'`.execute(t.app.db)
  await assert.rejects(
    mutate(asking(t.system, 'key-1'), async () => 'one'),
    /authenticate/,
  )
})

test('a refusal inside keeps its words and code when it is repeated', async () => {
  await using t = await testApp()
  const work = () =>
    mutate(asking(t.system, 'key-1'), async () => {
      throw conflict('no, because')
    })
  await refused(work(), 'CONFLICT', /^no, because$/)
  await refused(work(), 'CONFLICT', /^no, because$/)
})

async function untilSomebodyWaits(t: TestApp): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database()
      and wait_event_type = 'Lock'`.execute(t.database.owner.kysely)
    if (rows.length > 0) return
    await pause(5)
  }
}
