/**
 * A real PostgreSQL in the data folder, for everybody who has no server of their own.
 *
 * Whose is it? The process that starts the postmaster owns it, and it dies with that process. Three kinds of process
 * meet on one folder, and two locks in the server (database `postgres`) keep them apart; a killed process loses its
 * locks with its connection, so nothing stale can be left:
 *
 * - *serving*: only the starter takes it, for as long as it serves. Whoever finds it held by another and wants to
 *   serve is refused.
 * - *in use*: every command shares it while it works. Who wants the server gone takes it alone first; a command that
 *   cannot share it any more knows that the server is on its way out, waits, and starts its own.
 *
 * So a command works beside a running service and beside other commands, on one server. A service waits for commands
 * to end (they are short), ends a server that nobody uses (its starter was killed), and starts its own.
 */
import { chmod, chown, readdir, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Connection, connect } from './connection.ts'
import { isUnavailable } from './database.ts'
import {
  type Binaries,
  findBinaries,
  isAlive,
  linkLibraries,
  type Passwords,
  placeCluster,
  prepareDataFolder,
  prepareSocketFolder,
  readOrMakePasswords,
  readServiceFile,
  removeUnfinishedClusters,
  unless,
} from './embedded-postgres-files.ts'
import {
  chooseLaunch,
  clearLeftovers,
  findServer,
  type Launch,
  type PidFile,
  readStarter,
  runInitdb,
  type Server,
  startServer,
} from './embedded-postgres-process.ts'

export { removeServiceFile, type ServiceFile, writeServiceFile } from './embedded-postgres-files.ts'

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export interface EmbeddedPostgresOptions {
  readonly dataFolder: string
  readonly purpose: 'serve' | 'command'
  readonly log: Log
  /** A serving process has lost its folder to another one while its server was down: it must stop. */
  readonly onLost?: (error: Error) => void
}

export interface EmbeddedPostgres {
  /** Owns the schema. Migrations and maintenance only. */
  readonly owner: Connection
  /** What the service works with: no superuser, owns no table. */
  readonly service: Connection
  /** True: somebody else's server, which goes on when we stop. */
  readonly adopted: boolean
  readonly dataDirectory: string
  /** Safe to call twice; waits for the end. */
  stop(): Promise<void>
}

export function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  return startWithSettings(options, {})
}

const OWNER = 'yardmaster_owner'
const SERVICE = 'yardmaster'
const DATABASE = 'yardmaster'
const PORT = 5432

/** Advisory locks: 'YARD' and a number. */
const LOCKS = 1497453124
const SERVING = 1
const IN_USE = 2

/** How long a service waits for commands, and a command for the ones that joined it. */
const COMMANDS_MS = 15_000
/** How long a server may be up without its living starter having taken the serving lock. */
const STARTING_MS = 1_000
/** Backends of a postmaster that was killed alone hold its memory until they notice. */
const LEFTOVERS_MS = 3_000

interface Site {
  readonly data: string
  readonly cluster: string
  readonly passwords: Passwords
  readonly binaries: Binaries
  readonly launch: Launch
  readonly settings: Readonly<Record<string, string>>
  readonly options: EmbeddedPostgresOptions
}

interface Held {
  /** Set when we started it. */
  readonly server: Server | undefined
  /** Holds our lock. */
  readonly session: pg.Client
  readonly socketFolder: string
}

