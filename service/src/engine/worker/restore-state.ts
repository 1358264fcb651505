// Before a `dbt retry`: what the failed command left for it, back where it was.
import { DBT_STATE_FILES } from '../../domain/dbt-results.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import * as artifacts from '../../store/artifacts.ts'
import type { Db } from '../../store/database.ts'
import { writeFile } from './beneath.ts'

/**
 * Gives the paths that were written. The checkout is somebody's repository: a folder in it may be a link to anywhere, and
 * then nothing is written and it rejects.
 */
export async function restoreState(
  db: Db,
  blobs: BlobStore,
  of: { readonly workspaceId: number; readonly workspaceUid: string; readonly commandId: number },
  folder: string,
): Promise<string[]> {
  const files = await artifacts.listNamed(db, of.workspaceId, of.commandId, DBT_STATE_FILES)
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)
  const targets = new Set(
    files.filter((one) => /(^|\/)run_results\.json$/.test(one.path)).map((one) => folderOf(one.path)),
  )
  const written: string[] = []
  for (const file of files) {
    if (!targets.has(folderOf(file.path))) continue
    const content = await blobs.get(of.workspaceUid, file.sha256)
    if (content === null) continue
    await writeFile(folder, Buffer.from(file.path), content)
    written.push(file.path)
  }
  return written
}
