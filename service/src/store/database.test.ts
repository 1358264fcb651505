import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { clientConfig, connect, StatementNames, userOf } from './connection.ts'
import { type Database, inTransaction, isUnavailable, openDatabase } from './database.ts'
import { assertDurable } from './durability.ts'

const OPTIONS = { poolSize: 2, queryTimeoutMs: 5_000, applicationName: 'yardmaster database.test' }

describe('the database', () => {
  let base: TestDatabase
  before(async () => {
    base = await testDatabase()
    await sql`create table thing (id integer primary key, value text not null)`.execute(base.owner.kysely)
    await sql`insert into thing select i, 'v' || i from generate_series(1, 100) i`.execute(base.owner.kysely)
    await sql`grant all on thing to yardmaster`.execute(base.owner.kysely)
  })
  after(() => base.close())

  const single = (queryTimeoutMs = 5_000): Database & AsyncDisposable => {
    const database = openDatabase(base.connection, { ...OPTIONS, poolSize: 1, queryTimeoutMs })
    return { ...database, [Symbol.asyncDispose]: database.close }
  }

  test('every session has our settings', async () => {
    const { rows } = await sql`
      select current_user, current_setting('search_path') as path, current_setting('TimeZone') as zone,
        current_setting('synchronous_commit') as commit, current_setting('statement_timeout') as timeout,
        current_setting('application_name') as name`.execute(base.db)
    assert.deepEqual(rows, [
      {
        current_user: 'yardmaster',
        path: 'yardmaster',
        zone: 'UTC',
        commit: 'on',
        timeout: '10s',
        name: 'yardmaster test',
      },
    ])
  })

  test('settings of an address stay, and ours are added after them', async () => {
    const { host, user, password, database } = base.connection
    const url = `postgres://${user}:${password}@/${database}?host=${host}&options=-c%20work_mem%3D7MB%20-c%20search_path%3Dpublic`
    assert.equal(userOf({ url }), user)
    const client = await connect({ url }, OPTIONS)
    const { rows } = await client.query(
      "select current_setting('work_mem') as memory, current_setting('search_path') as path",
    )
    await client.end()
    assert.deepEqual(rows, [{ memory: '7MB', path: 'yardmaster' }])
  })

  test('numbers come as numbers, a count too, and one that does not fit is an error', async () => {
    const { rows } = await sql`
      select count(*), 5::int as i, date '2024-02-29' as d, timestamptz '2024-02-29 12:00Z' as t from thing`.execute(
      base.db,
    )
    assert.deepEqual(rows, [{ count: 100, i: 5, d: '2024-02-29', t: new Date('2024-02-29T12:00:00Z') }])
    await assert.rejects(sql`select 9007199254740993::int8`.execute(base.db), /does not fit/)
    assert.deepEqual((await sql`select 1 as one`.execute(base.db)).rows, [{ one: 1 }])
  })

  test('a text with values is a named prepared statement from its second use on', async () => {
    await using database = single()
    const names = async () =>
      (await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(database.kysely)).rows
    const ask = (id: number) => sql`/* test.thing */ select value from thing where id = ${id}`.execute(database.kysely)
    assert.deepEqual((await ask(1)).rows, [{ value: 'v1' }])
    assert.equal((await names()).length, 0)
    assert.deepEqual((await ask(2)).rows, [{ value: 'v2' }])
    assert.deepEqual((await ask(3)).rows, [{ value: 'v3' }])
    assert.deepEqual(await names(), [{ statement: '/* test.thing */ select value from thing where id = $1' }])
  })

  test('no more than the limit of texts get names, and one-off texts take none', () => {
    const names = new StatementNames(3)
    for (let i = 0; i < 100; i++) assert.equal(names.of(`once ${i}`), undefined)
    for (let i = 0; i < 3; i++) {
      assert.equal(names.of(`text ${i}`), undefined)
      assert.match(names.of(`text ${i}`) ?? '', /^[\w-]{20}$/)
    }
    names.of('text 3')
    assert.equal(names.of('text 3'), undefined)
    assert.equal(names.of('text 0'), names.of('text 0'))
  })

  test('a transaction whose prepared statement was changed by a migration is run again', async () => {
    await using database = single()
    await sql`create table shape as select 1 as a`.execute(base.owner.kysely)
    await sql`grant all on shape to yardmaster`.execute(base.owner.kysely)
    const ask = (db = database.kysely) => sql`select * from shape where a = ${1}`.execute(db)
    await ask()
    await ask()
    await sql`alter table shape add column b integer default 2`.execute(base.owner.kysely)
    assert.deepEqual((await inTransaction(database.kysely, (tx) => ask(tx))).rows, [{ a: 1, b: 2 }])
  })

  test('a statement that takes too long is ended by the server, and its connection goes on', async () => {
    await using database = single(200)
    const backend = () => sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.kysely)
    const first = (await backend()).rows
    const error = await sql`select pg_sleep(60)`.execute(database.kysely).catch((e: unknown) => e)
    assert.ok(isUnavailable(error))
    assert.deepEqual((await backend()).rows, first)
  })

  test('a connection that does not answer in time is destroyed, in a transaction too', async () => {
    await using database = single(200)
    const pids: unknown[] = []
    const error = await inTransaction(database.kysely, async (tx) => {
      pids.push(...(await sql`select pg_backend_pid() as pid`.execute(tx)).rows)
      // Now only our own limit is left.
      await sql`set local statement_timeout = 0`.execute(tx)
      await sql`select pg_sleep(60)`.execute(tx)
    }).catch((e: unknown) => e)
    assert.ok(isUnavailable(error), String(error))
    assert.equal(database.connections().open, 0)
    const { rows } = await sql`select pg_backend_pid() as pid`.execute(database.kysely)
    assert.notDeepEqual(rows, pids)
  })

  test('a server that accepts and never answers costs the connection time limit, not for ever', async () => {
    const sockets: Socket[] = []
    const silent = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    const connection = { ...base.connection, host: '127.0.0.1', port }
    assert.equal(clientConfig(connection, OPTIONS).connectionTimeoutMillis, 5_000)
    const error = await connect(connection, { ...OPTIONS, connectTimeoutMs: 100 }).catch((e: unknown) => e)
    assert.ok(isUnavailable(error), String(error))
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  test('a connection that ends while it is idle or held ends no process, and is replaced', async () => {
    await using database = single()
    const pid = async (db = database.kysely) =>
      (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid
    const kill = (victim: number) => sql`select pg_terminate_backend(${victim}, 5000)`.execute(base.owner.kysely)
    await kill(await pid())
    const error = await inTransaction(database.kysely, async (tx) => {
      await kill(await pid(tx))
      await pid(tx)
    }).catch((e: unknown) => e)
    assert.ok(isUnavailable(error), String(error))
    assert.ok((await pid()) > 0)
  })

  test('transactions that the database undid are run again', async () => {
    const touch = (tx: TestDatabase['db'], id: number) => sql`update thing set value = 'x' where id = ${id}`.execute(tx)
    const runs = [0, 0]
    const { promise: bothHoldOne, resolve } = Promise.withResolvers<void>()
    const cross = (me: 0 | 1) =>
      inTransaction(base.db, async (tx) => {
        runs[me]!++
        await touch(tx, 1 + me)
        if (runs[0]! > 0 && runs[1]! > 0) resolve()
        await bothHoldOne
        await touch(tx, 2 - me)
      })
    await Promise.all([cross(0), cross(1)])
    assert.deepEqual(runs.toSorted(), [1, 2])
    await inTransaction(base.db, (tx) => inTransaction(tx, async (inner) => assert.equal(inner, tx)))
  })

  test('a fault of ours is not called unavailable', async () => {
    const wrong = [sql`select 1/0`, sql`selec`, sql`insert into thing values (1, 'v')`]
    for (const statement of wrong) {
      const error = await statement.execute(base.db).catch((e: unknown) => e)
      assert.ok(error instanceof Error)
      assert.equal(isUnavailable(error), false, error.message)
    }
    assert.equal(isUnavailable(new Error('anything')), false)
    assert.equal(isUnavailable(undefined), false)
  })

  test('no server, no host: unavailable', async () => {
    for (const host of ['/nonexistent', '127.0.0.1']) {
      const database = openDatabase({ ...base.connection, host, port: 1 }, OPTIONS)
      const error = await sql`select 1`.execute(database.kysely).catch((e: unknown) => e)
      await database.close()
      assert.ok(isUnavailable(error), String(error))
    }
  })

  test('a server that may lose commits is refused', async () => {
    await assert.rejects(assertDurable(base.db), /fsync is off, full_page_writes is off\. Set "fsync = on"/)
  })

  test('closing twice is closing once', async () => {
    const database = single()
    await sql`select 1`.execute(database.kysely)
    await Promise.all([database.close(), database.close()])
    assert.ok(isUnavailable(await sql`select 1`.execute(database.kysely).catch((e: unknown) => e)))
  })
})
