import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { inTransaction } from './database.ts'
import { openQueue, type QueueService } from './queue.ts'

interface Opened extends AsyncDisposable {
  readonly t: TestDatabase
  readonly queue: QueueService
  readonly errors: unknown[]
}

async function opened(mode: 'full' | 'send' = 'full'): Promise<Opened> {
  const t = await testDatabase()
  const errors: unknown[] = []
  const queue = openQueue(t.connection, { mode, onError: (error) => errors.push(error) })
  return {
    t,
    queue,
    errors,
    [Symbol.asyncDispose]: async () => {
      await queue.stop()
      await t.close()
    },
  }
}

interface Job {
  readonly state: string
  readonly retry_count: number
  readonly data: { readonly number: number }
}

async function jobs(t: TestDatabase): Promise<Job[]> {
  const { rows } = await sql<Job>`select state, retry_count, data from pgboss.job where name = 'mail'
    order by created_on, id`.execute(t.db)
  return rows
}

/** Until the only job has come to this state. */
async function until(t: TestDatabase, state: string): Promise<Job> {
  for (;;) {
    const [job] = await jobs(t)
    if (job?.state === state) return job
    await new Promise(setImmediate)
  }
}

test('a job is there when the transaction that sent it commits, and not before', async () => {
  await using o = await opened()
  await inTransaction(o.t.db, async (tx) => {
    await o.queue.send(tx, 'mail', { number: 1 })
    assert.deepEqual(await jobs(o.t), [], 'nobody else sees it yet')
  })
  assert.deepEqual(
    (await jobs(o.t)).map((job) => job.data.number),
    [1],
  )
})

test('a transaction that is undone leaves no job', async () => {
  await using o = await opened()
  const seen: unknown[] = []
  await o.queue.work('mail', async (data) => void seen.push(data))
  await assert.rejects(
    inTransaction(o.t.db, async (tx) => {
      await o.queue.send(tx, 'mail', { number: 1 })
      throw new Error('undone')
    }),
    /undone/,
  )
  await inTransaction(o.t.db, (tx) => o.queue.send(tx, 'mail', { number: 2 }))
  await until(o.t, 'completed')
  assert.deepEqual(seen, [{ number: 2 }])
})

test('many jobs at once are all done, each once, without waiting for a poll between them', async () => {
  await using o = await opened()
  const seen: number[] = []
  const done = Promise.withResolvers<void>()
  await o.queue.work('mail', async (data) => {
    seen.push((data as { number: number }).number)
    if (seen.length === 30) done.resolve()
  })
  const began = performance.now()
  await inTransaction(o.t.db, async (tx) => {
    for (let number = 0; number < 30; number++) await o.queue.send(tx, 'mail', { number })
  })
  await done.promise
  // One poll is two seconds: thirty of them would be a minute.
  assert.ok(performance.now() - began < 20_000)
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, number) => number),
  )
})

test('a job whose handler fails is tried again, later each time, and is done when it succeeds', async () => {
  await using o = await opened()
  let tries = 0
  await o.queue.work('mail', async () => {
    if (++tries < 3) throw new Error('the mail server is down')
  })
  await inTransaction(o.t.db, (tx) => o.queue.send(tx, 'mail', { number: 1 }))
  for (const failures of [1, 2]) {
    await until(o.t, 'retry')
    const { rows } = await sql<{ seconds: number }>`select extract(epoch from start_after - now())::float8 as seconds
      from pgboss.job where name = 'mail'`.execute(o.t.db)
    assert.ok(rows[0]!.seconds > 4 * failures && rows[0]!.seconds < 60, `${rows[0]!.seconds} s`)
    // The pause is the database's to keep: it is taken away rather than waited for.
    await sql`update pgboss.job set start_after = now() where name = 'mail'`.execute(o.t.db)
    while (tries === failures) await new Promise(setImmediate)
  }
  assert.equal((await until(o.t, 'completed')).retry_count, 2)
  assert.equal(tries, 3)
})

test('a command that only sends starts no worker, and what it sent is done by the service', async () => {
  await using o = await opened('send')
  await inTransaction(o.t.db, (tx) => o.queue.send(tx, 'mail', { number: 1 }))
  await o.queue.stop()
  assert.equal((await jobs(o.t))[0]?.state, 'created')
  const service = openQueue(o.t.connection, { mode: 'full', onError: () => {} })
  try {
    const done = Promise.withResolvers<unknown>()
    await service.work('mail', async (data) => done.resolve(data))
    assert.deepEqual(await done.promise, { number: 1 })
  } finally {
    await service.stop()
  }
})

test('starting and stopping twice is starting and stopping once; a stop waits for the handler', async () => {
  await using o = await opened()
  await Promise.all([o.queue.start(), o.queue.start()])
  const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let ended = false
  await o.queue.work('mail', async () => {
    begun.resolve()
    await mayEnd.promise
    ended = true
  })
  await inTransaction(o.t.db, (tx) => o.queue.send(tx, 'mail', { number: 1 }))
  await begun.promise
  const stopping = Promise.all([o.queue.stop(), o.queue.stop()])
  mayEnd.resolve()
  await stopping
  assert.ok(ended)
  assert.deepEqual(o.errors, [])
})

test('a queue that was never started stops at once', async () => {
  await using t = await testDatabase()
  await openQueue(t.connection, { mode: 'full', onError: () => {} }).stop()
})

test('the service needs no right to make schemas or to own anything outside its queue', async () => {
  await using o = await opened()
  await o.queue.start()
  await assert.rejects(sql`create schema another`.execute(o.t.db), { code: '42501' })
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_tables
    where tableowner = current_user and schemaname <> 'pgboss'`.execute(o.t.db)
  assert.equal(rows[0]?.count, 0)
})
