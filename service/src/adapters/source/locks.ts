// One at a time for each name. Inside a process by a chain of promises, between processes by a folder that only one can
// make; the folder of a process that is gone is taken over.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const RETRY_MS = 50
const PATIENCE_MS = 660_000

export class Locks {
  readonly #chains = new Map<string, Promise<unknown>>()

  async hold<T>(path: string, work: () => Promise<T>): Promise<T> {
    const before = this.#chains.get(path) ?? Promise.resolve()
    const mine = before.catch(() => {}).then(() => this.#exclusive(path, work))
    this.#chains.set(path, mine)
    try {
      return await mine
    } finally {
      if (this.#chains.get(path) === mine) this.#chains.delete(path)
    }
  }

  async #exclusive<T>(path: string, work: () => Promise<T>): Promise<T> {
    const lock = `${path}.lock`
    await mkdir(dirname(lock), { recursive: true, mode: 0o700 })
    let waited = 0
    while (!(await take(lock))) {
      if (waited >= PATIENCE_MS) throw new Error(`another process holds ${lock} for too long`)
      await pause(RETRY_MS)
      waited += RETRY_MS
    }
    try {
      return await work()
    } finally {
      await rm(lock, { recursive: true, force: true })
    }
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await mkdir(lock, { mode: 0o700 })
    await writeFile(join(lock, 'owner'), await identityOf(process.pid))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const owner = await readFile(join(lock, 'owner'), 'utf8').catch(() => '')
  const pid = Number(owner.split(' ')[0])
  // A lock without an owner yet is being made; one whose process is another by now is nobody's.
  if (owner !== '' && (await identityOf(pid).catch(() => '')) !== owner)
    await rm(lock, { recursive: true, force: true })
  return false
}

/** A pid alone is used again; with its start time it names one process of this boot. */
async function identityOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const started = text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  return text === '' && process.platform === 'linux' ? '' : `${pid} ${started}`
}
