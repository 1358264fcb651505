// Blobs in a folder: <root>/<workspace uid>/ab/cd/<hash>. A blob is complete and on the disk before it has its name.
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import type { BlobStore } from '../../ports/blob-store.ts'
import { blobKey, isMissing, markerKey } from './key.ts'
import { spool } from './spool.ts'

const PRIVATE = 0o700
/** What a killed process left half-written is removed after this time. */
const ABANDONED_MS = 24 * 3_600_000

export async function openFilesystemBlobs(root: string): Promise<BlobStore> {
  const parts = join(root, 'incoming')
  await makeFolder(parts)
  await removeAbandoned(parts)

  const place = async (from: string, key: string): Promise<void> => {
    const to = join(root, key)
    await makeFolder(dirname(to))
    // Two at once write the same bytes: either may win.
    await rename(from, to)
    await syncFolder(dirname(to))
  }

  return {
    kind: 'filesystem',
    put: async (workspaceUid, content, signal) => {
      blobKey(workspaceUid, Buffer.alloc(32))
      return await spool(parts, content, signal, async (path, blob, flush) => {
        const key = blobKey(workspaceUid, blob.sha256)
        const there = await sizeOf(join(root, key))
        // One of another size was damaged by a crash of the machine or by hand: written anew.
        if (there !== blob.size) {
          await flush()
          await place(path, key)
        }
        return blob
      })
    },
    get: async (workspaceUid, sha256, range) => {
      let handle: FileHandle
      try {
        handle = await open(join(root, blobKey(workspaceUid, sha256)), 'r')
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
      if (range === undefined && (await handle.stat()).size === 0) {
        await handle.close()
        return Readable.from([])
      }
      return handle.createReadStream(range)
    },
    has: async (workspaceUid, sha256) => (await sizeOf(join(root, blobKey(workspaceUid, sha256)))) !== null,
    delete: (workspaceUid, sha256) => rm(join(root, blobKey(workspaceUid, sha256)), { force: true }),
    writeMarker: async (name, content) => {
      const key = markerKey(name)
      const bytes = Readable.from([Buffer.from(content)])
      await spool(parts, bytes, new AbortController().signal, async (path, _blob, flush) => {
        await flush()
        await place(path, key)
      })
    },
    readMarker: async (name) => {
      try {
        return await readFile(join(root, markerKey(name)), 'utf8')
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },
  }
}

async function sizeOf(path: string): Promise<number | null> {
  try {
    return (await stat(path)).size
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** With its parents, each on the disk before anything is put into it. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: PRIVATE })
  for (let at = folder; first !== undefined; at = dirname(at)) {
    await syncFolder(dirname(at))
    if (at === first || at === dirname(at)) break
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  // The age by the clock of the file system, which may be another machine's.
  const probe = join(folder, 'clock')
  await writeFile(probe, 'now', { mode: 0o600 })
  const now = (await stat(probe)).mtimeMs
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.part')) continue
    const path = join(folder, name)
    const age = now - ((await stat(path).catch(() => null))?.mtimeMs ?? now)
    if (age > ABANDONED_MS) await rm(path, { force: true })
  }
}
