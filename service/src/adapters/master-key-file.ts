// The master key ring in a file of the data folder: keys in base64, the current one first, one a line.
import { randomBytes } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')

/** Null when there is none. Refuses a file that others can read. */
export async function readMasterKeys(path: string): Promise<Buffer[] | null> {
  let mode: number
  try {
    mode = (await stat(path)).mode
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if ((mode & 0o077) !== 0) throw new Error(`Others can read the master key: chmod 600 ${path}`)
  const keys = (await readFile(path, 'utf8'))
    .split(/[\s,]+/)
    .filter((one) => one !== '')
    .map((one) => Buffer.from(one, 'base64'))
  if (keys.length === 0 || keys.some((one) => one.length !== 32)) {
    throw new Error(`${path} does not hold master keys (32 bytes in base64, one a line). Put the right file back.`)
  }
  return keys
}

/** Of two that make it at once one wins, and both read the winner's. */
export async function makeMasterKey(path: string): Promise<Buffer[]> {
  const draft = `${path}.${process.pid}`
  await writeDurably(draft, `${randomBytes(32).toString('base64')}\n`)
  try {
    await link(draft, path)
    await syncFolder(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
  return (await readMasterKeys(path))!
}

/** A new current key; the old ones stay behind it, because what they sealed must open. */
export async function addMasterKey(path: string): Promise<void> {
  const old = await readFile(path, 'utf8')
  const draft = `${path}.${process.pid}`
  await writeDurably(draft, `${randomBytes(32).toString('base64')}\n${old}`)
  await rename(draft, path)
  await syncFolder(path)
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
