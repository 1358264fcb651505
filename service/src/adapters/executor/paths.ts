// From the paths of a command to what its namespace must show of them.
import { existsSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { NOT_EXECUTABLE } from '../../domain/return-code.ts'
import { type CommandSpec, StartFault } from '../../ports/executor.ts'
import type { User } from './stages.ts'
import { type Hidden, isWithin, type Kept, mountFlags, viewLines } from './view.ts'

function lookAt(path: string): { readonly real: string; readonly stats: Stats } | null {
  try {
    const real = realpathSync(path)
    return { real, stats: statSync(real) }
  } catch {
    return null
  }
}

/** The real path of a folder that must be there; the message names the folder, which the system's own does not. */
export function realFolder(path: string, what: string): string {
  const found = lookAt(path)
  if (found === null) throw new StartFault(`${what} ${path} is missing.`, NOT_EXECUTABLE)
  if (!found.stats.isDirectory()) throw new StartFault(`${what} ${path} is not a folder.`, NOT_EXECUTABLE)
  return found.real
}

export interface Places {
  readonly folder: string
  readonly writable: readonly string[]
  readonly kept: readonly Kept[]
}

export function placesOf(spec: CommandSpec): Places {
  const folder = realFolder(spec.folder, 'The working folder')
  const writable = spec.writable.map((path) => realFolder(path, 'The folder'))
  const readOnly = spec.readOnly.map((path) => realFolder(path, 'The read-only folder'))
  const kept = [
    ...[folder, ...writable].map((path): Kept => ({ path, readOnly: false })),
    ...readOnly.map((path): Kept => ({ path, readOnly: true })),
  ]
  return { folder, writable, kept }
}

export function viewOf(
  places: Places,
  hidden: readonly string[],
  { user, stages }: { readonly user: User | null; readonly stages: readonly string[] },
): string[] {
  const all: Hidden[] = []
  for (const path of hidden) {
    // What is not there cannot be seen.
    const found = lookAt(path)
    if (found !== null) all.push({ path: found.real, directory: found.stats.isDirectory() })
  }
  if (user !== null) {
    for (const { path } of places.kept) {
      const wall = closedTo(user, path)
      if (wall !== null && !all.some((one) => isWithin(wall, one.path))) all.push({ path: wall, directory: true })
    }
  }
  const memory = existsSync(SHARED_MEMORY) ? [`mount -n -t tmpfs -o mode=1777,nosuid,nodev none ${SHARED_MEMORY}`] : []
  if (all.length === 0 && places.kept.every(({ readOnly }) => !readOnly)) return memory
  const flagsOf = mountFlags(readFileSync('/proc/self/mountinfo', 'utf8'))
  return [...viewLines({ kept: places.kept, hidden: all, stages, flagsOf }), ...memory]
}

/** What other programs share there, a database above all, is not for commands; each gets one of its own. */
const SHARED_MEMORY = '/dev/shm'

/**
 * The outermost folder above a path that another user may not enter. Hiding it loses nothing, since that user could
 * see nothing of it, and makes what is kept inside of it reachable: a data folder in root's home, say.
 */
export function closedTo(user: User, path: string): string | null {
  let wall: string | null = null
  for (let at = dirname(path); at !== '/'; at = dirname(at)) {
    const { mode, uid, gid } = statSync(at)
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) wall = at
  }
  return wall
}
