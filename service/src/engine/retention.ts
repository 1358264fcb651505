// Takes away what is old enough, every hour: files, then runs, sessions of agents, then output by the day. Small batches with a pause
// between, so that nobody waits for it.
import { setTimeout as rest } from 'node:timers/promises'
import type { App } from '../app/context.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import * as logs from '../store/command-logs.ts'
import { inTransaction } from '../store/database.ts'
import * as deliveries from '../store/deliveries.ts'
import * as retention from '../store/retention.ts'
import type { Periodic } from './periodic.ts'

/** In days; 0 is for ever. Sessions of agents stay as long as runs. */
export interface RetentionDays {
  readonly runs: number
  readonly logs: number
  readonly files: number
  readonly deliveries: number
}

const BATCH = 500
const REST_MS = 20
const DAYS_AHEAD = 3

export function retentionTask(app: App, blobs: BlobStore, days: RetentionDays): Periodic {
  const { db, log } = app

  /** Until a batch is not full any more. */
  async function drain(work: () => Promise<number>): Promise<number> {
    for (let total = 0; ; ) {
      const done = await work()
      total += done
      if (done < BATCH) return total
      await rest(REST_MS)
    }
  }

  async function removeBytes(): Promise<number> {
    let removed = 0
    for (;;) {
      const unused = await retention.listUnused(db, BATCH)
      for (const one of unused) {
        // The bytes first: a crash between the two leaves a row that says what is still to do.
        if (!one.inUse) {
          await blobs.delete(one.workspaceUid, one.sha256)
          removed++
        }
        await retention.forgetFiles(db, one.ids)
      }
      if (unused.length < BATCH) return removed
      await rest(REST_MS)
    }
  }

  async function removeSessionFiles(): Promise<number> {
    let removed = 0
    for (;;) {
      const old = await retention.listFilesOfOldSessions(db, days.runs, BATCH)
      for (const one of old) {
        if (!one.inUse) {
          await blobs.delete(one.workspaceUid, one.sha256)
          removed++
        }
        await retention.forgetSessionFiles(db, one)
      }
      if (old.length < BATCH) return removed
      await rest(REST_MS)
    }
  }

  return {
    name: 'retention',
    everyMs: 3_600_000,
    runOnce: async () => {
      await logs.makeDays(db, DAYS_AHEAD)
      if (days.files > 0) await drain(() => retention.markOldFiles(db, days.files, BATCH))
      if (days.runs > 0) await drain(() => retention.markFilesOfOldRuns(db, days.runs, BATCH))
      const files = await removeBytes()
      const runs =
        days.runs === 0
          ? 0
          : await drain(() => inTransaction(db, (tx) => retention.deleteOldRuns(tx, days.runs, BATCH)))
      const sessionFiles = days.runs === 0 ? 0 : await removeSessionFiles()
      const sessions =
        days.runs === 0
          ? 0
          : await drain(() => inTransaction(db, (tx) => retention.deleteOldSessions(tx, days.runs, BATCH)))
      const sent = days.deliveries === 0 ? 0 : await drain(() => deliveries.deleteOld(db, days.deliveries, BATCH))
      const logDays = days.logs === 0 ? 0 : await logs.dropDays(db, await retention.dayBefore(db, days.logs))
      if (runs + files + sessionFiles + sessions + logDays + sent > 0) {
        log.info(
          { runs, files: files + sessionFiles, sessions, logDays, deliveries: sent },
          'old runs, sessions, files, output and deliveries were removed',
        )
      }
    },
  }
}
