/** Other users and awkward folders. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root, temporaryFolder } from './service.ts'

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
const asNobody = ['setpriv', '--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups']

export const me: Who = {
  name: isRoot ? 'as root' : 'as this user',
  uid: null,
  prefix: [],
  home: process.env.HOME ?? '/',
}

const other: Who = { name: 'as a user without a home', uid: NOBODY, prefix: asNobody, home: '/nonexistent' }

/** As root: a real other user. Otherwise nobody else can be had: the same user, also without a home. */
export const homeless: Who = isRoot ? other : { ...other, uid: null, prefix: [] }

/** The one above where they can read this repository: in a folder that only root may enter they cannot. */
export const homelessReader: Who =
  isRoot && spawnSync('setpriv', [...asNobody.slice(1), 'test', '-r', join(root, 'package.json')]).status !== 0
    ? { ...other, uid: null, prefix: [] }
    : homeless

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
