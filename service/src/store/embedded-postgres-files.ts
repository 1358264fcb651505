/**
 * What the embedded PostgreSQL keeps on disk, beside the cluster itself:
 *
 *   <data>/.gitignore                `*`
 *   <data>/database-passwords.json   of the owner's and the service's role, 0600, made once, before the cluster
 *   <data>/postgres/                 the cluster
 *   <data>/postgres.<pid>/           a cluster in the making
 *   <data>/postgres-lib/             links to the package's libraries
 *   <data>/postgres.log(.1)
 *   <data>/service.json              who serves this folder: for people and messages, never for decisions
 *   <tmp>/ym-<hash>/                 the socket: a path below <data> may be longer than the 107 bytes a socket's may be
 */
import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import {
  chmod,
  chown,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join, parse } from 'node:path'

/** Makes the folder, closes it to everybody else (0700), and gives back its real path. */
export async function prepareDataFolder(folder: string, mode = 0o700): Promise<string> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = await realpath(folder)
    if ([parse(path).root, homedir(), tmpdir()].includes(path)) {
      throw new Error(`${path} cannot be the data folder, which is closed to everybody else: choose a folder in it`)
    }
    if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode)
    await writeFile(join(path, '.gitignore'), '*\n', { flag: 'wx' }).catch(unless('EEXIST'))
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') throw error
    throw new Error(
      `The data folder ${folder} cannot be used (${(error as Error).message}): it must belong to the user who runs ` +
        'Yardmaster. Choose another one with --data, or run as its owner',
      { cause: error },
    )
  }
}

export interface Passwords {
  readonly owner: string
  readonly service: string
}

/**
 * Made before the cluster and kept for its life. Of two processes that make them at once, the one that links its file
 * into place first wins, and both read that one.
 */
export async function readOrMakePasswords(data: string, clusterExists: boolean): Promise<Passwords> {
  const file = join(data, 'database-passwords.json')
  const found = await stat(file).catch(unless('ENOENT'))
  if (!found && clusterExists) {
    throw new Error(`${file} is missing, and the database in this folder does not open without it: restore it`)
  }
  if (!found) {
    const mine = `${file}.${process.pid}`
    const passwords: Passwords = { owner: secret(), service: secret() }
    const handle = await open(mine, 'w', 0o600)
    try {
      await handle.writeFile(`${JSON.stringify(passwords, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(mine, file).catch(unless('EEXIST'))
    await unlink(mine)
    await syncFolder(data)
  }
  if (((await stat(file)).mode & 0o077) !== 0) {
    throw new Error(
      `${file} can be read by others: change the passwords if that was so for long, and run "chmod 600 ${file}"`,
    )
  }
  const parsed: unknown = JSON.parse(await readFile(file, 'utf8'))
  const { owner, service } = parsed as Partial<Passwords>
  if (typeof owner !== 'string' || typeof service !== 'string') throw new Error(`${file} is damaged: restore it`)
  return { owner, service }
}

function secret(): string {
  return randomBytes(24).toString('base64url')
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Takes away what processes that died while they made a cluster have left behind. */
export async function removeUnfinishedClusters(data: string): Promise<void> {
  for (const name of await readdir(data)) {
    const pid = /^(?:postgres|database-passwords\.json)\.(\d+)(?:\.password)?$/.exec(name)?.[1]
    // postgres.log.1 and the like do not match; our own is being used.
    if (pid !== undefined && Number(pid) !== process.pid && !isAlive(Number(pid))) {
      await rm(join(data, name), { recursive: true, force: true })
    }
  }
}

/** Puts a finished cluster in its place. False: somebody else was first. */
export async function placeCluster(made: string, cluster: string): Promise<boolean> {
  try {
    await rename(made, cluster)
    await syncFolder(dirname(cluster))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
    await rm(made, { recursive: true, force: true })
    return false
  }
}

/**
 * A folder for the socket with a short path that only we may enter. In a folder open to all, somebody else may have
 * made it first: then it is refused, since who owns the folder can put another server's socket into it.
 */
export async function prepareSocketFolder(data: string, owner: number): Promise<string> {
  const name = `ym-${createHash('sha256').update(data).digest('hex').slice(0, 16)}`
  const room = 107 - '/.s.PGSQL.5432.lock'.length
  const folder = join([tmpdir(), '/tmp'].find((place) => join(place, name).length <= room) ?? '/tmp', name)
  await mkdir(folder, { mode: 0o700 }).catch(unless('EEXIST'))
  const found = await lstat(folder)
  const trusted = found.uid === process.getuid?.() || found.uid === owner
  if (!found.isDirectory() || !trusted || (found.mode & 0o077) !== 0) {
    throw new Error(
      `${folder}, where the database's socket goes, belongs to somebody else or is open to others: remove it, or set ` +
        'TMPDIR to a folder of your own',
    )
  }
  if (found.uid !== owner) await chown(folder, owner, owner)
  return folder
}

const LOG_LIMIT = 10 * 1024 * 1024

/** The server's log, opened for appending; a long one is put aside first. */
export async function openLog(data: string): Promise<Awaited<ReturnType<typeof open>>> {
  const path = join(data, 'postgres.log')
  const found = await stat(path).catch(unless('ENOENT'))
  if (found && found.size > LOG_LIMIT) await rename(path, `${path}.1`)
  return open(path, 'a', 0o600)
}

export interface ServiceFile {
  readonly pid: number
  readonly startedAt: string
  readonly url: string
  readonly version: string
}

/** Says to people and to messages who serves this folder. Nothing is decided by it. */
export async function writeServiceFile(data: string, content: ServiceFile): Promise<void> {
  const path = join(data, 'service.json')
  await writeFile(`${path}.${process.pid}`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.${process.pid}`, path)
}

export async function readServiceFile(data: string): Promise<ServiceFile | undefined> {
  try {
    return JSON.parse(await readFile(join(data, 'service.json'), 'utf8')) as ServiceFile
  } catch {
    return undefined
  }
}

export async function removeServiceFile(data: string): Promise<void> {
  if ((await readServiceFile(data))?.pid === process.pid) await rm(join(data, 'service.json'), { force: true })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** To a process that may be gone already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    unless('ESRCH')(error as NodeJS.ErrnoException)
  }
}

/** For `catch`: the named errors are an answer (undefined), all others remain errors. */
export function unless(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (error.code === undefined || !codes.includes(error.code)) throw error
    return undefined
  }
}
