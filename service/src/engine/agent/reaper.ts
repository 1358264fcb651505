// Finds sessions whose worker is gone and gives them to another one, and sessions that nobody began in time. On the same
// host a dead process is known at once; anywhere else a lease that ran out says it (lease-watch.ts). What becomes of them
// is decided under their locks (app/agent-ends.ts), so any number of processes may do this at once.
import { setTimeout as delay } from 'node:timers/promises'
import { endUnstarted, loseWorker } from '../../app/agent-sessions.ts'
import type { App } from '../../app/context.ts'
import { systemContext } from '../../app/context.ts'
import { mutate } from '../../app/mutate.ts'
import { FIRST_TURN_WAIT_MS } from '../../domain/agent-session.ts'
import type { HostProcesses } from '../../ports/host-processes.ts'
import * as callers from '../../store/agent-callers.ts'
import * as holds from '../../store/agent-hold.ts'
import * as sessions from '../../store/agent-sessions.ts'
import { readStart } from '../../store/run-hold.ts'
import { LeaseWatch, UptimeWatch } from '../lease-watch.ts'
import type { Periodic } from '../periodic.ts'
import { monotonicMs as realMonotonicMs } from '../worker/lease-keeper.ts'
import { removeDeadCheckouts } from './checkout.ts'

export interface AgentReaperDeps {
  readonly host: HostProcesses
  /** Of the workers: also how long nothing is taken for lost after the database itself started. */
  readonly leaseMs: number
  /** For tests, where the database has just started. */
  readonly quietMs?: number
  /** Where workers of this host keep the folders of sessions; null where none do. */
  readonly place: string | null
  readonly everyMs?: number
  readonly monotonicMs?: () => number
}

const PAGE = 100
/** Commands of a dead worker die with it, by the kernel's hand; on a busy machine that takes a moment. */
const DYING_MS = 500
/** One whose end cannot be written stands in no other's way; it is tried at the next look. */
const MOST_WAITED = 100

export function agentReaper(app: App, deps: AgentReaperDeps): Periodic {
  const { host, leaseMs, quietMs = leaseMs, monotonicMs = realMonotonicMs } = deps
  const leases = new LeaseWatch(leaseMs)
  const uptime = new UptimeWatch()
  let first = true
  return {
    name: 'agent reaper',
    everyMs: deps.everyMs ?? 2000,
    runOnce: async () => {
      const held = await listAll(app)
      const dead = await heldByDead(host, held)
      const isQuiet = uptime.look(await readStart(app.db), monotonicMs()) < quietMs
      const over = leases.look(held, monotonicMs())
      if (dead.length > 0) await delay(DYING_MS)
      let lost = 0
      for (const one of dead) if (await lose(app, { ...one, leaseUntil: undefined })) lost++
      if (!isQuiet) for (const one of over) if (!dead.includes(one) && (await lose(app, one))) lost++
      await endLate(app)
      if (deps.place !== null && (first || lost > 0)) await clear(app, deps.place)
      first = false
    },
  }
}

async function heldByDead(host: HostProcesses, held: readonly holds.HeldLease[]): Promise<holds.HeldLease[]> {
  const dead = new Set<string>()
  for (const workerId of new Set(held.map((one) => one.workerId))) if (await host.isDead(workerId)) dead.add(workerId)
  return held.filter((one) => dead.has(one.workerId))
}

async function listAll(app: App): Promise<holds.HeldLease[]> {
  const all: holds.HeldLease[] = []
  for (;;) {
    const page = await holds.listLeases(app.db, { after: all.at(-1) ?? null, limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

type Lost = Omit<Parameters<typeof loseWorker>[1], 'leaseUntil'> & { readonly leaseUntil?: string | undefined }

async function lose(app: App, { leaseUntil, ...claim }: Lost): Promise<boolean> {
  try {
    const ctx = await contextOf(app, claim.workspaceId)
    const given = leaseUntil === undefined ? claim : { ...claim, leaseUntil }
    const became = await mutate(ctx, (unit) => loseWorker(unit, given))
    if (became !== null) app.log.warn({ session: claim.sessionId, became }, 'a session lost its worker')
    return became !== null
  } catch (error) {
    app.log.error(
      { err: error, session: claim.sessionId },
      'a session without a worker was not given on; it will be tried again',
    )
    return false
  }
}

async function endLate(app: App): Promise<void> {
  const minutes = FIRST_TURN_WAIT_MS / 60_000
  for (const one of await sessions.listWaitedLong(app.db, { minutes, limit: MOST_WAITED })) {
    try {
      const ctx = await contextOf(app, one.workspaceId)
      const status = await mutate(ctx, (unit) => endUnstarted(unit, one))
      if (status !== null) app.log.warn({ session: one.id, status }, 'a session that nobody began was ended')
    } catch (error) {
      app.log.error(
        { err: error, session: one.id },
        'a session that nobody began was not ended; it will be tried again',
      )
    }
  }
}

const contextOf = async (app: App, workspaceId: number) =>
  systemContext(app, 'agent', await callers.findWorkspace(app.db, workspaceId))

async function clear(app: App, place: string): Promise<void> {
  const held = new Set((await listAll(app)).map(({ sessionId, attempt }) => `${sessionId} ${attempt}`))
  const removed = await removeDeadCheckouts(place, (id, attempt) => held.has(`${id} ${attempt}`))
  if (removed > 0) app.log.info({ folders: removed }, 'folders of sessions that are not held were removed')
}
