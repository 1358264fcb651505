// dbt's own results of a run, as rows.
import { buffer } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { DBT_FILES, type DbtNode, parseDbtResults } from '../domain/dbt-results.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { ArtifactOwner } from '../store/artifacts.ts'
import * as artifacts from '../store/artifacts.ts'
import type { Db } from '../store/database.ts'
import type { DbtResult } from '../store/dbt-results.ts'
import * as results from '../store/dbt-results.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

export type { DbtResult } from '../store/dbt-results.ts'

export const listDbtResults = (ctx: Context, runId: number): Promise<DbtResult[]> =>
  results.list(ctx.db, workspaceOf(ctx).id, runId)

/** A larger file is not read. */
const MOST_BYTES = 64 * 1024 * 1024
/** Parsing more than this would hold up everybody else in the process for too long. */
const PARSED_HERE = 512 * 1024
const PARSE_MS = 30_000

/**
 * Reads what a command left of dbt's results into rows. Files that are broken or too large leave none.
 * @param redact takes secrets out of a message
 */
export async function readDbtResults(
  db: Db,
  blobs: BlobStore,
  of: ArtifactOwner,
  redact: (text: string) => string,
): Promise<number> {
  let total = 0
  for (const file of await artifacts.listNamed(db, of.workspaceId, of.commandId, DBT_FILES)) {
    if (file.size > MOST_BYTES) continue
    const content = await blobs.get(of.workspaceUid, file.sha256)
    if (content === null) continue
    const nodes = await parse(await buffer(content))
    await results.insert(
      db,
      of,
      nodes.map((node) => ({ ...node, message: redact(node.message) })),
    )
    total += nodes.length
  }
  return total
}

async function parse(bytes: Buffer): Promise<DbtNode[]> {
  if (bytes.length <= PARSED_HERE) return parseDbtResults(bytes.toString())
  const thread = new Worker(new URL(`./dbt-results-thread${import.meta.url.slice(-3)}`, import.meta.url), {
    workerData: bytes,
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  })
  const timer = setTimeout(() => void thread.terminate(), PARSE_MS)
  try {
    return await new Promise<DbtNode[]>((resolve) => {
      thread.once('message', (nodes: DbtNode[]) => resolve(nodes))
      // Out of memory, or of time: as if the file were broken.
      thread.once('error', () => resolve([]))
      thread.once('exit', () => resolve([]))
    })
  } finally {
    clearTimeout(timer)
    await thread.terminate()
  }
}
