/** Whatever happens to this process, no service, no PostgreSQL and no folder of its tests stays behind. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const children = new Map<ChildProcess, string>()
const dataFolders = new Set<string>()
const folders = new Set<string>()
let installed = false

export function atExit(child: ChildProcess, dataFolder: string): void {
  install()
  children.set(child, dataFolder)
  dataFolders.add(dataFolder)
  child.once('exit', () => children.delete(child))
}

export function removeAtExit(folder: string): void {
  install()
  folders.add(folder)
}

function install(): void {
  if (installed) return
  installed = true
  process.once('exit', sweep)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))
}

/** Nothing asynchronous runs any more. */
function sweep(): void {
  for (const child of children.keys()) child.kill('SIGKILL')
  for (const data of dataFolders) {
    endService(data)
    endPostgres(data)
  }
  for (const folder of folders) remove(folder)
}

/** What the service keeps from being written to cannot be removed either, by anybody but root. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  } catch {
    spawnSync('chmod', ['-R', 'u+rwX', '--', folder])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Where npm stands between us and the service, killing npm leaves it running. */
function endService(data: string): void {
  try {
    const { pid } = JSON.parse(readFileSync(join(data, 'service.json'), 'utf8')) as { pid: number }
    if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('main.ts')) process.kill(pid, 'SIGKILL')
  } catch {
    // There is none.
  }
}

function endPostgres(data: string): void {
  if (!existsSync(data)) return
  const path = realpathSync(data)
  const file = join(path, 'postgres', 'postmaster.pid')
  // It may be ending by itself, since its service is gone: the file goes with it.
  for (let tries = 0; tries < 500 && existsSync(file); tries++) {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
    try {
      process.kill(pid, tries === 0 ? 'SIGQUIT' : 0)
    } catch {
      break
    }
    Atomics.wait(sleeper, 0, 0, 10)
  }
  rmSync(socketFolderOf(path), { recursive: true, force: true })
}

const sleeper = new Int32Array(new SharedArrayBuffer(4))

/** Where the service puts its database's socket: see store/embedded-postgres-files.ts. */
export function socketFolderOf(dataFolder: string): string {
  return join(tmpdir(), `ym-${createHash('sha256').update(dataFolder).digest('hex').slice(0, 16)}`)
}
