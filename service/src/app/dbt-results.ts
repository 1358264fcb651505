// dbt's own results of a run, as rows.
import { buffer } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { type DbtDescription, parseDbtManifest } from '../domain/dbt-manifest.ts'
import { DBT_MANIFEST, DBT_RESULT_FILES, type DbtNode, parseDbtResults } from '../domain/dbt-results.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { ArtifactOwner } from '../store/artifacts.ts'
import * as artifacts from '../store/artifacts.ts'
import type { Db } from '../store/database.ts'
import type { DbtResult } from '../store/dbt-results.ts'
import * as results from '../store/dbt-results.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { DbtFile } from './dbt-results-thread.ts'

export type { DbtResult } from '../store/dbt-results.ts'

export const listDbtResults = (ctx: Context, runId: number): Promise<DbtResult[]> =>
  results.list(ctx.db, workspaceOf(ctx).id, runId)

/** A larger file is not read. */
const MOST_BYTES = 64 * 1024 * 1024
/** Parsing more than this would hold up everybody else in the process for too long. */
const PARSED_HERE = 512 * 1024
const PARSE_MS = 30_000

/**
 * Reads what a command left of dbt's results into rows, with what its manifest says about each node. Files that are
 * broken or too large leave none.
 * @param redact takes secrets out of a text
 */
export async function readDbtResults(
  db: Db,
  blobs: BlobStore,
  of: ArtifactOwner,
  redact: (text: string) => string,
): Promise<number> {
  const files = await artifacts.listNamed(db, of.workspaceId, of.commandId, [...DBT_RESULT_FILES, DBT_MANIFEST])
  const isManifest = ({ path }: { readonly path: string }): boolean => path.split('/').at(-1) === DBT_MANIFEST
  const nodes = new Map<string, DbtNode>()
  for (const file of files.filter((one) => !isManifest(one))) {
    for (const one of await parse<DbtNode>(blobs, of, file, 'results')) nodes.set(one.uniqueId, one)
  }
  if (nodes.size === 0) return 0
  const described = new Map<string, DbtDescription>()
  for (const file of files.filter(isManifest)) {
    for (const one of await parse<DbtDescription>(blobs, of, file, 'manifest')) described.set(one.uniqueId, one)
  }
  const rows = [...nodes.values()].map((node) => {
    const { resourceType, name, path, relation } = described.get(node.uniqueId) ?? byId(node.uniqueId)
    return {
      ...node,
      message: redact(node.message),
      resourceType,
      name,
      path: redact(path),
      relation: redact(relation),
    }
  })
  await results.insert(db, of, rows)
  return rows.length
}

/** Where there is no manifest: `model.shop.orders` says something by itself. */
function byId(uniqueId: string): Omit<DbtDescription, 'uniqueId'> {
  const [resourceType = '', _package, ...name] = uniqueId.split('.')
  return { resourceType, name: name.join('.'), path: '', relation: '' }
}

async function parse<T>(
  blobs: BlobStore,
  of: ArtifactOwner,
  file: artifacts.StoredArtifact,
  kind: DbtFile['kind'],
): Promise<T[]> {
  if (file.size > MOST_BYTES) return []
  const content = await blobs.get(of.workspaceUid, file.sha256)
  if (content === null) return []
  const bytes = await buffer(content)
  if (bytes.length <= PARSED_HERE) {
    const text = bytes.toString()
    return (kind === 'results' ? parseDbtResults(text) : parseDbtManifest(text)) as T[]
  }
  const workerData: DbtFile = { kind, bytes }
  const thread = new Worker(new URL(`./dbt-results-thread${import.meta.url.slice(-3)}`, import.meta.url), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  })
  const timer = setTimeout(() => void thread.terminate(), PARSE_MS)
  try {
    return await new Promise<T[]>((resolve) => {
      thread.once('message', (found: T[]) => resolve(found))
      // Out of memory, or of time: as if the file were broken.
      thread.once('error', () => resolve([]))
      thread.once('exit', () => resolve([]))
    })
  } finally {
    clearTimeout(timer)
    await thread.terminate()
  }
}
