/**
 * A real PostgreSQL in the data folder, for everybody who has no server of their own.
 *
 * Whose is it? The process that starts the postmaster owns it, and it dies with that process. Three kinds of process
 * meet on one folder, and two locks in the server keep them apart; a killed process loses its locks with its
 * connection, so nothing stale can be left:
 *
 * - *serving*: only the starter takes it, for as long as it serves. Whoever finds it held and wants to serve is
 *   refused.
 * - *in use*: every command shares it while it works. Who wants the server gone takes it alone first; a command that
 *   cannot share it any more knows that the server is on its way out, waits, and starts its own.
 *
 * So a command works beside a running service and beside other commands, on one server. A service waits for commands
 * to end (they are short), ends a server that nobody uses (its starter was killed), and starts its own. A command
 * that started a server stays until those that joined it are done.
 */
import { rmdir } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Connection } from './connection.ts'
import { isUnavailable } from './database.ts'
import { isAlive, prepareSocketFolder, readServiceFile, sendSignal } from './embedded-postgres-files.ts'
import {
  connections,
  createRoleAndDatabase,
  type Door,
  endSession,
  isServed,
  takeAlone,
  takeServing,
  takeShare,
  untilDropped,
  visit,
  waitForOthers,
} from './embedded-postgres-locks.ts'
import {
  endOrphans,
  endServer,
  findServer,
  type PidFile,
  readStarter,
  removeForeignSocketLock,
  removePidFile,
  type Server,
  startServer,
} from './embedded-postgres-process.ts'
import { type EmbeddedPostgresOptions, type Internals, prepareSite, type Site } from './embedded-postgres-site.ts'

export {
  readServiceFile,
  removeServiceFile,
  type ServiceFile,
  writeServiceFile,
} from './embedded-postgres-files.ts'
export type { EmbeddedPostgresOptions, Log } from './embedded-postgres-site.ts'

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

/** How long a service waits for commands, and a command for those that joined it. */
const COMMANDS_MS = 15_000
/** How long a server may be up without its living starter having taken the serving lock. */
const STARTING_MS = 1_000
const STUCK_MS = 60_000
const PORT = 5432

interface Held {
  /** Set when we started it. */
  readonly server: Server | undefined
  /** Holds our lock. */
  readonly session: pg.Client
  readonly door: Door
}

/** Another process serves from this folder. */
export class FolderTaken extends Error {}

export function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  return startWithInternals(options, {})
}

export async function startWithInternals(
  options: EmbeddedPostgresOptions,
  internals: Internals,
): Promise<EmbeddedPostgres> {
  const stopped = new AbortController()
  const site = await prepareSite(options, internals, stopped.signal)
  const keeper = new Keeper(site, await startOrAdopt(site), options.onLost)
  const { door, server } = keeper.held
  // Where nothing tells PostgreSQL that we are gone, at least an orderly exit does.
  const onExit = () => keeper.held.server?.child.kill('SIGINT')
  process.once('exit', onExit)
  const stop = async (): Promise<void> => {
    stopped.abort()
    const held = await keeper.release()
    process.off('exit', onExit)
    if (held.server && site.purpose === 'command') await waitForOthers(held.session, COMMANDS_MS)
    await endSession(held.session)
    if (!held.server) return
    await endServer(held.server)
    // Fails when another process has begun to use it, which is right.
    await rmdir(held.door.socketFolder).catch(() => {})
  }
  let stopping: Promise<void> | undefined
  return {
    ...connections(door),
    adopted: server === undefined,
    dataDirectory: site.cluster,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
  }
}

/** Keeps a serving process's server up and its lock held. */
class Keeper {
  held: Held
  readonly #site: Site
  readonly #onLost: ((error: Error) => void) | undefined
  #mending: Promise<void> | undefined
  #released = false
  #lost = false
  #failures = 0
  #upSince = performance.now()

  constructor(site: Site, held: Held, onLost: ((error: Error) => void) | undefined) {
    this.#site = site
    this.#onLost = onLost
    this.held = held
    this.#watch()
  }

  async release(): Promise<Held> {
    this.#released = true
    await this.#mending
    return this.held
  }

  #watch(): void {
    const { server, session } = this.held
    // A command is over soon, and what it does fails by itself.
    if (!server || this.#site.purpose !== 'serve') return
    const onLoss = (): void => {
      if (this.held.session === session) this.#startMending()
    }
    session.once('end', onLoss)
    void server.exited.then(onLoss)
  }

