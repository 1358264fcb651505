/** Other users and awkward folders. */
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './service.ts'

export const isRoot = process.getuid?.() === 0

export interface Who {
  readonly name: string
  /** Null: whoever runs this. */
  readonly uid: number | null
  /** What stands before a program that they run. */
  readonly prefix: readonly string[]
  readonly home: string
}

const NOBODY = 65534

export const me: Who = {
  name: isRoot ? 'as root' : 'as this user',
  uid: null,
  prefix: [],
  home: process.env.HOME ?? '/',
}

/** As root: a real other user. Otherwise nobody else can be had: the same user, also without a home. */
export const homeless: Who = {
  name: 'as a user without a home',
  uid: isRoot ? NOBODY : null,
  prefix: isRoot ? ['setpriv', '--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'] : [],
  home: '/nonexistent',
}

/** A folder that only its owner may enter, under a path longer than a socket's may be. */
export async function deepFolder({ uid }: Who): Promise<string> {
  let folder = await temporaryFolder('deep')
  chmodSync(folder, 0o755)
  while (folder.length < 150) {
    folder = join(folder, 'a-folder-with-a-long-name')
    mkdirSync(folder, { mode: 0o755 })
  }
  if (uid !== null) chownSync(folder, uid, uid)
  chmodSync(folder, 0o700)
  return folder
}
