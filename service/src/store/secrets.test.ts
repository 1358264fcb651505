import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { newUid } from '../domain/ids.ts'
import { type Db, inTransaction } from './database.ts'
import * as environments from './environments.ts'
import type { SecretPlace } from './secrets.ts'
import * as secrets from './secrets.ts'
import { MissingMasterKey, Vault } from './vault.ts'
import * as workspaces from './workspaces.ts'

const OLD = randomBytes(32)
const NEW = randomBytes(32)
const vault = new Vault([OLD])

describe('secrets in the database', () => {
  let t: TestDatabase
  let db: Db
  const ids: { workspace: number; environment: number }[] = []
  before(async () => {
    t = await testDatabase()
    db = t.db
    for (const name of ['One', 'Two']) {
      const workspace = (await workspaces.insert(db, { uid: newUid(), name })).id
      const environment = await environments.insert(db, workspace, {
        slug: 'production',
        displayName: 'Production',
        type: 'scheduler',
      })
      ids.push({ workspace, environment })
    }
  })
  after(() => t.close())

  const place = (workspace: number, name: string, more: Partial<SecretPlace> = {}): SecretPlace => ({
    workspaceId: ids[workspace]!.workspace,
    environmentId: ids[workspace]!.environment,
    kind: 'variable',
    name,
    ...more,
  })
  const set = (where: SecretPlace, value: string) => inTransaction(db, (tx) => secrets.set(tx, vault, where, value))
  const openAll = (workspace: number, ring = vault) =>
    secrets.openAll(db, ring, ids[workspace]!.workspace, ids[workspace]!.environment)

  test('are opened with those of their workspace underneath, and no other', async () => {
    await set(place(0, 'A'), 'environment value')
    await set(place(0, 'B', { environmentId: null }), 'workspace value')
    await set(place(0, 'profiles.yml', { kind: 'file' }), 'file content')
    await set(place(1, 'A'), 'other value')
    assert.deepEqual(
      (await openAll(0)).map((one) => [one.kind, one.name, one.value, one.environmentId === null]),
      [
        ['variable', 'B', 'workspace value', true],
        ['file', 'profiles.yml', 'file content', false],
        ['variable', 'A', 'environment value', false],
      ],
    )
    assert.deepEqual(
      (await openAll(1)).map((one) => one.value),
      ['other value'],
    )
  })

  test('have a new version with each writing, and an old version put back does not open', async () => {
    await set(place(1, 'VERSIONED'), 'first value')
    const { rows: old } = await sql<{ wrapped_key: Buffer; sealed: Buffer }>`
      select wrapped_key, sealed from secret where name = 'VERSIONED'`.execute(db)
    await set(place(1, 'VERSIONED'), 'second value')
    assert.equal((await openAll(1)).find((one) => one.name === 'VERSIONED')?.value, 'second value')
    const { rows } = await sql<{ version: number }>`select version from secret where name = 'VERSIONED'`.execute(db)
    assert.equal(rows[0]?.version, 2)
    await sql`update secret set wrapped_key = ${old[0]!.wrapped_key}, sealed = ${old[0]!.sealed}
      where name = 'VERSIONED'`.execute(db)
    await assert.rejects(openAll(1), /authenticate/)
    await sql`delete from secret where name = 'VERSIONED'`.execute(db)
  })

  test('written by ten at once end as one of the ten values, ten versions later', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, number) => set(place(1, 'RACED'), `value ${number}`)))
    const { rows } = await sql<{ version: number }>`select version from secret where name = 'RACED'`.execute(db)
    assert.equal(rows[0]?.version, 10)
    assert.match((await openAll(1)).find((one) => one.name === 'RACED')!.value, /^value \d$/)
  })

  test('are not readable where they lie, nor listed with more than their names', async () => {
    const value = 'a canary of some length'
    await set(place(0, 'CANARY'), value)
    const { rows } = await sql<{ row: string }>`select secret::text as row from secret`.execute(db)
    for (const { row } of rows) {
      assert.ok(!row.includes(value) && !row.includes(Buffer.from(value).toString('hex')))
    }
    const names = await secrets.listNames(db, ids[0]!.workspace)
    assert.deepEqual(Object.keys(names[0]!).sort(), ['environmentId', 'kind', 'name', 'updatedAt'])
    assert.ok(await inTransaction(db, (tx) => secrets.remove(tx, place(0, 'CANARY'))))
    assert.ok(!(await inTransaction(db, (tx) => secrets.remove(tx, place(0, 'CANARY')))))
  })

  test('moved to another workspace, environment, kind, name or version never open, in any of hundreds of ways', async () => {
    const names = ['S_A', 'S_B', 'S_C']
    for (const workspace of [0, 1]) {
      for (const name of names) {
        await set(place(workspace, name), `value of ${workspace} ${name}`)
        await set(place(workspace, name, { environmentId: null }), `value of ${workspace} ${name} over all`)
        await set(place(workspace, name, { kind: 'file' }), `file of ${workspace} ${name}`)
      }
    }
    const { rows } = await sql<{ id: number; workspace_id: number; version: number }>`
      select id, workspace_id, version from secret where name = any(${names}) order by id`.execute(db)
    let tried = 0
    for (const from of rows) {
      for (const to of rows) {
        if (from.id === to.id) continue
        await undone(db, async (tx) => {
          await sql`update secret t set kid = f.kid, wrapped_key = f.wrapped_key, sealed = f.sealed from secret f
            where t.id = ${to.id} and f.id = ${from.id}`.execute(tx)
          await assert.rejects(openSome(tx, to.workspace_id), /authenticate/)
        })
        tried++
      }
      await undone(db, async (tx) => {
        await sql`update secret set version = version + 1 where id = ${from.id}`.execute(tx)
        await assert.rejects(openSome(tx, from.workspace_id), /authenticate/)
      })
    }
    assert.equal(tried, 18 * 17)
  })

  const openSome = (tx: Db, workspace: number) =>
    secrets.openAll(tx, vault, workspace, ids.find((one) => one.workspace === workspace)!.environment)

  test('are re-wrapped in steps; rows that somebody is writing are left for the next step', async () => {
    const ring = new Vault([NEW, OLD])
    const { rows: all } = await sql<{
      id: number
      version: number
    }>`select id, version from secret order by id`.execute(db)
    const total = all.length
    const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holder = inTransaction(db, async (tx) => {
      await sql`select 1 from secret where id = ${all[0]!.id} for update`.execute(tx)
      locked.resolve()
      await release.promise
    })
    await locked.promise
    const step = () => inTransaction(db, (tx) => secrets.rewrapSome(tx, ring, 5))
    let done = 0
    for (let more = await step(); more > 0; more = await step()) {
      assert.ok(more <= 5)
      done += more
    }
    assert.equal(done, total - 1)
    release.resolve()
    await holder
    assert.equal(await step(), 1)
    assert.equal(await step(), 0)
    const { rows: after } = await sql<{
      id: number
      version: number
    }>`select id, version from secret order by id`.execute(db)
    assert.deepEqual(after, all, 'a rotation is no new version')
    const opened = await openAll(0, new Vault([NEW]))
    assert.equal(opened.find((one) => one.name === 'A')?.value, 'environment value')
    await assert.rejects(openAll(0, vault), MissingMasterKey)
  })
})

