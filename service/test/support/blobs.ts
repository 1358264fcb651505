import type { BlobStore } from '../../src/ports/blob-store.ts'

/** Holds nothing; notes the hashes of what is deleted. */
export function rememberingBlobs(deleted: string[]): BlobStore {
  const none = async (): Promise<never> => {
    throw new Error('not used here')
  }
  return {
    kind: 'filesystem',
    put: none,
    get: none,
    has: none,
    delete: async (_uid, sha256) => void deleted.push(sha256.toString('hex')),
    writeMarker: none,
    readMarker: none,
  }
}
