// Ends the runs of workers that are gone. On the same host a dead process is known at once; anywhere else a lease that
// ran out says it. Nothing is ever started again: a lost run ends as FAILED (or CANCELED, when that was asked for), and
// the next one of its schedule gets its turn. Any number of processes may do this at once.
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { mutate } from '../app/mutate.ts'
import { finishRun, releaseStuck } from '../app/runs.ts'
import type { HostProcesses } from '../ports/host-processes.ts'
import * as holds from '../store/run-hold.ts'
import * as runs from '../store/runs.ts'
import type { Periodic } from './periodic.ts'
import { WORKER_LOST } from './worker/stop-run.ts'
import { removeDeadFolders, type WorkPlace } from './worker/work-folder.ts'

export interface ReaperDeps {
  readonly host: HostProcesses
  /** The lease of the workers: also how long nothing is taken for lost after the database itself started. */
  readonly leaseMs: number
  /** Where workers of this host keep the folders of runs; null where none do. */
  readonly place: WorkPlace | null
  readonly everyMs?: number
}

const PAGE = 100

export function reaper(app: App, deps: ReaperDeps): Periodic {
  let first = true
  return {
    name: 'reaper',
    everyMs: deps.everyMs ?? 2000,
    runOnce: async () => {
      const lost = (await endDead(app, deps)) + (await endExpired(app, deps))
      if (lost > 0) app.log.warn({ runs: lost }, 'runs of lost workers were ended as failed')
      for (const group of await runs.listStuckGroups(app.db)) {
        await mutate(systemContext(app, 'reaper'), (unit) => releaseStuck(unit, group))
      }
      if (deps.place !== null && (first || lost > 0)) {
        const removed = await removeDeadFolders(app.db, deps.place)
        if (removed > 0) app.log.info({ folders: removed }, 'folders of runs that are over were removed')
      }
      first = false
    },
  }
}

/** Runs of processes of this host that are known to be dead. */
async function endDead(app: App, { host }: ReaperDeps): Promise<number> {
  let ended = 0
  for (const workerId of await holds.listHolders(app.db)) {
    if (!(await host.isDead(workerId))) continue
    for (const run of await holds.listHeldBy(app.db, workerId)) ended += await end(app, run, 'always')
  }
  return ended
}

async function endExpired(app: App, { leaseMs }: ReaperDeps): Promise<number> {
  let ended = 0
  let after: holds.ExpiredRun | null = null
  for (;;) {
    const page: holds.ExpiredRun[] = await holds.listExpired(app.db, { quietMs: leaseMs, after, limit: PAGE })
    for (const run of page) ended += await end(app, run, 'lease expired')
    if (page.length < PAGE) return ended
    after = page.at(-1)!
  }
}

/** One that cannot be ended stands in no other's way. */
async function end(app: App, run: holds.Claim, when: 'always' | 'lease expired'): Promise<number> {
  const outcome = { kind: 'failed', detail: WORKER_LOST } as const
  try {
    const state = await mutate(systemContext(app, 'reaper'), (unit) =>
      finishRun(unit, run.runId, run.attempt, outcome, when),
    )
    return state === null ? 0 : 1
  } catch (error) {
    app.log.error({ err: error, run: run.runId }, 'a lost run could not be ended; it will be tried again')
    return 0
  }
}
