// The files of a run's commands, for whoever executes it: found, kept, given to later commands, read as dbt's results.

import { mkdir } from 'node:fs/promises'
import { keepFile } from '../../app/artifacts.ts'
import type { App } from '../../app/context.ts'
import { readDbtResults } from '../../app/dbt-results.ts'
import { DEFAULT_EXCLUDED } from '../../domain/file-pattern.ts'
import type { BlobStore } from '../../ports/blob-store.ts'
import type { ArtifactOwner } from '../../store/artifacts.ts'
import * as artifacts from '../../store/artifacts.ts'
import { openFile, writeFile } from './beneath.ts'
import type { CollectedFile, Snapshot } from './collect-artifacts.ts'
import { collect, MOST_BYTES, MOST_FILES, snapshot } from './collect-artifacts.ts'
import { persist } from './persist.ts'
import type { CollectRequest, RunFiles } from './ports.ts'
import { indexSecrets, redactText } from './redactor.ts'
import { restoreState } from './restore-state.ts'

const AT_ONCE = 8

export function runFiles(
  app: Pick<App, 'db' | 'log'>,
  blobs: BlobStore,
  most: { readonly files: number; readonly bytes: number } = { files: MOST_FILES, bytes: MOST_BYTES },
): RunFiles {
  const { db, log } = app

  const keep = async (of: ArtifactOwner, request: CollectRequest, file: CollectedFile): Promise<string | null> => {
    const { resources, signal } = request
    let open = file.open
    if (file.listed) {
      // For later commands, and from there into the store: the copy is not changed by a child that is still at work.
      const content = await file.open()
      if (content === null) return 'changed while it was being kept'
      const path = Buffer.from(file.path)
      await writeFile(resources, path, content)
      open = async () => (await openFile(resources, path)).createReadStream()
    }
    const wanted = { path: file.path, listed: file.listed, open }
    const kept = await persist(() => keepFile(db, blobs, of, wanted, signal), signal)
    return kept === 'gone' ? 'changed while it was being kept' : kept === 'lost' ? 'the run was given up' : null
  }

  return {
    snapshot: (checkout, excluded) => snapshot(checkout, excluded ?? DEFAULT_EXCLUDED),
    collect: async (before, request) => {
      const { facts, command, checkout, excluded, secrets } = request
      const { workspaceId, workspaceUid, runId, attempt } = facts
      const of: ArtifactOwner = { workspaceId, workspaceUid, runId, attempt, commandId: command.id }
      const used = await persist(() => artifacts.usage(db, runId), request.signal)
      const { files, notes } = await collect(checkout, before as Snapshot, {
        excluded: excluded ?? DEFAULT_EXCLUDED,
        maxFiles: Math.max(0, most.files - used.files),
        maxBytes: Math.max(0, most.bytes - used.bytes),
      })
      const failed: string[] = []
      if (files.length > 0) await mkdir(request.resources, { recursive: true, mode: 0o755 })
      const queue = files.values()
      const work = async (): Promise<void> => {
        for (const file of queue) {
          request.signal.throwIfAborted()
          const why = await keep(of, request, file)
          if (why !== null) failed.push(`${JSON.stringify(file.path)} was not kept: ${why}.`)
        }
      }
      // Most of the time goes into waiting for disks.
      await Promise.all(Array.from({ length: AT_ONCE }, work))
      // Rows are a view of what is kept already: that they could not be made changes nothing for the command.
      const index = indexSecrets(secrets)
      const mask = (text: string): string => redactText(index, text)
      await persist(() => readDbtResults(db, blobs, of, mask), request.signal).catch((error: unknown) => {
        log.warn({ err: error, runId, commandId: command.id }, "dbt's results could not be read")
      })
      return [...notes, ...failed.slice(0, 10)]
    },
    putBack: async (stateFrom, { facts, checkout }) => {
      const { workspaceId, workspaceUid } = facts
      await restoreState(db, blobs, { workspaceId, workspaceUid, commandId: stateFrom }, checkout)
    },
  }
}
