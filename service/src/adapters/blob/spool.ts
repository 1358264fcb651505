import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Blob } from '../../ports/blob-store.ts'

/**
 * Writes a stream to a file of its own in `folder`, hashing it on the way, and hands both to `use`, which calls `flush` if
 * it needs the file to be on the disk. The file is gone afterwards, unless `use` moved it.
 */
export async function spool<T>(
  folder: string,
  content: Readable,
  signal: AbortSignal,
  use: (path: string, blob: Blob, flush: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const path = join(folder, `${randomBytes(12).toString('hex')}.part`)
  let handle: FileHandle | null = null
  try {
    signal.throwIfAborted()
    handle = await open(path, 'wx', 0o600)
    const opened = handle
    return await use(path, await copy(content, opened, signal), () => opened.sync())
  } finally {
    content.destroy()
    await handle?.close()
    await rm(path, { force: true })
  }
}

async function copy(content: Readable, handle: FileHandle, signal: AbortSignal): Promise<Blob> {
  const hash = createHash('sha256')
  let size = 0
  const stop = () => content.destroy(signal.reason instanceof Error ? signal.reason : new Error('called off'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const piece of content) {
      signal.throwIfAborted()
      const bytes = Buffer.from(piece as Buffer)
      hash.update(bytes)
      size += bytes.length
      for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  return { sha256: hash.digest(), size }
}
