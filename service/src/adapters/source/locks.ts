// One at a time for each name: inside a process by a chain of promises, between processes by files.
//
// A turn is a file `<path>.turn-<number>` that says whose it is, linked into place whole, which only one process can do.
// The highest number holds. When its process is gone, or it says that it is free, whoever links the next number holds,
// and takes the lower ones away. The highest is never taken away, so nobody can come back to a number that was passed:
// who linked one late finds a higher one and steps back.
import { randomBytes } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const RETRY_MS = 50
const FREE = 'free'

export class Locks {
  readonly #chains = new Map<string, Promise<unknown>>()

  /** Rejects with the reason of `signal` when that comes before the turn. */
  async hold<T>(path: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#chains.get(path) ?? Promise.resolve()
    const mine = before.catch(() => {}).then(() => exclusive(path, work, signal))
    this.#chains.set(path, mine)
    try {
      return await mine
    } finally {
      if (this.#chains.get(path) === mine) this.#chains.delete(path)
    }
  }
}

async function exclusive<T>(path: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  let turn: string | null = null
  for (;;) {
    signal.throwIfAborted()
    turn = await takeTurn(path)
    if (turn !== null) break
    await pause(RETRY_MS, undefined, { signal })
  }
  try {
    return await work()
  } finally {
    await say(turn, FREE)
  }
}

/** The file of the turn; null while somebody else has it. */
async function takeTurn(path: string): Promise<string | null> {
  const [highest, lower] = await turnsOf(path)
  if (highest !== null) {
    const owner = await readFile(fileOf(path, highest), 'utf8').catch(() => null)
    // Gone between the two looks: a higher one is there.
    if (owner === null) return null
    if (owner !== FREE && (await isAlive(owner))) return null
  }
  const mine = fileOf(path, (highest ?? 0) + 1)
  const draft = await drafted(path, await identityOf(process.pid))
  try {
    await link(draft, mine)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  const [now] = await turnsOf(path)
  if (now !== (highest ?? 0) + 1) {
    await rm(mine, { force: true })
    return null
  }
  for (const number of highest === null ? lower : [...lower, highest]) await rm(fileOf(path, number), { force: true })
  return mine
}

async function say(turn: string, text: string): Promise<void> {
  const draft = await drafted(turn, text)
  await rename(draft, turn)
}

async function drafted(path: string, text: string): Promise<string> {
  const draft = `${path}.draft-${randomBytes(6).toString('hex')}`
  await writeFile(draft, text, { mode: 0o600 })
  return draft
}

const fileOf = (path: string, number: number): string => `${path}.turn-${number}`

async function turnsOf(path: string): Promise<[highest: number | null, lower: readonly number[]]> {
  const start = `${basename(path)}.turn-`
  const numbers = (await readdir(dirname(path)))
    .filter((name) => name.startsWith(start) && /^\d+$/.test(name.slice(start.length)))
    .map((name) => Number(name.slice(start.length)))
    .sort((a, b) => b - a)
  return [numbers[0] ?? null, numbers.slice(1)]
}

/** A pid alone is used again; with its start time it names one process of this boot. Empty when there is none. */
export async function identityOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const started = text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '0'
  return text === '' && process.platform === 'linux' ? '' : `${pid} ${started}`
}

export async function isAlive(identity: string): Promise<boolean> {
  const pid = Number(identity.split(' ')[0])
  return Number.isInteger(pid) && pid > 0 && (await identityOf(pid)) === identity
}

/** Files beside the mirrors whose names hold the process that made them, such as keys of a process that was killed. */
export async function removeLeftBehind(folder: string, start: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(start)) continue
    const [pid, started] = name.slice(start.length).split('-')
    if (!(await isAlive(`${pid} ${started}`))) await rm(join(folder, name), { recursive: true, force: true })
  }
}