/** For tests, which need no durability. */
export async function startWithSettings(
  options: EmbeddedPostgresOptions,
  settings: Readonly<Record<string, string>>,
): Promise<EmbeddedPostgres> {
  const site = await prepareSite(options, settings)
  let held = await startOrAdopt(site)
  let stopping: Promise<void> | undefined
  let mending: Promise<void> | undefined
  const onExit = () => held.server?.child.kill('SIGINT')
  process.once('exit', onExit)

  /** The server crashed, or the connection with our lock did: whatever is missing is made again. */
  const mend = async (): Promise<void> => {
    for (let attempt = 0; stopping === undefined; attempt++) {
      if (attempt > 0) await pause(Math.min(100 * 2 ** attempt, 5_000))
      try {
        const ended = held.server && !isAlive(held.server.pid)
        options.log.error({ attempt }, ended ? 'PostgreSQL ended: starting it again' : 'PostgreSQL dropped us')
        await held.session.end().catch(() => {})
        held = ended ? await startOrAdopt(site) : { ...held, session: await takeServing(site, held.socketFolder) }
        watch()
        return
      } catch (error) {
        if (error instanceof FolderTaken) return options.onLost?.(error)
        options.log.error({ error }, 'PostgreSQL is not back yet')
      }
    }
  }
  const watch = (): void => {
    const { server, session } = held
    if (options.purpose !== 'serve' || !server) return
    const onLoss = (): void => {
      if (stopping !== undefined || held.session !== session) return
      mending ??= mend().finally(() => {
        mending = undefined
      })
    }
    session.once('end', onLoss)
    void server.exited.then(onLoss)
  }
  watch()

  const stop = async (): Promise<void> => {
    await mending
    process.off('exit', onExit)
    ref(held.session)
    if (held.server && options.purpose === 'command') await waitForOthers(held.session)
    await held.session.end().catch(() => {})
    if (!held.server) return
    await endServer(held.server)
    // Clean for the next one; another process may have begun to use it.
    await rmdir(held.socketFolder).catch(() => {})
  }
  return {
    owner: connectionFor(site, held.socketFolder, { user: OWNER, database: DATABASE }),
    service: connectionFor(site, held.socketFolder, { user: SERVICE, database: DATABASE }),
    adopted: held.server === undefined,
    dataDirectory: site.cluster,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

async function prepareSite(options: EmbeddedPostgresOptions, settings: Site['settings']): Promise<Site> {
  const binaries = findBinaries()
  const data = await prepareDataFolder(options.dataFolder)
  const cluster = join(data, 'postgres')
  await removeUnfinishedClusters(data)
  const exists = (await stat(cluster).catch(unless('ENOENT'))) !== undefined
  const [passwords, launch] = await Promise.all([readOrMakePasswords(data, exists), chooseLaunch()])
  await linkLibraries(data, binaries)
  if (launch.switchesUser) await chmod(data, 0o711)
  const site = { data, cluster, passwords, binaries, launch, settings, options }
  if (!exists) await makeCluster(site)
  await giveCluster(cluster, launch.owner)
  return site
}

/** Made beside its place and moved there when finished: a crash leaves no half cluster, and of two makers one wins. */
async function makeCluster(site: Site): Promise<void> {
  const made = `${site.cluster}.${process.pid}`
  const passwordFile = `${made}.password`
  const { owner } = site.launch
  await writeFile(passwordFile, site.passwords.owner, { mode: 0o600 })
  await chown(passwordFile, owner, owner)
  try {
    await runInitdb(site, { folder: made, superuser: OWNER, passwordFile })
  } finally {
    await unlink(passwordFile)
  }
  if (await placeCluster(made, site.cluster)) site.options.log.info({ folder: site.cluster }, 'database made')
}

/** Where the way of running PostgreSQL has changed, the cluster may still belong to another user. */
async function giveCluster(cluster: string, owner: number): Promise<void> {
  if ((await stat(cluster)).uid === owner || process.getuid?.() !== 0) return
  for (const path of await readdir(cluster, { recursive: true })) await chown(join(cluster, path), owner, owner)
  await chown(cluster, owner, owner)
}

class FolderTaken extends Error {}

async function startOrAdopt(site: Site): Promise<Held> {
  const began = performance.now()
  let cleared = false
  for (;;) {
    const waited = performance.now() - began
    const running = await findServer(site.cluster)
    if (running) {
      const held =
        site.options.purpose === 'serve' ? await makeWay(site, running, waited) : await share(site, running, waited)
      if (held) return held
      await pause(25)
      continue
    }
    const socketFolder = await prepareSocketFolder(site.data, site.launch.owner)
    const server = await startServer({ ...site, socketFolder, purpose: site.options.purpose })
    if (typeof server !== 'string') {
      try {
        await createRoleAndDatabase(site, socketFolder)
        const session =
          site.options.purpose === 'serve' ? await takeServing(site, socketFolder) : await takeShare(site, socketFolder)
        if (session) return { server, session, socketFolder }
      } catch (error) {
        // Ended under our hands by another one that wanted it gone: next round. Anything else is a fault.
        if (isAlive(server.pid) || !isUnavailable(error)) {
          await endServer(server)
          throw error
        }
      }
      continue
    }
    // Another process was faster, or the memory of a killed server is still held by its backends.
    const held = /lock file .* already exists|lock file .* is empty|pre-existing shared memory block/.test(server)
    if (!held || waited > COMMANDS_MS) {
      throw new Error(
        `PostgreSQL did not start in ${site.cluster}. Its log (${site.data}/postgres.log) ends:\n${server}`,
      )
    }
    if (waited > LEFTOVERS_MS && !cleared && !(await findServer(site.cluster))) {
      const processes = await clearLeftovers(site.cluster)
      site.options.log.warn({ processes }, 'ended what a killed PostgreSQL had left running')
      cleared = true
    }
    await pause(100)
  }
}

/** For a command: joins the server that runs. undefined: not yet, or not any more. */
async function share(site: Site, running: PidFile, waited: number): Promise<Held | undefined> {
  if (running.status !== 'ready') {
    if (waited > 60_000) throw new Error(`PostgreSQL (pid ${running.pid}) has been ${running.status} for a minute`)
    return undefined
  }
  const session = await unlessGone(takeShare(site, running.socketFolder))
  return session && { server: undefined, session, socketFolder: running.socketFolder }
}

/** For a service: refuses beside another one; otherwise sees to it that the server that runs ends. */
async function makeWay(site: Site, running: PidFile, waited: number): Promise<undefined> {
  const starter = await readStarter(site.cluster)
  const starterLives = starter !== undefined && isAlive(starter.pid)
  if (running.status !== 'ready') {
    // Starting under a living service (it may be recovering for long), or stopping under whomever.
    const starting = running.status === 'starting' && starterLives && starter.purpose === 'serve'
    if (starting && starter.pid !== process.pid && waited > STARTING_MS) throw await folderTaken(site, starter.pid)
    if (waited > 60_000) throw new Error(`PostgreSQL (pid ${running.pid}) has been ${running.status} for a minute`)
    return
  }
  const session = await unlessGone(connectAs(site, running.socketFolder, 'makes way'))
  if (!session) return
  try {
    const { rows } = await session.query<{ served: boolean }>(
      `/* embedded.served */ select exists (select from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())
        and classid = ${LOCKS} and objid = ${SERVING}) as served`,
    )
    const serves = starterLives && starter.purpose === 'serve'
    if (rows[0]?.served || (serves && waited > STARTING_MS)) throw await folderTaken(site, starter?.pid)
    // It is just starting: next round it has its lock.
    if (serves) return
    const users = await session.query<{ alone: boolean }>(
      `/* embedded.alone */ select pg_try_advisory_lock(${LOCKS}, ${IN_USE}) as alone`,
    )
    // A server whose starter is gone belongs to nobody. One that a command started is left to it.
    if (users.rows[0]?.alone ? !starterLives : waited > COMMANDS_MS && !starterLives) {
      process.kill(running.pid, 'SIGINT')
    } else if (waited > COMMANDS_MS) {
      throw new Error(
        `A yardmaster command (pid ${starter?.pid}) is working on ${site.data}: start the service when it has ended`,
      )
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error
  } finally {
    await session.end().catch(() => {})
  }
}

async function folderTaken(site: Site, pid: number | undefined): Promise<FolderTaken> {
  const file = await readServiceFile(site.data)
  const since = file && file.pid === pid ? `, since ${file.startedAt}, at ${file.url}` : ''
  return new FolderTaken(
    `Another Yardmaster (pid ${pid ?? file?.pid}${since}) is serving this data folder ${site.data}: stop it first, or ` +
      'choose another folder with --data',
  )
}

function connectionFor(site: Site, host: string, who: { user: string; database: string }) {
  const password = who.user === OWNER ? site.passwords.owner : site.passwords.service
  return { host, port: PORT, password, ...who }
}

async function connectAs(site: Site, socketFolder: string, what: string): Promise<pg.Client> {
  const connection = connectionFor(site, socketFolder, { user: OWNER, database: 'postgres' })
  try {
    const applicationName = `yardmaster ${what} (pid ${process.pid})`
    return await connect(connection, { applicationName, queryTimeoutMs: 5_000 })
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '28P01') throw error
    throw new Error(
      `The database in ${site.cluster} does not accept the password in ${site.data}/database-passwords.json: restore ` +
        'the file that belongs to it',
      { cause: error },
    )
  }
}

/** undefined: the server went away meanwhile, or is going. */
async function unlessGone<T>(attempt: Promise<T>): Promise<T | undefined> {
  try {
    return await attempt
  } catch (error) {
    if (isUnavailable(error)) return undefined
    throw error
  }
}

/** Waits for an earlier connection of ours that the server has not yet noticed to be dead. */
async function takeServing(site: Site, socketFolder: string): Promise<pg.Client> {
  const session = await connectAs(site, socketFolder, 'serves')
  for (let tries = 0; tries < 100; tries++) {
    const { rows } = await session.query<{ taken: boolean }>(
      `/* embedded.serving */ select pg_try_advisory_lock(${LOCKS}, ${SERVING}) as taken`,
    )
    if (rows[0]?.taken) {
      unref(session)
      return session
    }
    await pause(50)
  }
  await session.end()
  throw new Error('The lock of the serving process is held by another connection')
}

async function takeShare(site: Site, socketFolder: string): Promise<pg.Client | undefined> {
  const session = await connectAs(site, socketFolder, 'command')
  const { rows } = await session.query<{ taken: boolean }>(
    `/* embedded.in_use */ select pg_try_advisory_lock_shared(${LOCKS}, ${IN_USE}) as taken`,
  )
  if (rows[0]?.taken) {
    unref(session)
    return session
  }
  await session.end()
  return undefined
}

/** A lock that is held keeps no process alive that has nothing else to do. pg's types leave these two out. */
function unref(session: pg.Client): void {
  ;(session as unknown as { unref(): void }).unref()
}

function ref(session: pg.Client): void {
  ;(session as unknown as { ref(): void }).ref()
}

/** A command that started the server lets those that joined it finish. */
async function waitForOthers(session: pg.Client): Promise<void> {
  const began = performance.now()
  while (performance.now() - began < COMMANDS_MS) {
    const { rows } = await session
      .query<{ alone: boolean }>(`/* embedded.alone */ select pg_try_advisory_lock(${LOCKS}, ${IN_USE}) as alone`)
      .catch(() => ({ rows: [{ alone: true }] }))
    if (rows[0]?.alone) return
    await pause(50)
  }
}

/** SIGINT is PostgreSQL's fast stop; SIGQUIT leaves the rest to recovery at the next start, and loses nothing. */
async function endServer(server: Server): Promise<void> {
  server.child.ref()
  server.child.kill('SIGINT')
  const late = setTimeout(() => server.child.kill('SIGQUIT'), 30_000)
  await server.exited
  clearTimeout(late)
}

/** At every start, since a first start may have been cut off anywhere. Only the starter gets here. */
async function createRoleAndDatabase(site: Site, socketFolder: string): Promise<void> {
  const session = await connectAs(site, socketFolder, 'prepares')
  try {
    const { rows } = await session.query<{ role: boolean; database: boolean }>(
      `/* embedded.missing */ select to_regrole('${SERVICE}') is not null as role,
        exists (select from pg_database where datname = '${DATABASE}') as database`,
    )
    if (!rows[0]?.role) {
      await session.query(`/* embedded.create_role */ create role ${SERVICE} login nosuperuser nocreatedb nocreaterole
        password ${pg.escapeLiteral(site.passwords.service)}`)
    }
    if (!rows[0]?.database) {
      await session.query(`/* embedded.create_database */ create database ${DATABASE}`)
      await session.query(`/* embedded.close_database */ revoke all on database ${DATABASE} from public;
        grant connect, temporary on database ${DATABASE} to ${SERVICE}`)
    }
  } finally {
    await session.end().catch(() => {})
  }
}
