// What a model may name: files and folders of the checkout. The text is checked first; then links are resolved, and what
// they lead to must be inside as well. Whoever opens the file afterwards goes from folder to folder without following any
// link (engine/worker/beneath.ts), so that one that is exchanged in between leads nowhere.
//
// What is left is a folder that is moved out of the checkout while a file in it is being opened; reading looks again
// where the file is before anything is read, and no command of the session runs while one of its other tools does.
import { lstat, realpath } from 'node:fs/promises'

const LONGEST = 4096
const LONGEST_NAME = 255

export class PathRefused extends Error {
  override readonly name = 'PathRefused'
}

// What HFS+ leaves out when it compares names.
const IGNORED_BY_HFS = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** Whether some system, this one or that of somebody who clones, would take the name for a git folder. */
export function isGitName(name: string): boolean {
  const plain = name
    .replace(IGNORED_BY_HFS, '')
    .normalize('NFKC')
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[ .]+$/, '')
  return plain === '.git' || /^git~\d+$/.test(plain)
}

/** The names that lead from the checkout to what is meant; none: the checkout itself. */
export function namesOf(folder: string, text: string): string[] {
  if (Buffer.byteLength(text) > LONGEST) throw new PathRefused('The path is too long.')
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 32 || code === 127) throw new PathRefused('The path holds a control character.')
  }
  if (!text.isWellFormed()) throw new PathRefused('The path is not valid text.')
  const inside = text === folder ? '' : text.startsWith(`${folder}/`) ? text.slice(folder.length + 1) : text
  if (inside.startsWith('/')) throw new PathRefused('Give a path relative to the root of the repository.')
  const names = inside.split('/').filter((name) => name !== '' && name !== '.')
  for (const name of names) {
    if (name === '..')
      throw new PathRefused('A path cannot lead upwards (..). Name it from the root of the repository.')
    if (isGitName(name)) throw new PathRefused('The git folder cannot be read or written; use the git tools.')
    if (Buffer.byteLength(name) > LONGEST_NAME) throw new PathRefused('A name in the path is too long.')
  }
  return names
}

const OUT = 'The path is, or leads through, a symbolic link that leads out of the repository.'

/** Without links; rejects for what leads out. What is not there yet is left as it was named. */
export async function resolved(folder: string, names: readonly string[]): Promise<string[]> {
  for (let depth = names.length; depth >= 0; depth--) {
    const path = [folder, ...names.slice(0, depth)].join('/')
    const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
      throw new PathRefused(error.code === 'ELOOP' ? 'The path goes round in circles.' : 'The path cannot be reached.')
    })
    if (real === null) {
      // A link to nothing: whatever is written there would come to be where it points to.
      const isLink = (await lstat(path).catch(() => null))?.isSymbolicLink() === true
      if (isLink) throw new PathRefused('The path is, or leads through, a symbolic link that leads nowhere.')
      continue
    }
    if (real !== folder && !real.startsWith(`${folder}/`)) throw new PathRefused(OUT)
    const found = real === folder ? [] : real.slice(folder.length + 1).split('/')
    if (found.some(isGitName)) throw new PathRefused('The git folder cannot be read or written; use the git tools.')
    return [...found, ...names.slice(depth)]
  }
  throw new PathRefused('The checkout is gone.')
}

/** Both checks. */
export const pathIn = (folder: string, text: string): Promise<string[]> => resolved(folder, namesOf(folder, text))
