// Blobs in a bucket of S3 or of a server that speaks like it: put, get, head and delete of single objects, nothing else,
// because that is what all of them do alike. A blob goes through a file first: its hash is its name, and a stream of
// unknown length would need the multipart calls.
import { createReadStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  NoSuchKey,
  NotFound,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { BlobStore } from '../../ports/blob-store.ts'
import { blobKey, markerKey } from './key.ts'
import { spool } from './spool.ts'

export interface S3Options {
  readonly bucket: string
  /** Before every key, such as `yardmaster/`; may be empty. */
  readonly prefix: string
  readonly region: string
  /** Undefined: Amazon's, of the region. */
  readonly endpoint?: string
  readonly forcePathStyle: boolean
  /** Undefined: where the AWS client finds some by itself (its environment, its files, the machine's role). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** For blobs on their way. */
  readonly spoolFolder: string
}

const MARKER_BYTES = 64 * 1024
const CONNECT_MS = 5_000
const ANSWER_MS = 30_000

export interface S3BlobStore extends BlobStore {
  close(): void
}

export async function openS3Blobs(options: S3Options): Promise<S3BlobStore> {
  const { bucket, prefix, spoolFolder } = options
  await mkdir(spoolFolder, { recursive: true, mode: 0o700 })
  const client = new S3Client({
    region: options.region,
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
    forcePathStyle: options.forcePathStyle,
    ...(options.credentials !== undefined && { credentials: options.credentials }),
    // Servers that are not Amazon's refuse, or store, the checksums that the client adds on its own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, requestTimeout: ANSWER_MS, socketTimeout: ANSWER_MS },
  })
  const at = (key: string) => ({ Bucket: bucket, Key: prefix + key })

  const sizeOf = async (key: string, signal?: AbortSignal): Promise<number | null> => {
    try {
      const { ContentLength } = await client.send(new HeadObjectCommand(at(key)), { abortSignal: signal })
      return ContentLength ?? 0
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  const read = async (key: string, range?: { start: number; end: number }): Promise<Readable | null> => {
    try {
      const Range = range && `bytes=${range.start}-${range.end}`
      const { Body } = await client.send(new GetObjectCommand({ ...at(key), ...(Range && { Range }) }))
      return Body as Readable
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  return {
    kind: 's3',
    put: async (workspaceUid, content, signal) => {
      blobKey(workspaceUid, Buffer.alloc(32))
      return await spool(spoolFolder, content, signal, async (path, blob) => {
        const key = blobKey(workspaceUid, blob.sha256)
        if ((await sizeOf(key, signal)) !== blob.size) {
          const Body = blob.size === 0 ? '' : createReadStream(path)
          const object = { ...at(key), Body, ContentLength: blob.size, ContentType: 'application/octet-stream' }
          await client.send(new PutObjectCommand(object), { abortSignal: signal })
        }
        return blob
      })
    },
    get: async (workspaceUid, sha256, range) => await read(blobKey(workspaceUid, sha256), range),
    has: async (workspaceUid, sha256) => (await sizeOf(blobKey(workspaceUid, sha256))) !== null,
    delete: async (workspaceUid, sha256) => {
      try {
        await client.send(new DeleteObjectCommand(at(blobKey(workspaceUid, sha256))))
      } catch (error) {
        if (!isMissing(error)) throw error
      }
    },
    writeMarker: async (name, content) => {
      await client.send(new PutObjectCommand({ ...at(markerKey(name)), Body: content, ContentType: 'text/plain' }))
    },
    readMarker: async (name) => {
      const body = await read(markerKey(name), { start: 0, end: MARKER_BYTES - 1 })
      if (body === null) return null
      const parts: Buffer[] = []
      for await (const part of body) parts.push(part as Buffer)
      return Buffer.concat(parts).toString()
    },
    close: () => client.destroy(),
  }
}

/** Not every server names it alike; the status is the same. A missing bucket is another matter, and no answer of ours. */
function isMissing(error: unknown): boolean {
  if (error instanceof NoSuchKey || error instanceof NotFound) return true
  if (!(error instanceof S3ServiceException)) return false
  return error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket'
}
