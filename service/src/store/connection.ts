/**
 * One connection to PostgreSQL: where it goes, what every session of ours has in force, and what becomes of a
 * connection that cannot be trusted any more. Pools and the few long-lived single connections are made here alike.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { expectedError } from './expected-errors.ts'

export type Connection =
  | {
      /** A host name, or the folder of a unix socket (begins with a slash). */
      readonly host: string
      readonly port: number
      readonly user: string
      readonly password: string
      readonly database: string
      readonly ssl?: pg.ClientConfig['ssl']
    }
  | { readonly url: string }

export interface SessionOptions {
  readonly applicationName: string
  /** What one statement may take. 0: no limit (migrations). */
  readonly queryTimeoutMs: number
  /** What making a connection, or waiting for a free one of the pool, may take: 5 s; 2 s through a unix socket. */
  readonly connectTimeoutMs?: number
}

/**
 * The client's own limit comes a little after the server's, so that a slow statement normally ends with the server's
 * error and a usable connection; only a connection that does not answer at all runs into ours.
 */
const ANSWER_GRACE_MS = 500

const SESSION_SETTINGS = '-c search_path=yardmaster -c TimeZone=UTC -c synchronous_commit=on'

/**
 * A transaction that a stopped or cut-off process left open holds its locks, perhaps the audit log's, which everybody
 * waits for: no longer than this. None of ours waits for anything but the database in between two statements.
 */
const IDLE_IN_TRANSACTION_MS = 5_000

export function clientConfig(connection: Connection, options: SessionOptions): pg.ClientConfig {
  return {
    ...target(connection),
    application_name: options.applicationName,
    statement_timeout: options.queryTimeoutMs || false,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    ...(options.queryTimeoutMs > 0 && { query_timeout: options.queryTimeoutMs + ANSWER_GRACE_MS }),
    // Also how long a request waits for a connection of the pool: a burst may take its turn. A server that is not there
    // says so at once.
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5_000,
    // A peer that vanished without a word is noticed by the kernel, not only by the next query's time limit.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  }
}

function target(connection: Connection): pg.ClientConfig {
  if (!('url' in connection)) {
    const { host, port, user, password, database } = connection
    // ssl is said, because pg would otherwise take it from PGSSLMODE of the environment.
    return { host, port, user, password, database, ssl: connection.ssl ?? false, options: SESSION_SETTINGS }
  }
  // What stands in the address wins over the other fields in pg, so our settings are written into the address. They
  // come last: of two values for one setting the server takes the later. By hand rather than with URL, which refuses
  // addresses without a host ("postgres://user:password@/database?host=/folder").
  const [address = '', query = ''] = connection.url.split('#', 1)[0]!.split(/\?(.*)/s)
  const parameters = new URLSearchParams(query)
  parameters.set('options', `${parameters.get('options') ?? ''} ${SESSION_SETTINGS}`.trim())
  return { connectionString: `${address}?${parameters}` }
}

/** The role that a connection signs in as; undefined where the address leaves it to the environment. */
export function userOf(connection: Connection): string | undefined {
  if (!('url' in connection)) return connection.user
  return new pg.Client({ connectionString: connection.url }).user
}

const INT8 = 20
const DATE = 1082

/**
 * int8 (count(*), byte counts) comes as a number: a value that a number cannot hold is an error, never a wrong number.
 * date stays text, because pg would make it midnight in the process's time zone. timestamptz becomes a Date, which
 * loses microseconds: wire forms are made in SQL.
 */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if (format !== 'binary' && oid === INT8) return parseInt8
  if (format !== 'binary' && oid === DATE) return (text: string) => text
  return pg.types.getTypeParser(oid, format as 'text')
}

function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`int8 value ${text} does not fit into a number`)
  return value
}

/**
 * Names for statements, so that the server parses and plans each text once per connection. A text gets its name at
 * its second use: one-off texts (a list of another length in each) neither fill the table nor the server's memory,
 * which keeps every named statement until its connection ends.
 *
 * Measured on two cores that others used too, over a unix socket, one connection, a join of three tables by key, one
 * query after another, four pairs in turns: 1,300 to 2,300 a second unnamed, 7,400 to 18,700 named, 5.7 to 8.1 times
 * as many (planning is most of the cost of a small query).
 */
export class StatementNames {
  readonly #names = new Map<string, string>()
  readonly #seenOnce = new Set<string>()
  readonly #limit: number

  constructor(limit = 500) {
    this.#limit = limit
  }

  of(text: string): string | undefined {
    const name = this.#names.get(text)
    if (name !== undefined || this.#names.size >= this.#limit) return name
    if (!this.#seenOnce.delete(text)) {
      if (this.#seenOnce.size >= this.#limit) this.#seenOnce.clear()
      this.#seenOnce.add(text)
      return undefined
    }
    const fresh = createHash('sha256').update(text).digest('base64url').slice(0, 20)
    this.#names.set(text, fresh)
    return fresh
  }
}

const names = new StatementNames()

/** The part of pg's client that its types leave out. */
interface Wire {
  stream: { destroy(): void }
}

/**
 * pg's client, with four habits of its own:
 *
 * - a text with values becomes a named prepared statement;
 * - a query that got no answer in time ends the connection. pg itself only rejects the promise and leaves the
 *   statement running, so that everything after it on that connection (the rollback first) waits behind it;
 * - a connection that fails while somebody holds it is no 'error' event without a listener, which would end the
 *   process: the query under way is rejected, and that is enough;
 * - what a caller brought about (expected-errors.ts) is thrown as an error of ours.
 */
export class Client extends pg.Client {
  /** Says why this connection must not be used again; the pool destroys it on release. */
  spoilt: Error | undefined

  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.on('error', (error) => {
      this.spoilt ??= error
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: pg's overloads (text, config, cursor, callback) pass through here
  override query(first: any, second?: any, third?: any): any {
    if (typeof first === 'string' && Array.isArray(second) && second.length > 0 && third === undefined) {
      const name = names.of(first)
      if (name !== undefined) return this.#watch(super.query({ name, text: first, values: second }))
    }
    const result: unknown = super.query(first, second, third)
    return result instanceof Promise ? this.#watch(result) : result
  }

  #watch<T>(result: Promise<T>): Promise<T> {
    return result.catch((error: Error) => {
      if (!(error instanceof pg.DatabaseError)) {
        // No answer in time, a lost connection, or values that could not be sent: what the server will say next on
        // this connection belongs to nobody.
        this.spoilt ??= error
        ;(this.connection as unknown as Wire).stream.destroy()
      } else if (isStalePlan(error)) {
        this.spoilt ??= error
      }
      throw (error instanceof pg.DatabaseError && expectedError(error)) || error
    })
  }
}

/**
 * A named statement that the server cannot run any more: a migration changed what it returns, or it is gone
 * (a pooler between us, DISCARD ALL). A fresh connection knows nothing of it.
 */
export function isStalePlan(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  return error.code === '26000' || (error.code === '0A000' && /cached plan/.test(error.message))
}

/** One connection outside the pool: migrations, locks that last as long as their session, LISTEN. */
export async function connect(connection: Connection, options: SessionOptions): Promise<pg.Client> {
  const client = new Client(clientConfig(connection, options))
  await client.connect()
  return client
}
