/** What runs may leave on a host: processes, control groups, folders, mounts. Each name is said once it is found. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

interface Seen {
  readonly pid: number
  readonly parent: number
  readonly state: string
  /** With the id it names a process for good. */
  readonly start: string
}

function processes(): Seen[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    const stat = textOf(`/proc/${entry}/stat`)
    // The name may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields.length < 20) return []
    return [{ pid: Number(entry), state: fields[0]!, parent: Number(fields[1]), start: fields[19]! }]
  })
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

export interface Places {
  readonly dataFolder: string
  /** The folder for temporary files that the service alone has. */
  readonly temporary: string
  /** `NAME=value` in the environment of every command. */
  readonly mark: string
}

export interface Left {
  readonly processes: readonly string[]
  readonly zombies: readonly string[]
  readonly workFolders: readonly string[]
  readonly controlGroups: readonly string[]
  readonly temporaryFolders: readonly string[]
  readonly mounts: readonly string[]
  readonly database: readonly string[]
}

export class Remains {
  readonly #places: Places
  readonly #services = new Set<number>()
  readonly #known = new Set<string>()

  constructor(places: Places) {
    this.#places = places
  }

  /** Notes everything beneath a service, before each kill; gives how many processes of commands are among it. */
  note(service: number): number {
    this.#services.add(service)
    const all = processes()
    const beneath = new Set([service])
    // A parent may come after its child in the list.
    for (let before = 0; before !== beneath.size; ) {
      before = beneath.size
      for (const one of all) if (beneath.has(one.parent)) beneath.add(one.pid)
    }
    const noted = all.filter((one) => beneath.has(one.pid))
    for (const one of noted) this.#known.add(`${one.pid} ${one.start}`)
    return noted.filter((one) => this.#isMarked(one.pid)).length
  }

  #isMarked(pid: number): boolean {
    return textOf(`/proc/${pid}/environ`).split('\0').includes(this.#places.mark)
  }

  get processesSeen(): number {
    return this.#known.size
  }

  /** Of everything that was ever noted, and of what carries the mark: what is alive, and what is dead and not buried. */
  processes(): { readonly alive: readonly string[]; readonly zombies: readonly string[] } {
    const alive: string[] = []
    const zombies: string[] = []
    for (const one of processes()) {
      if (!this.#known.has(`${one.pid} ${one.start}`) && !this.#isMarked(one.pid)) continue
      const words = textOf(`/proc/${one.pid}/cmdline`).replaceAll('\0', ' ').slice(0, 200)
      if (one.state === 'Z' || one.state === 'X') zombies.push(`${one.pid}`)
      else alive.push(`${one.pid} ${words}`)
    }
    return { alive, zombies }
  }

  /** Of these, what is still there after five seconds: a service buries its children when it gets to it. */
  async settled(what: 'alive' | 'zombies'): Promise<readonly string[]> {
    const deadline = performance.now() + 5_000
    for (;;) {
      const found = this.processes()[what]
      if (found.length === 0 || performance.now() > deadline) return found
      await pause(50)
    }
  }

  /** What is left in folders, control groups and mounts. */
  places(): Pick<Left, 'workFolders' | 'controlGroups' | 'temporaryFolders' | 'mounts'> {
    return {
      workFolders: this.workFolders(),
      controlGroups: this.controlGroups(),
      temporaryFolders: this.temporaryFolders(),
      mounts: this.mounts(),
    }
  }

  workFolders(): string[] {
    const work = join(this.#places.dataFolder, 'work')
    return existsSync(work) ? readdirSync(work) : []
  }

  temporaryFolders(): string[] {
    return readdirSync(this.#places.temporary)
  }

  /** Control groups that are named after one of the services. */
  controlGroups(): string[] {
    const folders = textOf('/proc/self/mountinfo')
      .split('\n')
      .filter((line) => / - cgroup2? /.test(line))
      .map((line) => line.split(' ')[4]!)
    return folders.flatMap((folder) => this.#groupsIn(folder, 4))
  }

  #groupsIn(folder: string, depth: number): string[] {
    let entries: string[] = []
    try {
      entries = readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []))
    } catch {
      return []
    }
    return entries.flatMap((name) => {
      const pid = /^yardmaster\.(\d+)\./.exec(name)?.[1]
      if (pid !== undefined) return this.#services.has(Number(pid)) ? [join(folder, name)] : []
      return depth === 0 ? [] : this.#groupsIn(join(folder, name), depth - 1)
    })
  }

  mounts(): string[] {
    const { dataFolder, temporary } = this.#places
    return textOf('/proc/self/mounts')
      .split('\n')
      .filter((line) => line.includes(dataFolder) || line.includes(temporary))
  }
}