  #startMending(): void {
    if (this.#released) return
    this.#mending ??= this.#mend().finally(() => {
      this.#mending = undefined
      // Ended again before the first repair was over: that event came too early to be heard.
      if (!this.#lost && this.held.server?.hasEnded()) this.#startMending()
    })
  }

  /** The server ended, or dropped the connection with our lock: what is missing is made again, with growing pauses. */
  async #mend(): Promise<void> {
    const { log } = this.#site
    if (performance.now() - this.#upSince > STUCK_MS) this.#failures = 0
    for (; !this.#released; this.#failures++) {
      // A second at most: with what a start takes, requests are served again within five, however often it happens.
      if (this.#failures > 0) await pause(Math.min(50 * 2 ** this.#failures, 1_000))
      const { server, door, session } = this.held
      try {
        await session.end().catch(() => {})
        if (server?.hasEnded()) {
          log.error({ how: await server.exited }, 'PostgreSQL ended, starting it again')
          this.held = await startOrAdopt(this.#site)
        } else {
          log.warn({}, 'PostgreSQL dropped the connection that holds our lock, taking it again')
          this.held = { server, door, session: await takeServing(door) }
        }
        log.info({}, 'PostgreSQL is back')
        this.#upSince = performance.now()
        this.#failures++
        this.#watch()
        return
      } catch (error) {
        if (this.#released) return
        if (error instanceof FolderTaken) {
          this.#lost = true
          return this.#onLost?.(error)
        }
        log.error({ err: error }, 'PostgreSQL is not back yet')
      }
    }
  }
}

async function startOrAdopt(site: Site): Promise<Held> {
  const began = performance.now()
  for (;;) {
    site.signal.throwIfAborted()
    const waited = performance.now() - began
    const running = await findServer(site.cluster)
    if (running) {
      const held =
        site.purpose === 'serve' ? await makeWay(site, running, waited) : await joinServer(site, running, waited)
      if (held) return held
      await pause(25)
      continue
    }
    const socketFolder = await prepareSocketFolder(site.data, site.launch.owner)
    const server = await startServer({ ...site, socketFolder })
    if (typeof server !== 'string') {
      const held = await settleIn(site, server, { ...site, socketFolder, port: PORT })
      if (held) return held
      if (waited > STUCK_MS) throw new Error('PostgreSQL starts, and drops its connections: is the machine overloaded?')
      continue
    }
    await afterFailedStart({ ...site, socketFolder }, server, waited)
    await pause(50)
  }
}

/** Ours from the first moment. undefined: another process ended it under our hands, to start its own. */
async function settleIn(site: Site, server: Server, door: Door): Promise<Held | undefined> {
  try {
    await createRoleAndDatabase(door)
    if (site.purpose === 'serve') return { server, session: await takeServing(door), door }
    while (!server.hasEnded()) {
      const session = await takeShare(door)
      if (session) return { server, session, door }
      await pause(25)
    }
    return undefined
  } catch (error) {
    const dropped = isUnavailable(error)
    await endServer(server)
    if (dropped) return undefined
    throw error
  }
}

/** Another process was faster, or something of a killed server is in the way. Anything else is a fault. */
async function afterFailedStart(site: Site & { socketFolder: string }, said: string, waited: number): Promise<void> {
  if (/pre-existing shared memory block/.test(said)) {
    const processes = await endOrphans(site.cluster)
    if (processes > 0) site.log.warn({ processes }, 'ended what a killed PostgreSQL had left running')
  } else if (/lock file .* is empty/.test(said)) {
    // Another one is just writing it, or was killed while it did.
    if (waited > STARTING_MS) await removePidFile(site.cluster, 0)
  } else if (/lock file .* already exists/.test(said)) {
    await removeForeignSocketLock(site.socketFolder, site.cluster)
  } else {
    throw new Error(`PostgreSQL did not start. Its log (${site.data}/postgres.log) ends:\n${said}`)
  }
  if (waited > COMMANDS_MS) throw new Error(`PostgreSQL could not start in ${Math.round(waited)} ms:\n${said}`)
}

function throwIfStuck(running: PidFile, waited: number): void {
  if (waited < STUCK_MS) return
  throw new Error(`PostgreSQL (pid ${running.pid}) has been ${running.status || 'starting'} for a minute: end it`)
}

/** For a command: uses the server that runs. undefined: it is not up yet, or on its way out. */
async function joinServer(site: Site, running: PidFile, waited: number): Promise<Held | undefined> {
  throwIfStuck(running, waited)
  if (running.status !== 'ready') return undefined
  const door = { ...site, ...running }
  const session = await takeShare(door)
  if (session) return { server: undefined, session, door }
  const starter = await readStarter(site.cluster)
  // Its starter was killed before it had made the database, so it never will be.
  if (waited > STARTING_MS && starter && !isAlive(starter.pid))
    await visit(door, (other) => endIfUnused(running, other))
  return undefined
}

async function endIfUnused(running: PidFile, session: pg.Client): Promise<void> {
  if (!(await takeAlone(session))) return
  sendSignal(running.pid, 'SIGINT')
  await untilDropped(session)
}

/** For a service: refuses beside another one; otherwise sees to it that the server that runs ends. */
async function makeWay(site: Site, running: PidFile, waited: number): Promise<undefined> {
  throwIfStuck(running, waited)
  const starter = await readStarter(site.cluster)
  const starterLives = starter !== undefined && isAlive(starter.pid)
  const starterServes = starterLives && starter.purpose === 'serve' && starter.pid !== process.pid
  if (running.status !== 'ready') {
    // A service that is still starting (it may be recovering for long) owns the folder already.
    if (running.status === 'starting' && starterServes && waited > STARTING_MS) throw await folderTaken(site, starter)
    return
  }
  await visit({ ...site, ...running }, async (session) => {
    if ((await isServed(session)) || (starterServes && waited > STARTING_MS)) throw await folderTaken(site, starter)
    if (starterLives) {
      // A command's, which ends it when it is done; or a service's that is about to take its lock.
      if (waited < COMMANDS_MS) return
      throw new Error(
        `A yardmaster command (pid ${starter.pid}) is working on ${site.data}: start the service when it has ended`,
      )
    }
    // Its starter was killed. Commands that still use it get their time.
    if (waited > COMMANDS_MS) sendSignal(running.pid, 'SIGINT')
    await endIfUnused(running, session)
  })
}

async function folderTaken(site: Site, starter: { pid: number } | undefined): Promise<FolderTaken> {
  const file = await readServiceFile(site.data)
  const pid = starter?.pid ?? file?.pid
  const since = file && file.pid === pid ? `, since ${file.startedAt}, at ${file.url}` : ''
  return new FolderTaken(
    `Another Yardmaster (pid ${pid}${since}) is serving this data folder ${site.data}: stop it first, or choose ` +
      'another folder with --data',
  )
}
