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
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeDurably(draft, async () => `${randomBytes(32).toString('base64')}\n`)
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

/**
 * A new current key; the old ones stay behind it, because what they sealed must open. The draft has one name: of two
 * that add at once the second would write over the first one's key, and what that had sealed by then would be lost.
 */
export async function addMasterKey(path: string): Promise<void> {
  const draft = `${path}.new`
  try {
    await writeDurably(draft, async () => `${randomBytes(32).toString('base64')}\n${await readFile(path, 'utf8')}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new Error(`Another rotation is under way. If none is, one was cut short: remove ${draft} and try again.`)
  }
  await rename(draft, path)
  await syncFolder(path)
}

/** Refuses a file that is there: it may have other rights than ours. The text is made once the file is ours. */
async function writeDurably(path: string, makeText: () => Promise<string>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(await makeText())
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
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
