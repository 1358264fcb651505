// Looks at the files of every workspace every ten minutes, and at those of one when somebody asks. Any number of servers
// may do it at once (app/schedule-sync.ts).
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import type { SyncOptions } from '../app/schedule-sync.ts'
import { syncScheduleFiles } from '../app/schedule-sync.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import * as due from '../store/due-schedules.ts'
import type { QueueService } from '../store/queue.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Service } from './periodic.ts'
import { startPeriodic } from './periodic.ts'

export type SyncPorts = Pick<SyncOptions, 'source' | 'names'>

const EVERY_MS = 600_000
const MAY_BE_MS = 30_000
const PATIENCE_MS = 60_000
/** A git host that does not answer holds up so many others at most. */
const AT_ONCE = 4

export async function startScheduleSync(app: App, queue: QueueService, ports: SyncPorts): Promise<Service> {
  const stopping = new AbortController()
  const { signal } = stopping
  await queue.work('schedule-files', async (data) => {
    const { workspaceId } = data as { workspaceId: number }
    const workspace = (await workspaces.list(app.db, [workspaceId]))[0]
    if (workspace !== undefined)
      await syncOne(app, workspace, { ...ports, mayBeMs: 0, patienceMs: PATIENCE_MS, signal })
  })
  const loop = startPeriodic(app.log, {
    name: 'schedule files',
    everyMs: EVERY_MS,
    runOnce: () => syncAll(app, { ...ports, mayBeMs: MAY_BE_MS, patienceMs: PATIENCE_MS, signal }),
  })
  return {
    stop: async () => {
      stopping.abort()
      await loop.stop()
    },
  }
}

/** One workspace that fails does not keep the others from theirs. */
export async function syncAll(app: App, options: SyncOptions): Promise<void> {
  if (!(await due.isSchedulingOn(app.db))) return
  const waiting = await workspaces.list(app.db, 'all')
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !options.signal.aborted; next = waiting.shift()) {
      const workspace = next
      await syncOne(app, workspace, options).catch((error: unknown) => {
        app.log.warn({ err: error, workspace: workspace.uid }, 'the schedule files of a workspace could not be synced')
      })
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function syncOne(app: App, workspace: WorkspaceRef, options: SyncOptions): Promise<void> {
  const outcome = await syncScheduleFiles(systemContext(app, 'schedule files', workspace), options)
  if (outcome.kind === 'unread') app.log.warn({ workspace: workspace.uid }, outcome.warning)
  if (outcome.kind !== 'synced') return
  const { created, restored, changed, removed, plan } = outcome.changes
  const faults = plan.findings.filter((one) => one.severity === 'fault').length
  const counts = {
    created: created.length,
    restored: restored.length,
    changed: changed.length,
    removed: removed.length,
  }
  app.log.info({ workspace: workspace.uid, commit: outcome.commit, ...counts, faults }, 'schedule files were synced')
}
