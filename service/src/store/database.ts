/** The pool that everything else reads and writes through. */
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, PostgresDialect, type PostgresPool, type Transaction } from 'kysely'
import pg from 'pg'
import { Client, type Connection, clientConfig, isStalePlan, type SessionOptions } from './connection.ts'
import type { Tables } from './tables.ts'

export type { Connection } from './connection.ts'

/** A pool or a transaction: a statement does not care which. */
export type Db = Kysely<Tables>

export interface DatabaseOptions extends SessionOptions {
  readonly poolSize: number
}

export interface Database {
  readonly kysely: Db
  /** Connections of the pool, for the metrics. */
  connections(): { open: number; idle: number; waiting: number }
  /** Waits for the queries under way. Safe to call twice. */
  close(): Promise<void>
}

export function openDatabase(connection: Connection, options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...clientConfig(connection, options),
    max: options.poolSize,
    idleTimeoutMillis: 60_000,
    Client,
  })
  // A server that goes away ends idle connections, which is no reason to end the process: the pool has dropped them
  // already, and the next query says what is wrong.
  pool.on('error', () => {})
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: discardingSpoilt(pool) }) })
  let closed: Promise<void> | undefined
  return {
    kysely,
    connections: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => {
      closed ??= kysely.destroy()
      return closed
    },
  }
}

/** A connection that cannot be trusted any more is destroyed on release instead of going to the next caller. */
function discardingSpoilt(pool: pg.Pool): PostgresPool {
  return {
    options: pool.options,
    Client,
    end: () => pool.end(),
    connect: async () => {
      const client = (await pool.connect()) as pg.PoolClient & Client
      const release = client.release
      client.release = (destroy) => release(destroy || client.spoilt !== undefined)
      return client as unknown as Awaited<ReturnType<PostgresPool['connect']>>
    },
  }
}

const RETRIES = 3

/**
 * Runs the whole of `work` in a transaction, and again (three times at most) when the database undid it to let
 * another one through: serialization failure, deadlock, a plan outdated by a migration, a unique key that somebody else
 * took between the look and the insert (at the second try the look finds it). So `work` must do nothing outside the
 * database. Inside a transaction it joins that one. A commit whose answer was lost is never repeated: it may have
 * happened.
 */
export async function inTransaction<T>(db: Db, work: (tx: Transaction<Tables>) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db as Transaction<Tables>)
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (attempt > RETRIES || !isUndone(error)) throw error
      // Both losers of a deadlock must not meet again at once.
      await pause(Math.random() * 20 * 2 ** attempt)
    }
  }
}

function isUndone(error: unknown): boolean {
  const code = error instanceof pg.DatabaseError ? error.code : undefined
  return code === '40001' || code === '40P01' || code === '23505' || isStalePlan(error)
}

/** SQLSTATEs and classes (two characters) that say: not now, try later. */
const NOT_NOW = new Set([
  '08', // connection exceptions
  '53', // too many connections, disk full, out of memory
  '57014', // statement_timeout
  '57P01', // shut down by an administrator
  '57P02', // shut down by a crash
  '57P03', // starting up or shutting down
  '57P05', // idle session
  '25006', // read-only: a standby, in the middle of a failover
  '25P03', // idle in transaction
  '58030', // I/O error
])

const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** pg gives these no code. */
const LOST =
  /^(Connection terminated|Query read timeout|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Cannot use a pool after|Postgres connection has been discarded|driver has already been destroyed)/

/**
 * The database cannot be reached or cannot serve now, so the same request may succeed later (503, not 500). Whether a
 * commit under way took place is not known then.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof pg.DatabaseError) {
    const code = error.code ?? ''
    return NOT_NOW.has(code) || NOT_NOW.has(code.slice(0, 2))
  }
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && NO_CONNECTION.has(code)) return true
  // No socket file: the embedded server is not up (yet). EACCES likewise while its folder is being made.
  if (syscall === 'connect' && (code === 'ENOENT' || code === 'EACCES')) return true
  return LOST.test(error.message) || isUnavailable(error.cause)
}
