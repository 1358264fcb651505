// Before the commands of a run that defers: what the deferred schedule built last, in a folder of the checkout.
import { join } from 'node:path'
import { DEFERRED_FILES, deferralOf, STATE_FOLDER, schemaPrefixOf } from '../../domain/dbt-deferral.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import * as artifacts from '../../store/artifacts.ts'
import type { Db } from '../../store/database.ts'
import type { RunFacts } from '../../store/run-facts.ts'
import { writeFile } from './beneath.ts'
import type { DeferredTo, RunExtras, RunFolders } from './ports.ts'

export const runExtras =
  (db: Db, blobs: BlobStore): RunExtras =>
  async (facts, folders) => ({
    deferredTo: await layState(db, blobs, facts, folders),
    schemaPrefix: schemaPrefixOf(facts.prNumber),
  })

async function layState(db: Db, blobs: BlobStore, facts: RunFacts, folders: RunFolders): Promise<DeferredTo | null> {
  const deferral = deferralOf(facts)
  if (deferral === null) return null
  const { workspaceId, workspaceUid } = facts
  const slug = deferral.slug ?? facts.scheduleSlug
  const missing = { schedule: slug, runId: null, folder: null }
  const { successfulRunOnly } = deferral
  const found = await artifacts.findDeferred(db, { workspaceId, slug, successfulRunOnly, before: facts.runId })
  if (found === null) return missing
  const target = found.path.slice(0, found.path.lastIndexOf('/') + 1)
  let laid = false
  for (const file of await artifacts.listNamed(db, workspaceId, found.commandId, DEFERRED_FILES)) {
    const name = file.path.slice(target.length)
    if (!file.path.startsWith(target) || name.includes('/')) continue
    const content = await blobs.get(workspaceUid, file.sha256)
    if (content === null) continue
    await writeFile(folders.checkout, Buffer.from(`${STATE_FOLDER}/${name}`), content)
    laid ||= name === 'manifest.json'
  }
  return laid ? { schedule: slug, runId: found.runId, folder: join(folders.checkout, STATE_FOLDER) } : missing
}
