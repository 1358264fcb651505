/**
 * The PostgreSQL processes: as whom they run, how they are started, and what is left of them after a crash.
 *
 * PostgreSQL refuses to run as root. As root it is therefore started in a user namespace of its own, where root is
 * another user: its files stay root's, so it works in folders that only root may enter, and it holds no capability.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { totalmem, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive, openLog, sendSignal, unless } from './embedded-postgres-files.ts'
import type { Binaries } from './embedded-postgres-package.ts'

/** How PostgreSQL's programs are run here. */
export interface Launch {
  /** What stands before the program. */
  readonly prefix: readonly string[]
  /** Whom the cluster and the socket's folder belong to. */
  readonly owner: number
  /** Where root had to become another user for real, so that folders on the way must be open to that one. */
  readonly switchesUser: boolean
}

/** Ends PostgreSQL cleanly (fast stop) when we are killed. Linux only; elsewhere the next start finds it and ends it. */
const DIES_WITH_US = ['setpriv', '--pdeathsig', 'INT']

/** `userNamespaces: false` is for the test of what is done where the system refuses them. */
export async function chooseLaunch({ userNamespaces = true } = {}): Promise<Launch> {
  const uid = process.getuid?.() ?? 0
  if (uid !== 0 && isKnownUser()) {
    const prefix = (await works([...DIES_WITH_US, 'true'])) ? DIES_WITH_US : []
    return { prefix, owner: uid, switchesUser: false }
  }
  // The namespace's user must have a name: PostgreSQL looks it up.
  const other = String(await unprivilegedUser())
  const mapped = ['unshare', '--user', `--map-user=${other}`, `--map-group=${other}`]
  for (const prefix of userNamespaces ? [[...DIES_WITH_US, ...mapped], mapped] : []) {
    if (await works([...prefix, 'true'])) return { prefix, owner: uid, switchesUser: false }
  }
  if (uid !== 0) {
    throw new Error(
      `PostgreSQL cannot run as user ${uid}, which has no entry in /etc/passwd: add one, or set DATABASE_URL`,
    )
  }
  const switched = [...DIES_WITH_US, '--reuid', other, '--regid', other, '--clear-groups']
  if (await works([...switched, 'true'])) return { prefix: switched, owner: Number(other), switchesUser: true }
  throw new Error(
    'PostgreSQL refuses to run as root, and neither a user namespace nor another user can be had here (unshare and ' +
      'setpriv of util-linux failed): run Yardmaster as another user, or set DATABASE_URL',
  )
}

function isKnownUser(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

async function unprivilegedUser(): Promise<number> {
  const passwd = (await readFile('/etc/passwd', 'utf8').catch(unless('ENOENT', 'EACCES'))) ?? ''
  const users = passwd.split('\n').map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'nobody') ?? users.findLast(([, , id]) => Number(id) > 0)
  return Number(user?.[2] ?? 65534)
}

async function works(argv: readonly string[]): Promise<boolean> {
  const child = spawn(argv[0]!, argv.slice(1), { env: { PATH }, stdio: 'ignore' })
  try {
    const [code] = await once(child, 'exit')
    return code === 0
  } catch {
    return false
  }
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

/**
 * Nothing of our own environment, which may hold secrets: it would be readable in /proc and inherited by every
 * backend. The libraries are named relative to the working folder, because a colon in a path cannot be escaped.
 */
function environment(): NodeJS.ProcessEnv {
  const loader = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'
  return { PATH, [loader]: 'postgres-lib', LC_ALL: 'C', TZ: 'UTC' }
}

export async function runInitdb(
  place: { data: string; binaries: Binaries; launch: Launch },
  options: { folder: string; superuser: string; passwordFile: string; durable: boolean },
): Promise<void> {
  const argv = [
    ...place.launch.prefix,
    place.binaries.initdb,
    ...['-D', options.folder, '-U', options.superuser, `--pwfile=${options.passwordFile}`],
    ...['--locale=C', '--encoding=UTF8', '--auth-local=scram-sha-256', '--auth-host=reject', '--no-instructions'],
    ...(options.durable ? [] : ['--no-sync']),
  ]
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: place.data,
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-4000)
  })
  const [code, signal] = (await once(child, 'close').catch((error: Error) => [error.message])) as [unknown, unknown]
  if (code !== 0) {
    throw new Error(
      `The database could not be made (initdb: ${code ?? signal}). Is there room on the disk, and may this user write ` +
        `to ${place.data}? A PostgreSQL of your own can be used through DATABASE_URL.\n${said.trim()}`,
    )
  }
}

