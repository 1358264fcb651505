/**
 * The two locks that say who uses an embedded server (see embedded-postgres.ts). Both live in the server itself, in
 * its database `postgres`, and end with the connection that holds them.
 */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Connection, connect } from './connection.ts'
import { isUnavailable } from './database.ts'
import type { Passwords } from './embedded-postgres-files.ts'

const OWNER = 'yardmaster_owner'
const SERVICE = 'yardmaster'
const DATABASE = 'yardmaster'
export const SUPERUSER = OWNER

/** 'YARD', and a number each. */
const LOCKS = 1497453124
const SERVING = `${LOCKS}, 1`
const IN_USE = `${LOCKS}, 2`

const IS_THERE = `select exists (select from pg_database where datname = '${DATABASE}')`

export interface Door {
  readonly socketFolder: string
  readonly port: number
  readonly passwords: Passwords
  /** For messages. */
  readonly data: string
}

export function connections(door: Door): { owner: Connection; service: Connection } {
  const { socketFolder: host, port, passwords } = door
  return {
    owner: { host, port, user: OWNER, password: passwords.owner, database: DATABASE },
    service: { host, port, user: SERVICE, password: passwords.service, database: DATABASE },
  }
}

async function open(door: Door, what: string): Promise<pg.Client> {
  try {
    return await connect(
      { host: door.socketFolder, port: door.port, user: OWNER, password: door.passwords.owner, database: 'postgres' },
      { applicationName: `yardmaster ${what} (pid ${process.pid})`, queryTimeoutMs: 10_000, connectTimeoutMs: 10_000 },
    )
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '28P01') throw error
    throw new Error(
      `The database in ${door.data} does not accept the password in database-passwords.json: restore the file that ` +
        'belongs to it',
      { cause: error },
    )
  }
}

async function ask(session: pg.Client, text: string): Promise<boolean> {
  const { rows } = await session.query<{ answer: boolean }>(text)
  return rows[0]?.answer === true
}

/** Only for the process that started the server. Waits for an earlier connection of ours that is dying. */
export async function takeServing(door: Door): Promise<pg.Client> {
  const session = await open(door, 'serves')
  for (let tries = 0; tries < 100; tries++) {
    if (await ask(session, `/* embedded.serving */ select pg_try_advisory_lock(${SERVING}) as answer`)) {
      return keepingNobodyAwake(session)
    }
    await pause(50)
  }
  await session.end()
  throw new Error('The lock of the serving process is held by another connection of this server')
}

/** undefined: the server is going away or has gone, or its starter has not made the database in it yet. */
export async function takeShare(door: Door): Promise<pg.Client | undefined> {
  try {
    const session = await open(door, 'works')
    if (await ask(session, `/* embedded.in_use */ ${IS_THERE} and pg_try_advisory_lock_shared(${IN_USE}) as answer`)) {
      return keepingNobodyAwake(session)
    }
    await session.end()
    return undefined
  } catch (error) {
    if (isUnavailable(error)) return undefined
    throw error
  }
}

/** True when nobody else shares the server, and from then on nobody can. */
export function takeAlone(session: pg.Client): Promise<boolean> {
  return ask(session, `/* embedded.alone */ select pg_try_advisory_lock(${IN_USE}) as answer`)
}

/** Whether a process serves from it; looked up, not tried, because trying would hold it for a moment. */
export async function isServed(session: pg.Client): Promise<boolean> {
  const [classid, objid] = SERVING.split(', ')
  return ask(
    session,
    `/* embedded.served */ select exists (select from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())
      and classid = ${classid} and objid = ${objid}) as answer`,
  )
}

/** Looks around in a server that is not ours. undefined: it has gone meanwhile. */
export async function visit<T>(door: Door, look: (session: pg.Client) => Promise<T>): Promise<T | undefined> {
  let session: pg.Client | undefined
  try {
    session = await open(door, 'looks')
    return await look(session)
  } catch (error) {
    if (isUnavailable(error)) return undefined
    throw error
  } finally {
    await session?.end().catch(() => {})
  }
}

/** Holds on to a server that was told to stop until it lets go of us, so that no command joins it in its last moment. */
export async function untilDropped(session: pg.Client): Promise<void> {
  await once(session, 'end', { signal: AbortSignal.timeout(10_000) }).catch(() => {})
}

/** A command that started the server lets those that joined it finish, within limits. */
export async function waitForOthers(session: pg.Client, limitMs: number): Promise<void> {
  const began = performance.now()
  keepingAwake(session)
  while (performance.now() - began < limitMs) {
    // A server that does not answer has no users either.
    if (await takeAlone(session).catch(() => true)) return
    await pause(50)
  }
}

/** At every start, since a first start may have been cut off anywhere. Only for the process that started the server. */
export async function createRoleAndDatabase(door: Door): Promise<void> {
  const session = await open(door, 'prepares')
  try {
    if (!(await ask(session, `/* embedded.role */ select to_regrole('${SERVICE}') is not null as answer`))) {
      await session.query(`/* embedded.create_role */ create role ${SERVICE} login nosuperuser nocreatedb nocreaterole
        password ${pg.escapeLiteral(door.passwords.service)}`)
    }
    if (!(await ask(session, `/* embedded.database */ ${IS_THERE} as answer`))) {
      await session.query(`/* embedded.create_database */ create database ${DATABASE}`)
    }
    await session.query(`/* embedded.close_database */ revoke all on database ${DATABASE} from public;
      grant connect, temporary on database ${DATABASE} to ${SERVICE}`)
  } finally {
    await session.end().catch(() => {})
  }
}

/** A lock that is held keeps no process alive that has nothing else to do. pg's types leave these two out. */
function keepingNobodyAwake(session: pg.Client): pg.Client {
  ;(session as unknown as { unref(): void }).unref()
  return session
}

function keepingAwake(session: pg.Client): pg.Client {
  ;(session as unknown as { ref(): void }).ref()
  return session
}

export async function endSession(session: pg.Client): Promise<void> {
  await keepingAwake(session)
    .end()
    .catch(() => {})
}
