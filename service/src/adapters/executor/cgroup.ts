// Control groups, where the host lets us make some: they count and bound a tree as a whole, and name every process of
// it, also one that called setsid and cleared its environment.
//
// Version 2 is used for whatever it offers: membership and `cgroup.kill` always, memory and processes when the
// controllers reach us (root, or a unit with Delegate=yes whose processes are in a subgroup: name the folder then). Of
// version 1 only `pids` is used, because RLIMIT_NPROC does not hold for root and nothing else would.
//
// Folders are called yardmaster.<pid>.<start time>.<number>, so that the next start on this host finds those whose owner was
// killed and removes them.
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limits } from '../../ports/executor.ts'
import { isAlive, statOf } from './process-tree.ts'

export interface CommandGroup {
  /** Files into which a process of the command writes `0` to join. */
  readonly joins: readonly string[]
  /** False where version 2 is not there: then nobody was killed. */
  kill(): boolean
  /** Null where it cannot be told. */
  isEmpty(): boolean | null
  outOfMemory(): boolean
  /** Whether a fork was refused by it. */
  outOfProcesses(): boolean
  /** At once, or as soon as the kernel has let go of the last process. */
  remove(): void
}

export interface ControlGroups {
  readonly memory: boolean
  readonly processes: boolean
  make(limits: Limits): CommandGroup
  close(): void
}

const NAME = /^yardmaster\.(\d+)\.(\d+)\.\d+$/

function attempt(action: () => void): boolean {
  try {
    action()
    return true
  } catch {
    return false
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

interface Hierarchy {
  readonly version: 1 | 2
  readonly folder: string
}

/** Where this process is in each hierarchy that we use. Both files are those of /proc/self. */
export function ownGroups(mountinfo: string, cgroup: string): Hierarchy[] {
  const found: Hierarchy[] = []
  for (const line of mountinfo.split('\n')) {
    const [front = '', back = ''] = line.split(' - ')
    const [, , , root = '', point = ''] = front.split(' ')
    const [type, , options = ''] = back.split(' ')
    const version = type === 'cgroup2' ? 2 : type === 'cgroup' && options.split(',').includes('pids') ? 1 : null
    if (version === null || found.some((one) => one.version === version)) continue
    const own =
      version === 2 ? /^0::(.*)$/m.exec(cgroup)?.[1] : /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(.*)$/m.exec(cgroup)?.[1]
    // A mount shows the hierarchy from its root on; we may be elsewhere.
    if (own === undefined || own.includes('..') || (root !== '/' && own !== root && !own.startsWith(`${root}/`)))
      continue
    found.push({ version, folder: join(point, root === '/' ? own : own.slice(root.length)) })
  }
  return found
}

/** Removes what a killed owner left; its commands died with it. */
function clearUp(base: string): void {
  let names: string[] = []
  attempt(() => {
    names = readdirSync(base)
  })
  for (const name of names) {
    const [, pid, start] = NAME.exec(name) ?? []
    if (pid === undefined || isAlive(Number(pid), start!)) continue
    const folder = join(base, name)
    attempt(() => {
      for (const inner of readdirSync(folder, { withFileTypes: true })) {
        if (inner.isDirectory()) attempt(() => rmdirSync(join(folder, inner.name)))
      }
    })
    attempt(() => rmdirSync(folder))
  }
}

let opened = 0

/** Null when the host lets us make none. `folder` names a group of version 2 without processes that is ours. */
export function openControlGroups(folder: string | null): ControlGroups | null {
  const ours = `yardmaster.${process.pid}.${statOf(process.pid)?.start ?? '0'}.${++opened}`
  const groups = ownGroups(text('/proc/self/mountinfo'), text('/proc/self/cgroup'))
  const places =
    folder === null ? groups : [{ version: 2 as const, folder }, ...groups.filter((one) => one.version === 1)]
  let second: string | null = null
  let first: string | null = null
  const controllers = new Set<string>()
  for (const place of places) {
    clearUp(place.folder)
    const made = join(place.folder, ours)
    attempt(() => mkdirSync(made))
    // Joining is what may still be refused.
    if (!attempt(() => readFileSync(join(made, 'cgroup.procs'), 'utf8'))) continue
    if (place.version === 1) {
      first = made
      continue
    }
    second = made
    for (const name of ['memory', 'pids']) {
      // Refused while processes are in the group above: then that limit is held in another way.
      if (place.folder === folder)
        attempt(() => writeFileSync(join(place.folder, 'cgroup.subtree_control'), `+${name}`))
      if (attempt(() => writeFileSync(join(made, 'cgroup.subtree_control'), `+${name}`))) controllers.add(name)
    }
  }
  if (second === null && first === null) return null
  if (controllers.has('pids') && first !== null) {
    attempt(() => rmdirSync(first!))
    first = null
  }
  let count = 0
  let left: string[] = []
  const clear = (folders: readonly string[]): void => {
    left = [...left, ...folders].filter((one) => !attempt(() => rmdirSync(one)))
  }
  return {
    memory: controllers.has('memory'),
    processes: controllers.has('pids') || first !== null,
    make(limits) {
      clear([])
      const name = String(++count)
      const inner = second === null ? null : join(second, name)
      const counted = first === null ? null : join(first, name)
      for (const one of [inner, counted]) if (one !== null) mkdirSync(one)
      if (inner !== null && controllers.has('memory') && limits.memoryBytes !== null) {
        writeFileSync(join(inner, 'memory.max'), String(limits.memoryBytes))
        attempt(() => writeFileSync(join(inner, 'memory.swap.max'), '0'))
        // Half a tree without memory is worth nothing, and would go on as if nothing had been.
        attempt(() => writeFileSync(join(inner, 'memory.oom.group'), '1'))
      }
      const pids = controllers.has('pids') ? inner : counted
      if (pids !== null && limits.processes !== null) writeFileSync(join(pids, 'pids.max'), String(limits.processes))
      return groupOf({ inner, counted, pids }, clear)
    },
    close() {
      clear([])
      for (const one of [second, first]) if (one !== null) attempt(() => rmdirSync(one))
    },
  }
}

function groupOf(
  { inner, counted, pids }: Readonly<Record<'inner' | 'counted' | 'pids', string | null>>,
  clear: (folders: readonly string[]) => void,
): CommandGroup {
  const both = [inner, counted].filter((one) => one !== null)
  return {
    joins: both.map((one) => join(one, 'cgroup.procs')),
    kill: () => inner !== null && attempt(() => writeFileSync(join(inner, 'cgroup.kill'), '1')),
    isEmpty: () => {
      const events = inner === null ? '' : text(join(inner, 'cgroup.events'))
      return events === '' ? null : events.includes('populated 0')
    },
    outOfMemory: () => inner !== null && /^oom_kill [1-9]/m.test(text(join(inner, 'memory.events'))),
    outOfProcesses: () => pids !== null && /^max [1-9]/m.test(text(join(pids, 'pids.events'))),
    remove: () => clear(both),
  }
}
