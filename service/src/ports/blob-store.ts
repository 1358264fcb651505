// Bytes by content hash. `put` reads the stream to its end, stores it durably and gives hash and size; storing the same
// content again changes nothing. When the stream breaks off or `signal` is aborted, it rejects and nothing is stored.
// `get` gives the bytes, or null when they are not there. `delete` of what is not there does nothing. Keys are only ever
// made from hashes and workspace uids by the store itself, and no workspace reaches the blobs of another.
import type { Readable } from 'node:stream'

export interface Blob {
  readonly sha256: Buffer
  readonly size: number
}

export interface BlobStore {
  readonly kind: 'filesystem' | 's3'
  put(workspaceUid: string, content: Readable, signal: AbortSignal): Promise<Blob>
  /** `range`: from byte `start` to byte `end`, both included, and inside of the blob. */
  get(workspaceUid: string, sha256: Buffer, range?: { start: number; end: number }): Promise<Readable | null>
  has(workspaceUid: string, sha256: Buffer): Promise<boolean>
  delete(workspaceUid: string, sha256: Buffer): Promise<void>
  /** The marker of the shared store: written by the first node, read by every other. */
  writeMarker(name: string, content: string): Promise<void>
  readMarker(name: string): Promise<string | null>
}
