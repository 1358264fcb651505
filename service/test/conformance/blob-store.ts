// What every blob store keeps to, wherever the bytes are.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { BlobStore } from '../../src/ports/blob-store.ts'

export interface BlobStoreUnderTest extends AsyncDisposable {
  readonly store: BlobStore
  /** Another node on the same blobs. */
  readonly other: BlobStore
  /** Every stored thing, by whatever name, and half-written ones too. */
  names(): Promise<readonly string[]>
}

const A = 'a'.repeat(16)
const B = 'b'.repeat(16)
const unhurried = (): AbortSignal => new AbortController().signal
const hashOf = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()
/** In pieces, as a file comes. */
const streamOf = (bytes: Buffer): Readable => {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 60_000) pieces.push(bytes.subarray(at, at + 60_000))
  return Readable.from(pieces, { objectMode: false })
}
const read = async (stream: Readable | null): Promise<Buffer | null> => (stream === null ? null : await buffer(stream))

export function blobStoreConformance(name: string, make: () => Promise<BlobStoreUnderTest>): void {
  describe(`a blob store: ${name}`, () => {
    test('gives back what was put, under its hash, also to another node', async () => {
      await using t = await make()
      for (const bytes of [randomBytes(3_000_000), Buffer.from('x'), Buffer.alloc(0)]) {
        const blob = await t.store.put(A, streamOf(bytes), unhurried())
        assert.deepEqual(blob, { sha256: hashOf(bytes), size: bytes.length })
        assert.ok((await read(await t.other.get(A, blob.sha256)))?.equals(bytes))
        assert.equal(await t.other.has(A, blob.sha256), true)
      }
    })

    test('keeps one copy of the same content, also of two that are put at once', async () => {
      await using t = await make()
      const bytes = randomBytes(100_000)
      await Promise.all([1, 2, 3].map(() => t.store.put(A, streamOf(bytes), unhurried())))
      await t.store.put(A, streamOf(bytes), unhurried())
      assert.equal((await t.names()).length, 1)
      assert.ok((await read(await t.store.get(A, hashOf(bytes))))?.equals(bytes))
    })

    test('has nothing for a hash that was never put', async () => {
      await using t = await make()
      assert.equal(await t.store.get(A, randomBytes(32)), null)
      assert.equal(await t.store.has(A, randomBytes(32)), false)
    })

    test('keeps workspaces apart', async () => {
      await using t = await make()
      const { sha256 } = await t.store.put(A, streamOf(Buffer.from('of A')), unhurried())
      assert.equal(await t.store.get(B, sha256), null)
      await t.store.delete(B, sha256)
      assert.equal(await t.store.has(A, sha256), true)
    })

    test('gives a part', async () => {
      await using t = await make()
      const bytes = randomBytes(50_000)
      const { sha256 } = await t.store.put(A, streamOf(bytes), unhurried())
      const part = await read(await t.store.get(A, sha256, { start: 10, end: 19 }))
      assert.deepEqual(part, bytes.subarray(10, 20))
      const last = await read(await t.store.get(A, sha256, { start: 49_999, end: 49_999 }))
      assert.deepEqual(last, bytes.subarray(49_999))
    })

    test('forgets what is deleted, and what is not there without a word', async () => {
      await using t = await make()
      const { sha256 } = await t.store.put(A, streamOf(Buffer.from('gone')), unhurried())
      await t.store.delete(A, sha256)
      await t.store.delete(A, sha256)
      assert.equal(await t.store.get(A, sha256), null)
      assert.deepEqual(await t.names(), [])
    })

    test('stores nothing of a stream that breaks off', async () => {
      await using t = await make()
      const broken = Readable.from(
        (async function* () {
          yield randomBytes(10_000)
          throw new Error('the disk is gone')
        })(),
        { objectMode: false },
      )
      await assert.rejects(t.store.put(A, broken, unhurried()), /the disk is gone/)
      assert.deepEqual(await t.names(), [])
    })

    test('stores nothing once it was called off, before or in the middle', async () => {
      await using t = await make()
      await assert.rejects(t.store.put(A, streamOf(Buffer.from('x')), AbortSignal.abort(new Error('stop'))), /stop/)
      const abort = new AbortController()
      const endless = new Readable({ read: () => {} })
      endless.push(randomBytes(10_000))
      const put = assert.rejects(t.store.put(A, endless, abort.signal), /stop/)
      abort.abort(new Error('stop'))
      await put
      assert.deepEqual(await t.names(), [])
    })

    test('refuses what is no workspace and no hash', async () => {
      await using t = await make()
      for (const uid of ['', '..', '../../etc', 'A'.repeat(16), `${A}/x`, 'a'.repeat(15)]) {
        await assert.rejects(async () => await t.store.put(uid, streamOf(Buffer.from('x')), unhurried()))
        await assert.rejects(async () => await t.store.get(uid, randomBytes(32)))
      }
      await assert.rejects(async () => await t.store.get(A, Buffer.from('short')))
      await assert.rejects(async () => await t.store.delete(A, Buffer.alloc(0)))
    })

    test('shows a marker to every node', async () => {
      await using t = await make()
      assert.equal(await t.other.readMarker('store'), null)
      await t.store.writeMarker('store', 'first ✓')
      assert.equal(await t.other.readMarker('store'), 'first ✓')
      await t.other.writeMarker('store', 'second')
      assert.equal(await t.store.readMarker('store'), 'second')
      await assert.rejects(async () => await t.store.writeMarker('../x', ''))
    })
  })
}
