// Processes as /proc shows them. A pid alone says little: it is given out again after its process is gone, and stays
// for a while after its end as a zombie, which is no process any more.
import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessStat {
  readonly pid: number
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Clock ticks since boot: with the pid it names one process for as long as the machine runs. */
  readonly start: string
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return null
  }
}

export function statOf(pid: number): ProcessStat | null {
  const text = read(`/proc/${pid}/stat`)
  if (text === null) return null
  // The name stands in brackets and may hold anything, brackets too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    pid,
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    start: fields[19] ?? '',
  }
}

const isLive = (stat: ProcessStat | null): stat is ProcessStat => stat !== null && !'ZXx'.includes(stat.state)

/** Whether the very process that began at `start` still lives; a zombie does not. */
export function isAlive(pid: number, start: string): boolean {
  const stat = statOf(pid)
  return isLive(stat) && stat.start === start
}

export function allProcesses(): ProcessStat[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter(isLive)
}

export function childrenOf(pid: number): ProcessStat[] {
  // One small file where the kernel has it, instead of one for each process of the host.
  const listed = read(`/proc/${pid}/task/${pid}/children`)
  if (listed === null) return allProcesses().filter(({ parent }) => parent === pid)
  return listed
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => statOf(Number(word)))
    .filter(isLive)
}

export interface Belonging {
  /** Leader of the session that the command was given. */
  readonly leader: Pick<ProcessStat, 'pid' | 'start'>
  /** `NAME=value` in the environment of everything that the command started, also of what called setsid. */
  readonly mark: string
}

/** The processes of the host at one moment. */
interface Census {
  readonly processes: readonly ProcessStat[]
  environmentOf(pid: number): string
}

function takeCensus(): Census {
  const environments = new Map<number, string>()
  return {
    processes: allProcesses(),
    environmentOf(pid) {
      const known = environments.get(pid) ?? `\0${read(`/proc/${pid}/environ`) ?? ''}`
      environments.set(pid, known)
      return known
    },
  }
}

let next: Promise<Census> | null = null

/** Taken after the call; those who ask in the same turn share it, for it takes milliseconds. */
function sharedCensus(): Promise<Census> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = null
      resolve(takeCensus())
    })
  })
  return next
}

function membersIn({ processes, environmentOf }: Census, { leader, mark }: Belonging): ProcessStat[] {
  const needle = `\0${mark}\0`
  const since = Number(leader.start)
  return processes.filter(
    ({ pid, session, start }) =>
      // What is older is not ours, and most of a host's processes are.
      Number(start) >= since && (session === leader.pid || environmentOf(pid).includes(needle)),
  )
}

/** Whether a command that has no namespace of its own has live processes. */
export async function hasMembers(belonging: Belonging): Promise<boolean> {
  return membersIn(await sharedCensus(), belonging).length > 0
}

/** Whether a group has live processes; the dead whom nobody has collected are not. */
export async function groupLives(group: number): Promise<boolean> {
  // Asking the kernel costs nothing, but it counts the dead.
  return groupExists(group) && (await sharedCensus()).processes.some((one) => one.group === group)
}

/** Sends a signal to a process or, below zero, to a group. One that is gone, or that is not ours, is no error. */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

function groupExists(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Kills all members, one round. They are stopped first: what is stopped can fork no more and still counts against the
 * limit of processes, so a fork bomb cannot outrun the sweep.
 */
export function sweep(belonging: Belonging): number {
  const seen = new Map<number, string>()
  for (let round = 0; round < 20; round++) {
    const found = membersIn(takeCensus(), belonging).filter(({ pid, start }) => seen.get(pid) !== start)
    if (found.length === 0) break
    for (const { pid, start } of found) {
      send(pid, 'SIGSTOP')
      seen.set(pid, start)
    }
  }
  for (const [pid, start] of seen) if (isAlive(pid, start)) send(pid, 'SIGKILL')
  return seen.size
}

/** Threads of all processes of a user, as RLIMIT_NPROC counts them. */
export function threadsOf(uid: number): number {
  let count = 0
  for (const { pid } of allProcesses()) {
    const status = read(`/proc/${pid}/status`) ?? ''
    if (Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) === uid) count += Number(/^Threads:\t(\d+)/m.exec(status)?.[1] ?? 1)
  }
  return count
}
