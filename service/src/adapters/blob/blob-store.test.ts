import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { blobStoreConformance } from '../../../test/conformance/blob-store.ts'
import { openFilesystemBlobs } from './filesystem.ts'
import { openS3Blobs } from './s3.ts'

interface FakeS3 {
  run(): Promise<{ port: number }>
  close(): Promise<void>
}
// It brings no types.
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (options: object) => FakeS3

const temporary = (): Promise<string> => mkdtemp(join(tmpdir(), 'yardmaster-blobs-'))
const UID = 'a'.repeat(16)
const unhurried = (): AbortSignal => new AbortController().signal

async function filesOf(folder: string, but: RegExp): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((one) => one.isFile() && !but.test(one.name)).map((one) => join(one.parentPath, one.name))
}

blobStoreConformance('filesystem', async () => {
  const root = await temporary()
  return {
    store: await openFilesystemBlobs(join(root, 'blobs')),
    other: await openFilesystemBlobs(join(root, 'blobs')),
    names: async () => await filesOf(root, /^clock$/),
    [Symbol.asyncDispose]: async () => await rm(root, { recursive: true }),
  }
})

blobStoreConformance('s3', async () => {
  const root = await temporary()
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(root, 'server'),
    configureBuckets: [{ name: 'bucket' }],
  })
  const { port } = await server.run()
  const node = () =>
    openS3Blobs({
      bucket: 'bucket',
      prefix: 'some/where/',
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${port}`,
      forcePathStyle: true,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
      spoolFolder: join(root, 'spool'),
    })
  const [store, other] = [await node(), await node()]
  return {
    store,
    other,
    names: async () => (await filesOf(root, /_metadata\.json$|\.md5$/)).filter((one) => !one.endsWith('_bucket')),
    [Symbol.asyncDispose]: async () => {
      store.close()
      other.close()
      await server.close()
      await rm(root, { recursive: true })
    },
  }
})

test('a blob in a folder is private, stands under its hash, and is written anew when it was cut short', async () => {
  const root = await temporary()
  try {
    const store = await openFilesystemBlobs(root)
    const { sha256 } = await store.put(UID, Readable.from([Buffer.from('hello')]), unhurried())
    const hex = sha256.toString('hex')
    const path = join(root, UID, hex.slice(0, 2), hex.slice(2, 4), hex)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    await writeFile(path, 'hel')
    await store.put(UID, Readable.from([Buffer.from('hello')]), unhurried())
    assert.equal((await buffer((await store.get(UID, sha256))!)).toString(), 'hello')
  } finally {
    await rm(root, { recursive: true })
  }
})