describe('the master keys that a database knows', () => {
  test('are none, then fit, then are missed by name when they are not at hand', async () => {
    await using t = await testDatabase()
    assert.deepEqual(await secrets.checkMasterKeys(t.db, vault), { kind: 'new' })
    await secrets.rememberMasterKey(t.db, vault)
    await secrets.rememberMasterKey(t.db, vault)
    assert.deepEqual(await secrets.checkMasterKeys(t.db, vault), { kind: 'fits' })
    const stranger = new Vault([NEW])
    assert.deepEqual(await secrets.checkMasterKeys(t.db, stranger), { kind: 'missing', kids: [vault.kid] })
    const ring = new Vault([NEW, OLD])
    await secrets.rememberMasterKey(t.db, ring)
    assert.deepEqual(await secrets.checkMasterKeys(t.db, ring), { kind: 'fits' })
    assert.deepEqual((await secrets.knownMasterKeys(t.db)).sort(), [vault.kid, stranger.kid].sort())
  })

  test('do not fit when the known value was changed', async () => {
    await using t = await testDatabase()
    await secrets.rememberMasterKey(t.db, vault)
    await sql`update master_key set sealed = ${randomBytes(60)}`.execute(t.db)
    await assert.rejects(secrets.checkMasterKeys(t.db, vault))
  })
})

async function undone(db: Db, work: (tx: Db) => Promise<void>): Promise<void> {
  class Undone extends Error {}
  await assert.rejects(
    db.transaction().execute(async (tx) => {
      await work(tx)
      throw new Undone()
    }),
    Undone,
  )
}