/** Memory for the server's own cache: 128 MB, less on small machines and in small containers. */
function sharedBuffers(): string {
  const limit = process.constrainedMemory()
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  return `${Math.max(16, Math.min(128, Math.floor(memory / 8 / 1024 ** 2)))}MB`
}

export interface ServerOptions {
  readonly data: string
  readonly cluster: string
  readonly socketFolder: string
  readonly binaries: Binaries
  readonly launch: Launch
  readonly purpose: string
  /** Beyond the settings below; a test cluster turns fsync off. */
  readonly settings: Readonly<Record<string, string>>
  /** Gives up waiting, and ends what was started. */
  readonly signal: AbortSignal
}

function settingsFor(options: ServerOptions): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: `"${options.socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    max_connections: '100',
    shared_buffers: sharedBuffers(),
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    // Bounds how long recovery takes after a crash: 275 MB took 5 s.
    max_wal_size: '256MB',
    jit: 'off',
    // The log tells of the server's life, not of what was asked: bound values and the text and details of failed
    // statements may hold secrets, and the client gets the error anyway.
    log_destination: 'stderr',
    logging_collector: 'off',
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_statement: 'none',
    log_parameter_max_length: '0',
    log_parameter_max_length_on_error: '0',
    log_checkpoints: 'off',
    log_timezone: 'UTC',
    // Who started it and for what: read back by whoever finds it running.
    'yardmaster.starter': String(process.pid),
    'yardmaster.purpose': options.purpose,
    ...options.settings,
  }
}

export interface Server {
  readonly pid: number
  /** Settles when the postmaster has ended, with a word on how. */
  readonly exited: Promise<string>
  hasEnded(): boolean
  readonly child: ChildProcess
}

/**
 * Starts the postmaster and waits until it takes connections; recovery after a crash may take its time. A string: it
 * ended instead, and this is what it wrote to its log.
 */
export async function startServer(options: ServerOptions): Promise<Server | string> {
  const settings = Object.entries(settingsFor(options)).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const argv = [...options.launch.prefix, options.binaries.postgres, '-D', options.cluster, ...settings]
  const log = await openLog(options.data)
  const logStart = (await log.stat()).size
  let ended: string | undefined
  let child: ChildProcess
  let exited: Promise<string>
  try {
    // In a process group of its own: Ctrl-C is for us, and we stop it when we have drained.
    child = spawn(argv[0]!, argv.slice(1), {
      cwd: options.data,
      env: environment(),
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    })
    // Before anything is waited for: it may end at once, and its end is told once only.
    exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    }).then((how) => {
      ended = how
      return how
    })
  } finally {
    await log.close()
  }
  child.unref()
  while (ended === undefined) {
    const found = await readPidFile(options.cluster)
    // setpriv and unshare become the program they start, so the child's id is the postmaster's.
    if (found && found.pid === child.pid && found.status === 'ready') {
      return { pid: found.pid, exited, hasEnded: () => ended !== undefined, child }
    }
    if (options.signal.aborted) child.kill('SIGINT')
    await pause(10)
  }
  const written = await readFile(join(options.data, 'postgres.log'))
  return `${written.subarray(logStart).toString('utf8').trim()} (${ended})`
}

/** SIGINT is PostgreSQL's fast stop; SIGQUIT leaves the rest to recovery at the next start, and loses nothing. */
export async function endServer(server: Server): Promise<void> {
  server.child.ref()
  server.child.kill('SIGINT')
  const late = setTimeout(() => server.child.kill('SIGQUIT'), 30_000)
  await server.exited
  clearTimeout(late)
}

export interface PidFile {
  readonly pid: number
  readonly socketFolder: string
  readonly port: number
  /** starting, stopping, ready, standby; empty while the file is being written. */
  readonly status: string
}

async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(unless('ENOENT'))
  if (text === undefined) return undefined
  const [pid = '', , , port = '', socketFolder = '', , , status = ''] = text.split('\n')
  return { pid: Number(pid), port: Number(port), socketFolder, status: status.trim() }
}

/**
 * The live postmaster of this cluster. A pid file whose number now belongs to somebody else (after a reboot, or in a
 * container, where numbers start again at 1) is removed, since PostgreSQL would take it for a running server and
 * refuse to start for ever.
 */
export async function findServer(cluster: string): Promise<PidFile | undefined> {
  const found = await readPidFile(cluster)
  if (!found || found.pid === 0 || !isAlive(found.pid)) return undefined
  if (!(await isForeign(found.pid, cluster))) return found
  // PostgreSQL looks for its leftovers by what the file says, so they go first.
  await endOrphans(cluster)
  await removePidFile(cluster, found.pid)
  return undefined
}

/** True only when it is certain. Without /proc nothing is. */
async function isForeign(pid: number, cluster: string): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (state === undefined) return false
  // A zombie has ended; who should look after it never did. It counts as alive for PostgreSQL.
  if (/^\d+ \(.*\) Z/s.test(state) || !/^\d+ \(postgres\)/.test(state)) return true
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  return cwd !== undefined && cwd !== cluster
}

/** The socket has a lock file too, with the same trap; its folder outlives a restarted container just as well. */
export async function removeForeignSocketLock(socketFolder: string, cluster: string): Promise<void> {
  const lock = join(socketFolder, '.s.PGSQL.5432.lock')
  const pid = Number.parseInt((await readFile(lock, 'utf8').catch(unless('ENOENT'))) ?? '', 10)
  if (pid > 0 && isAlive(pid) && (await isForeign(pid, cluster))) await rm(lock, { force: true })
}

/** Only while it still names the process that is known to be gone; 0 for a file that a crash left empty. */
export async function removePidFile(cluster: string, pid: number): Promise<void> {
  if ((await readPidFile(cluster))?.pid === pid) await rm(join(cluster, 'postmaster.pid'), { force: true })
}

/**
 * Ends backends that outlived their postmaster: where it was killed alone, a busy one goes on for as long as its
 * statement takes, and nothing can start meanwhile. They have no way to commit anything any more that recovery would
 * not know. How many there were.
 */
export async function endOrphans(cluster: string): Promise<number> {
  const processes = await processesIn(cluster)
  const postmasters = new Set(processes.filter(({ title }) => !title.startsWith('postgres: ')).map(({ pid }) => pid))
  const orphans = processes.filter(({ pid, parent }) => !postmasters.has(pid) && !postmasters.has(parent))
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    for (const { pid } of orphans) sendSignal(pid, signal)
    for (let tries = 0; tries < 50 && orphans.some(({ pid }) => isAlive(pid)); tries++) await pause(10)
  }
  return orphans.length
}

interface Process {
  readonly pid: number
  readonly parent: number
  readonly title: string
}

/** Every PostgreSQL process works in its cluster's folder. Backends call themselves "postgres: what they do". */
export async function processesIn(cluster: string): Promise<Process[]> {
  const found: Process[] = []
  for (const entry of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(entry) || (await readlink(`/proc/${entry}/cwd`).catch(() => '')) !== cluster) continue
    const [title, state] = await Promise.all(
      ['cmdline', 'stat'].map((name) => readFile(`/proc/${entry}/${name}`, 'utf8').catch(() => '')),
    )
    const parent = /^\d+ \(postgres\) [^Z] (\d+)/.exec(state!)?.[1]
    if (parent) found.push({ pid: Number(entry), parent: Number(parent), title: title! })
  }
  return found
}

/** Who started the server that runs in this cluster, and for what, before it can be asked. */
export async function readStarter(cluster: string): Promise<{ pid: number; purpose: string } | undefined> {
  const text = (await readFile(join(cluster, 'postmaster.opts'), 'utf8').catch(unless('ENOENT'))) ?? ''
  const pid = /yardmaster\.starter=(\d+)/.exec(text)?.[1]
  const purpose = /yardmaster\.purpose=(\w+)/.exec(text)?.[1]
  return pid && purpose ? { pid: Number(pid), purpose } : undefined
}
