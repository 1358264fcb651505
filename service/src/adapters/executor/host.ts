// What the host has for running commands: the tools of util-linux, a shell, and who we are.
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Never a path that a user or a checkout had a say in: these programs run before rights are given up. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin'

export function findProgram(name: string): string | null {
  for (const folder of SYSTEM_PATH.split(':')) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not here.
    }
  }
  return null
}

const OPTIONAL = [
  'nice',
  'setpriv',
  'unshare',
  'prlimit',
  'mount',
  'umount',
  'mkdir',
  'find',
  'chown',
  'mkfifo',
] as const

export interface Host {
  readonly tools: Readonly<Record<(typeof OPTIONAL)[number], string | null>>
  /** A small shell for our own scripts: dash where there is one. */
  readonly sh: string
  /** The shell of the users' texts: bash, or sh where there is none. */
  readonly shell: string
  readonly uid: number
  readonly gid: number
  /** Of this process: a child cannot go beyond it. */
  readonly openFiles: number
  /**
   * Descriptors that somebody left open for us and that any child would have: Node closes its own and the first few.
   * Whatever they lead to is not for commands.
   */
  readonly inherited: readonly number[]
  /** Folders that may be covered for a moment while mounts are made. */
  readonly stages: readonly string[]
}

function inheritedDescriptors(): number[] {
  const closedOnExec = 0o2000000
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd > 2 && existsSync(`/proc/self/fdinfo/${fd}`))
      .filter((fd) => {
        const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0'
        return (Number.parseInt(flags, 8) & closedOnExec) === 0
      })
  } catch {
    return []
  }
}

/** Null when the host has not even a shell. */
export function lookAtHost(): Host | null {
  const sh = findProgram('dash') ?? findProgram('sh')
  const shell = findProgram('bash') ?? findProgram('sh')
  if (sh === null || shell === null) return null
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  return {
    tools: Object.fromEntries(OPTIONAL.map((name) => [name, findProgram(name)])) as Host['tools'],
    sh,
    shell,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    openFiles: Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? 1024),
    inherited: inheritedDescriptors(),
    stages: ['/mnt', '/media', '/srv', '/opt', '/sys'].filter((path) => existsSync(path)),
  }
}

/** What a namespace of its own takes; the first that is missing is the reason that there is none. */
export function missingForNamespaces({ tools }: Host): string | null {
  const needed = ['setpriv', 'unshare', 'prlimit', 'mount', 'umount', 'mkdir'] as const
  const missing = needed.find((name) => tools[name] === null)
  return missing === undefined ? null : `the program ${missing} is missing`
}
