// A service that is root gives its commands to nobody, where that can be done: a command that is root without rights is
// still the owner of root's files.
import { realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { closedTo } from '../adapters/executor/paths.ts'
import type { User } from '../adapters/executor/stages.ts'

/** The one user that every host has and that owns nothing. */
const NOBODY: User = { uid: 65_534, gid: 65_534 }

export interface CommandUser {
  readonly user: User | null
  /** Why commands are root's; empty when they are not, or when the service is not root. */
  readonly why: string
}

export function commandUser(wanted: 'auto' | 'service', path: string): CommandUser {
  if (process.getuid?.() !== 0) return { user: null, why: '' }
  if (wanted === 'service') return { user: null, why: 'commands.user is service' }
  const closed = path.split(delimiter).find((folder) => isClosed(folder))
  if (closed !== undefined)
    return { user: null, why: `nobody else can use the programs in ${closed}, which is on the PATH` }
  return { user: NOBODY, why: '' }
}

/** A folder that is not there holds no program. */
function isClosed(folder: string): boolean {
  try {
    return closedTo(NOBODY, join(realpathSync(folder), 'program')) !== null
  } catch {
    return false
  }
}
