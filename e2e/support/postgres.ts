/** The service's PostgreSQL from outside: its processes, what they hold of the system, and a way in of our own. */
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { type Connection, connect } from '../../service/src/store/connection.ts'

export const clusterOf = (dataFolder: string): string => join(realpathSync(dataFolder), 'postgres')

/** The owner's role of the embedded database, which is a superuser there. */
export function ownerOf(dataFolder: string, database = 'yardmaster'): Extract<Connection, { host: string }> {
  const { owner } = JSON.parse(readFileSync(join(dataFolder, 'database-passwords.json'), 'utf8')) as { owner: string }
  const [, , , port = '', host = ''] = readFileSync(join(clusterOf(dataFolder), 'postmaster.pid'), 'utf8').split('\n')
  return { host, port: Number(port), user: 'yardmaster_owner', password: owner, database }
}

export function lookInto(connection: Connection): Promise<pg.Client> {
  return connect(connection, { applicationName: 'yardmaster e2e', queryTimeoutMs: 20_000 })
}

export interface PostgresProcess {
  readonly pid: number
  readonly parent: number
  /** The server itself, not one of its backends. */
  readonly postmaster: boolean
}

/** Every PostgreSQL process works in its cluster's folder; the postmaster alone still has its arguments as given. */
export function postgresProcesses(cluster: string): PostgresProcess[] {
  const found: PostgresProcess[] = []
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    try {
      const status = readFileSync(`/proc/${entry}/stat`, 'utf8')
      // The name may hold spaces; what follows its bracket does not.
      const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(status) ?? []
      const [state, parent] = (rest ?? '').split(' ')
      if (name !== 'postgres' || state === 'Z' || readlinkSync(`/proc/${entry}/cwd`) !== cluster) continue
      const argv = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0')
      found.push({ pid: Number(entry), parent: Number(parent), postmaster: argv[argv.indexOf('-D') + 1] === cluster })
    } catch {
      // It ended while we looked.
    }
  }
  return found
}

/** What the postmasters of a cluster took from the system, noted while they live, to be looked for when they are gone. */
export class Holdings {
  readonly #files = new Set<string>()
  readonly #postmasters = new Set<number>()

  note(cluster: string): void {
    for (const { pid, postmaster } of postgresProcesses(cluster)) {
      if (!postmaster) continue
      this.#postmasters.add(pid)
      const maps = readFileSync(`/proc/${pid}/maps`, 'utf8')
      for (const [path] of maps.matchAll(/\/dev\/shm\/PostgreSQL\.\d+/g)) this.#files.add(path)
    }
  }

  /** Files in /dev/shm and System V segments that are still there. */
  left(): string[] {
    const files = [...this.#files].filter((file) => existsSync(file))
    const segments = readFileSync('/proc/sysvipc/shm', 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , , maker]) => maker !== undefined && this.#postmasters.has(Number(maker)))
      .map(([, id]) => `System V segment ${id}`)
    return [...files, ...segments]
  }
}
