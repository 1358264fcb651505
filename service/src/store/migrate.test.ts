import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { migrate, readMigrations } from './migrate.ts'

describe('the migrations of this version', () => {
  let base: TestDatabase
  before(async () => {
    base = await testDatabase()
  })
  after(() => base.close())

  test('are named and numbered as they should be, and applying them again does nothing', async () => {
    const known = await readMigrations(join(import.meta.dirname, '..', '..', 'migrations'))
    const again = await migrate(base.ownerConnection, { serviceRole: 'yardmaster' })
    assert.deepEqual(again, { version: known.length, applied: [], unknown: [] })
  })

  test('leave the service with the rows of its tables, but not with their shape', async () => {
    await sql`select id from workspace`.execute(base.db)
    await assert.rejects(sql`drop table workspace`.execute(base.db), /must be owner/)
    await assert.rejects(sql`create table mine ()`.execute(base.db), /permission denied/)
    await assert.rejects(sql`truncate workspace cascade`.execute(base.db), /permission denied/)
    await assert.rejects(sql`delete from migration`.execute(base.db), /permission denied/)
  })

  test('leave the service unable to change the audit log, and its owner too', async () => {
    for (const statement of [sql`update audit_log set event_id = 0`, sql`delete from audit_log`]) {
      await assert.rejects(statement.execute(base.db), /permission denied/)
    }
    await assert.rejects(sql`truncate audit_log`.execute(base.owner.kysely), /append-only/)
  })

  test('give back a right that the service has lost, and take one that it should not have', async () => {
    await sql`revoke select on workspace from yardmaster`.execute(base.owner.kysely)
    await sql`grant delete on audit_log to yardmaster`.execute(base.owner.kysely)
    await migrate(base.ownerConnection, { serviceRole: 'yardmaster' })
    await sql`select id from workspace`.execute(base.db)
    await assert.rejects(sql`delete from audit_log`.execute(base.db), /permission denied/)
    // Nothing is left to do: no grant touches the catalogue again.
    const version = sql`select xmin::text from pg_class where oid = 'workspace'::regclass`
    const before = (await version.execute(base.owner.kysely)).rows
    await migrate(base.ownerConnection, { serviceRole: 'yardmaster' })
    assert.deepEqual((await version.execute(base.owner.kysely)).rows, before)
  })

  test('give the service a schema for its queue', async () => {
    await sql`create table pgboss.probe ()`.execute(base.db)
    await sql`drop table pgboss.probe`.execute(base.db)
  })
})

describe('migrating', () => {
  let base: TestDatabase
  let folder: string
  beforeEach(async () => {
    base = await testDatabase()
    await sql`drop schema yardmaster cascade`.execute(base.owner.kysely)
    folder = await mkdtemp(join(tmpdir(), 'yardmaster-migrations-'))
    await put('0001_first.sql', '-- what it is for\ncreate table one (id integer);\ninsert into one values (1);\n')
    await put('0002_second.sql', 'create table two (id integer generated always as identity, text text);\n')
  })
  afterEach(async () => {
    await base.close()
    await rm(folder, { recursive: true })
  })

  const put = (name: string, text: string) => writeFile(join(folder, name), text)
  const run = () => migrate(base.ownerConnection, { serviceRole: 'yardmaster', folder })
  const applied = async () =>
    (await sql`select version, name, breaking from yardmaster.migration order by version`.execute(base.owner.kysely))
      .rows

  test('applies what is new, once and in order', async () => {
    assert.deepEqual(await run(), { version: 2, applied: ['0001_first', '0002_second'], unknown: [] })
    await put('0003_third.sql', '-- breaking\nalter table one add column more text;\n')
    assert.deepEqual(await run(), { version: 3, applied: ['0003_third'], unknown: [] })
    assert.deepEqual(await run(), { version: 3, applied: [], unknown: [] })
    assert.deepEqual(await applied(), [
      { version: 1, name: 'first', breaking: false },
      { version: 2, name: 'second', breaking: false },
      { version: 3, name: 'third', breaking: true },
    ])
    await sql`insert into two (text) values ('the service may')`.execute(base.db)
  })

  test('of several nodes at once one works and the others wait', async () => {
    const done = await Promise.all([run(), run(), run()])
    assert.deepEqual(done.map((each) => each.applied.length).toSorted(), [0, 0, 2])
  })

  test('refuses a changed migration and names it; line ends are no change', async () => {
    await run()
    await put('0002_second.sql', 'create table two (id integer generated always as identity, text text);\r\n')
    await run()
    await put('0002_second.sql', 'create table two (id integer);\n')
    await assert.rejects(run(), /Migration 0002_second was changed after this database applied it/)
  })

  test('goes on with a newer database, unless something in it is breaking', async () => {
    await put('0003_third.sql', 'create table three ();\n')
    await run()
    await rm(join(folder, '0003_third.sql'))
    assert.deepEqual(await run(), { version: 3, applied: [], unknown: ['0003_third'] })
    await put('0003_third.sql', 'create table three ();\n')
    await put('0004_fourth.sql', '-- breaking\ndrop table three;\n')
    await run()
    await rm(join(folder, '0003_third.sql'))
    await rm(join(folder, '0004_fourth.sql'))
    await assert.rejects(run(), /newer Yardmaster \(0004_fourth\)/)
  })

  test('leaves nothing of a migration that failed, and keeps those before it', async () => {
    await put('0003_third.sql', 'create table three ();\nselect 1/0;\n')
    await assert.rejects(run(), /Migration 0003_third failed: division by zero/)
    assert.equal((await applied()).length, 2)
    const { rows } = await sql`select to_regclass('yardmaster.three') as three`.execute(base.owner.kysely)
    assert.deepEqual(rows, [{ three: null }])
  })

  test('runs without a transaction what cannot be run inside one', async () => {
    await put(
      '0003_third.sql',
      '-- no transaction\n-- why; and how\ncreate index concurrently if not exists two_text on two (text);\n\n' +
        'create index concurrently if not exists two_id on two (id);\n',
    )
    assert.deepEqual((await run()).applied, ['0001_first', '0002_second', '0003_third'])
  })

  test('refuses gaps, doubles and names it cannot read', async () => {
    await put('0004_fourth.sql', '')
    await assert.rejects(run(), /0004_fourth\.sql should be number 3/)
    await put('0004_fourth.sql', '')
    await rm(join(folder, '0004_fourth.sql'))
    await put('0002_other.sql', '')
    await assert.rejects(run(), /0002_second\.sql should be number 3/)
    await rm(join(folder, '0002_other.sql'))
    await put('3-third.sql', '')
    await assert.rejects(run(), /3-third\.sql is not named/)
  })

  test('works with one role for everything', async () => {
    const { applied } = await migrate(base.ownerConnection, { serviceRole: null, folder })
    assert.equal(applied.length, 2)
    await sql`select * from one`.execute(base.owner.kysely)
    await assert.rejects(sql`select * from one`.execute(base.db))
  })
})
