// Where the bytes of runs' files are kept, and the marker by which a worker knows that it sees what the servers see.
import { join } from 'node:path'
import { openFilesystemBlobs } from '../adapters/blob/filesystem.ts'
import type { App } from '../app/context.ts'
import type { Config } from '../config/schema.ts'
import type { Periodic } from '../engine/periodic.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import { createdAt } from '../store/accounts.ts'

export interface OpenedBlobs {
  readonly blobs: BlobStore
  close(): void
}

export async function openBlobs({ blobs, data }: Config): Promise<OpenedBlobs> {
  if (blobs.s3Bucket === undefined) return { blobs: await openFilesystemBlobs(blobs.folder), close: () => {} }
  // The client is large: only who uses it waits for it.
  const { openS3Blobs } = await import('../adapters/blob/s3.ts')
  const { s3AccessKey, s3SecretKey } = blobs
  const store = await openS3Blobs({
    bucket: blobs.s3Bucket,
    region: blobs.s3Region,
    prefix: blobs.s3Prefix === undefined ? '' : `${blobs.s3Prefix}/`,
    // Servers that are not Amazon's have no name for each bucket.
    forcePathStyle: blobs.s3Endpoint !== undefined,
    ...(blobs.s3Endpoint !== undefined && { endpoint: blobs.s3Endpoint }),
    ...(s3AccessKey !== undefined &&
      s3SecretKey !== undefined && {
        credentials: { accessKeyId: s3AccessKey, secretAccessKey: s3SecretKey.reveal() },
      }),
    spoolFolder: join(data, 'blobs-on-their-way'),
  })
  return { blobs: store, close: () => store.close() }
}

const MARKER = 'deployment'

/** The moment of the set-up, to the microsecond: no two deployments share it. */
const deploymentOf = async (app: App): Promise<string | null> => await createdAt(app.db)

/** A server writes the marker once there is an account, and again when somebody took it away. */
export function blobMarker(app: App, blobs: BlobStore): Periodic {
  return {
    name: 'blob marker',
    everyMs: 60_000,
    runOnce: async () => {
      const deployment = await deploymentOf(app)
      if (deployment === null) return
      const found = await blobs.readMarker(MARKER)
      if (found === deployment) return
      if (found !== null) app.log.warn({}, 'the blob store was used by another deployment, or by one that was lost')
      await blobs.writeMarker(MARKER, deployment)
    },
  }
}

/** For a worker on another host. Throws with what to do. */
export async function requireSharedBlobs(app: App, blobs: BlobStore, config: Config): Promise<void> {
  const deployment = await deploymentOf(app)
  if (deployment === null) throw new Error('Nothing is set up in this database: start a server first.')
  const where = blobs.kind === 's3' ? `the bucket ${config.blobs.s3Bucket}` : `the folder ${config.blobs.folder}`
  const advice =
    'Servers and workers need the same blob store: a bucket (YARDMASTER_BLOBS_S3_BUCKET), or a folder that all hosts ' +
    'mount (YARDMASTER_BLOBS_FOLDER).'
  let found: string | null
  try {
    found = await blobs.readMarker(MARKER)
  } catch (error) {
    throw new Error(`This worker cannot read ${where}. ${advice}`, { cause: error })
  }
  if (found === deployment) return
  const seen = found === null ? 'does not hold what the servers wrote' : 'belongs to another deployment'
  throw new Error(`This worker does not start: ${where} ${seen}. ${advice}`)
}
