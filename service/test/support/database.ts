/**
 * A PostgreSQL for tests: one cluster per test run, one migrated template in it, one clone of that per call.
 *
 * scripts/test.ts starts the cluster and names it to its children in YARDMASTER_TEST_POSTGRES. A test file that is run
 * by itself starts one when it first asks, which ends with its process. Nothing in it outlives a crash (fsync is off).
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { type Connection, connect } from '../../src/store/connection.ts'
import { type Database, type Db, openDatabase } from '../../src/store/database.ts'
import { type EmbeddedPostgres, startWithInternals } from '../../src/store/embedded-postgres.ts'
import { migrate, readMigrations } from '../../src/store/migrate.ts'
import { quietLog } from './log.ts'

type SocketConnection = Extract<Connection, { host: string }>

interface Cluster {
  readonly owner: SocketConnection
  readonly service: SocketConnection
}

export interface TestCluster {
  /** For the environment of the processes that run the tests. */
  readonly environment: { readonly YARDMASTER_TEST_POSTGRES: string }
  stop(): Promise<void>
}

export interface TestDatabase extends AsyncDisposable {
  /** As the service sees it: the role without ownership. */
  readonly database: Database
  /** The same, for short. */
  readonly db: Db
  /** The role that owns the tables, for what the service may not do. */
  readonly owner: Database
  readonly connection: SocketConnection
  readonly ownerConnection: SocketConnection
  close(): Promise<void>
}

export async function startTestCluster(): Promise<TestCluster> {
  const { postgres, folder } = await startCluster()
  const { owner, service } = postgres
  return {
    environment: { YARDMASTER_TEST_POSTGRES: JSON.stringify({ owner, service }) },
    stop: async () => {
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startCluster(): Promise<{ postgres: EmbeddedPostgres; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-test-'))
  const postgres = await startWithInternals(
    { dataFolder: folder, purpose: 'command', log: quietLog },
    {
      settings: {
        fsync: 'off',
        full_page_writes: 'off',
        synchronous_commit: 'off',
        max_connections: '200',
        autovacuum: 'off',
      },
    },
  )
  return { postgres, folder }
}

let cluster: Promise<Cluster> | undefined

function findCluster(): Promise<Cluster> {
  const given = process.env.YARDMASTER_TEST_POSTGRES
  cluster ??= given ? Promise.resolve(JSON.parse(given) as Cluster) : startOwnCluster()
  return cluster
}

/** Ends with this process, however that ends; only a kill leaves the folder behind. */
async function startOwnCluster(): Promise<Cluster> {
  const { postgres, folder } = await startCluster()
  const { owner, service } = postgres as unknown as Cluster
  process.once('exit', () => {
    try {
      process.kill(
        Number(readFileSync(join(postgres.dataDirectory, 'postmaster.pid'), 'utf8').split('\n')[0]),
        'SIGQUIT',
      )
    } catch {
      // It is gone already.
    }
    // Nothing asynchronous runs any more.
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    for (let tries = 0; tries < 100 && existsSync(`${owner.host}/.s.PGSQL.5432`); tries++)
      Atomics.wait(sleeper, 0, 0, 10)
    for (const path of [folder, owner.host]) rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  })
  return { owner, service }
}

export async function testDatabase(
  options: { poolSize?: number; queryTimeoutMs?: number } = {},
): Promise<TestDatabase> {
  const { owner, service } = await findCluster()
  const template = await makeTemplate({ owner, service })
  const name = `test_${randomBytes(6).toString('hex')}`
  await administer(owner, (client) => client.query(`create database ${name} template ${template} strategy file_copy`))
  const open = (connection: Connection) =>
    openDatabase(connection, {
      poolSize: options.poolSize ?? 5,
      queryTimeoutMs: options.queryTimeoutMs ?? 10_000,
      applicationName: 'yardmaster test',
    })
  const connection = { ...service, database: name }
  const ownerConnection = { ...owner, database: name }
  const [database, ownerDatabase] = [open(connection), open(ownerConnection)]
  const close = async (): Promise<void> => {
    await Promise.all([database.close(), ownerDatabase.close()])
    await administer(owner, (client) => client.query(`drop database if exists ${name} with (force)`))
  }
  return {
    database,
    db: database.kysely,
    owner: ownerDatabase,
    connection,
    ownerConnection,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Runs against the cluster's own database, on a connection of its own. */
async function administer<T>(owner: SocketConnection, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const options = { applicationName: 'yardmaster test support', queryTimeoutMs: 60_000 }
  const client = await connect({ ...owner, database: 'postgres' }, options)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

let template: Promise<string> | undefined

/** Of several test processes one migrates; the others wait for it. Half a template never has the final name. */
function makeTemplate(cluster: Cluster): Promise<string> {
  template ??= (async () => {
    const migrations = await readMigrations(join(import.meta.dirname, '..', '..', 'migrations'))
    const hash = createHash('sha256')
      .update(migrations.map((m) => m.checksum).join())
      .digest('hex')
      .slice(0, 12)
    const name = `template_${hash}`
    await administer(cluster.owner, async (client) => {
      while (!(await client.query('select pg_try_advisory_lock(7) as locked')).rows[0].locked) await pause(20)
      const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
      if (rowCount) return
      await client.query(`drop database if exists making_${hash} with (force)`)
      await client.query(`create database making_${hash}`)
      await migrate({ ...cluster.owner, database: `making_${hash}` }, { serviceRole: cluster.service.user })
      await client.query(`alter database making_${hash} rename to ${name}`)
    })
    return name
  })()
  return template
}
