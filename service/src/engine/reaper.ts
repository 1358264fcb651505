// Ends the runs of workers that are gone, and those that no worker takes. On the same host a dead process is known at
// once; anywhere else a lease that ran out says it (lease-watch.ts). Nothing is ever started again: a lost run ends as
// FAILED (or CANCELED, when that was asked for), and the next one of its schedule gets its turn. Any number of processes
// may do this at once.
import { setTimeout as delay } from 'node:timers/promises'
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { mutate } from '../app/mutate.ts'
import { finishRun, releaseStuck } from '../app/runs.ts'
import type { RunOutcome } from '../domain/run.ts'
import { whyUntaken } from '../domain/run.ts'
import type { HostProcesses } from '../ports/host-processes.ts'
import { isUnavailable } from '../store/database.ts'
import * as holds from '../store/run-hold.ts'
import * as runs from '../store/runs.ts'
import { LeaseWatch, UptimeWatch } from './lease-watch.ts'
import type { Periodic } from './periodic.ts'
import { PutOff } from './put-off.ts'
import { monotonicMs as realMonotonicMs } from './worker/lease-keeper.ts'
import { WORKER_LOST } from './worker/stop-run.ts'
import { removeDeadFolders, type WorkPlace } from './worker/work-folder.ts'

export interface ReaperDeps {
  readonly host: HostProcesses
  /** The lease of the workers: also how long nothing is taken for lost after the database itself started. */
  readonly leaseMs: number
  /** For tests, where the database has just started. */
  readonly quietMs?: number
  /** How long a run whose turn came may wait for somebody who takes it. */
  readonly waitLimitSeconds?: number
  /** Where workers of this host keep the folders of runs; null where none do. */
  readonly place: WorkPlace | null
  readonly everyMs?: number
  readonly monotonicMs?: () => number
}

const PAGE = 100
const DYING_MS = 500
/** Half a second or so: then a look ends, and what it did not come to has its turn at the next one. */
const MOST_FAILURES = 100
const DAY = 86_400

export function reaper(app: App, deps: ReaperDeps): Periodic {
  let first = true
  const endAll = ender(app, deps)
  const endExpired = expiredEnder(app, deps, endAll)
  return {
    name: 'reaper',
    everyMs: deps.everyMs ?? 2000,
    runOnce: async () => {
      const lost = (await endDead(app, deps, endAll)) + (await endExpired())
      if (lost > 0) app.log.warn({ runs: lost }, 'runs of lost workers were ended as failed')
      await endUntaken(app, deps, endAll)
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

/**
 * Runs of processes of this host that are known to be dead. Their commands die with them, by the kernel's hand and one
 * after the other: on a busy machine some were seen 20 ms later, and when a run is final nothing of it may be alive.
 */
async function endDead(app: App, { host }: ReaperDeps, endAll: EndAll): Promise<number> {
  const dead: string[] = []
  for (const workerId of await holds.listHolders(app.db)) if (await host.isDead(workerId)) dead.push(workerId)
  if (dead.length === 0) return 0
  await delay(DYING_MS)
  let ended = 0
  for (const workerId of dead) ended += await endAll(await holds.listHeldBy(app.db, workerId), () => LOST)
  return ended
}

/** Silent for one lease after the start of the database: workers that are alive get that long to renew. */
function expiredEnder(
  app: App,
  { leaseMs, quietMs = leaseMs, monotonicMs = realMonotonicMs }: ReaperDeps,
  endAll: EndAll,
) {
  const leases = new LeaseWatch(leaseMs)
  const uptime = new UptimeWatch()
  return async (): Promise<number> => {
    const isQuiet = uptime.look(await holds.readStart(app.db), monotonicMs()) < quietMs
    const held = await listAll<holds.HeldLease>((after) => holds.listLeases(app.db, { after, limit: PAGE }))
    const over = leases.look(held, monotonicMs())
    // The newest first: old ones may be there because they cannot be ended.
    return isQuiet
      ? 0
      : await endAll(
          over.reverse(),
          () => LOST,
          (lease) => lease,
        )
  }
}

async function endUntaken(app: App, { waitLimitSeconds = DAY }: ReaperDeps, endAll: EndAll): Promise<void> {
  const untaken = await listAll<holds.UntakenRun>((after) =>
    holds.listUntaken(app.db, { limitSeconds: waitLimitSeconds, after: after?.runId ?? 0, limit: PAGE }),
  )
  const ended = await endAll(untaken, ({ missingLabels }) => ({
    kind: 'failed',
    detail: `nobody took it within ${waitLimitSeconds} seconds: ${whyUntaken(missingLabels)}`,
  }))
  if (ended > 0) app.log.warn({ runs: ended }, 'runs that no worker took were ended as failed')
}

async function listAll<T>(read: (after: T | null) => Promise<T[]>): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const page = await read(all.at(-1) ?? null)
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

const LOST: RunOutcome = { kind: 'failed', detail: WORKER_LOST }

type EndAll = <T extends holds.Claim>(
  of: readonly T[],
  outcomeOf: (run: T) => RunOutcome,
  when?: (run: T) => 'always' | holds.HeldLease,
) => Promise<number>

/** Gives how many it ended. One that cannot be ended stands in no other's way, and is not tried at every look. */
function ender(app: App, { monotonicMs = realMonotonicMs }: ReaperDeps): EndAll {
  const putOff = new PutOff()
  return async (of, outcomeOf, when = () => 'always') => {
    let [ended, failed] = [0, 0]
    for (const run of of) {
      if (putOff.isOff(run.runId, monotonicMs())) continue
      if (failed === MOST_FAILURES) break
      try {
        const state = await mutate(systemContext(app, 'reaper'), (unit) =>
          finishRun(unit, run.runId, run.attempt, outcomeOf(run), when(run)),
        )
        putOff.remove(run.runId)
        if (state !== null) ended++
      } catch (error) {
        failed++
        if (!isUnavailable(error)) putOff.add(run.runId, monotonicMs())
        app.log.error({ err: error, run: run.runId }, 'a run could not be ended; it will be tried again')
      }
    }
    return ended
  }
}
