// Takes sessions of agents as far as it has slots, holds them by their rows, and works on them (held-session.ts).
//
// A job of the queue says which session has something to do; it is taken in the transaction that completes the job. Every
// worker looks by itself as well: after each session that it is done with, at each notice, and once a second. So a lost
// job, a lost notice or a crash in between costs a second and never a session. What it holds is asked of the database
// once a second too, and at each notice of an end: what is not its own any more is stopped in the middle.
import type { App } from '../../app/context.ts'
import type { HostProcesses } from '../../ports/host-processes.ts'
import type { Log } from '../../ports/runtime.ts'
import * as holds from '../../store/agent-hold.ts'
import { listenForSessions } from '../../store/agent-signals.ts'
import type { Connection } from '../../store/connection.ts'
import type { JobTransaction, QueueService } from '../../store/queue.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { startPeriodic } from '../periodic.ts'
import { leaseTimes } from '../worker/lease-keeper.ts'
import { HeldSession } from './held-session.ts'
import type { TurnPorts, TurnSettings } from './ports.ts'
import { startSessionLeases } from './session-leases.ts'

export interface AgentWorkerDeps {
  readonly queue: QueueService
  /** For the listener, outside the pool. */
  readonly connection: Connection
  readonly host: HostProcesses
  readonly slots: number
  readonly ports: TurnPorts
  readonly settings: TurnSettings
  readonly leaseMs: number
  readonly pollMs?: number
  /** How long a stop waits for the records that are being made; what is not there by then is left to another worker. */
  readonly drainMs: number
  readonly log: Log
}

export interface AgentWorker {
  readonly going: number
  /** Takes nothing new and gives its sessions back, each after the record that is being made. Safe to call twice. */
  stop(): Promise<void>
}

/** After tools and models were told to stop. */
const LAST_MS = 10_000

interface Going {
  readonly session: HeldSession
  readonly done: Promise<void>
  isBegun: boolean
}

export async function startAgentWorker(app: App, deps: AgentWorkerDeps): Promise<AgentWorker> {
  const { log, host, slots, leaseMs } = deps
  const claimer: holds.Claimer = { workerId: host.self, leaseMs }
  const going = new Map<string, Going>()
  let stopping = false
  /** Slots promised to statements under way. */
  let promised = 0

  const leases = startSessionLeases(app, {
    ...leaseTimes(leaseMs),
    workerId: host.self,
    onLost: (sessionId, kind) => {
      log.warn({ session: sessionId, why: kind }, 'a session is not held any more; the work on it is stopped')
      going.get(sessionId)?.session.halt(kind)
    },
  })

  const free = (): number => (stopping ? 0 : slots - going.size - promised)

  const take = ({ sessionId, workspaceId, attempt }: holds.Claim): void => {
    if (going.has(sessionId)) return
    const onBegun = (since: number): void => {
      entry.isBegun = true
      leases.hold({ sessionId, attempt, since })
    }
    const own = { ...deps, onBegun, isLeaving: () => stopping }
    const session = new HeldSession(app, own, { sessionId, workspaceId, attempt, workerId: host.self })
    const done = Promise.resolve()
      .then(() => session.run())
      .then((end) => {
        leases.release(sessionId)
        going.delete(sessionId)
        log.info({ session: sessionId, attempt, end }, 'the work on a session is done for now')
        looker.now()
      })
    const entry: Going = { session, done, isBegun: false }
    going.set(sessionId, entry)
  }

  const onJob = async (data: unknown, tx: JobTransaction): Promise<void> => {
    const { sessionId } = data as { sessionId: string }
    if (free() < 1) return await holds.passOn(tx, sessionId)
    promised++
    try {
      const claim = await holds.claimByJob(tx, sessionId, claimer)
      // The work begins by locking the row, so it waits for this transaction and finds out whether it came to be.
      if (claim !== null) take(claim)
    } finally {
      promised--
    }
  }

  const look = async (): Promise<void> => {
    const count = free()
    if (count < 1) return
    promised += count
    try {
      for (const claim of await holds.claimWaiting(app.db, count, claimer)) take(claim)
    } finally {
      promised -= count
    }
  }

  /** Ends that came from elsewhere, and sessions whose taking succeeded although its answer was lost. */
  const check = async (): Promise<void> => {
    // Those that began before the question: what is being taken is not in the answer yet.
    const begun = [...going.values()].filter((one) => one.isBegun).map((one) => one.session)
    const held = new Map((await holds.listHeldBy(app.db, host.self)).map((one) => [one.sessionId, one]))
    for (const session of begun) {
      const found = held.get(session.hold.sessionId)
      if (found?.attempt !== session.hold.attempt) session.halt('lost')
      else if (found.stopRequested) session.halt('stopped')
    }
    if (!stopping) for (const claim of held.values()) take(claim)
  }

  const looker = oneAtATime(look, (error) =>
    log.warn({ err: error }, 'looking for sessions failed; it will be tried again'),
  )
  const checker = oneAtATime(check, (error) =>
    log.warn({ err: error }, 'asking which sessions are held failed; it will be tried again'),
  )
  const signals = listenForSessions(
    deps.connection,
    (signal) => {
      if (signal.kind === 'waiting') looker.now()
      else if (going.has(signal.sessionId)) checker.now()
    },
    (error) => log.warn({ err: error }, 'notices of sessions were cut off; listening again'),
  )
  const poll = startPeriodic(log, {
    name: 'agent worker',
    everyMs: deps.pollMs ?? 1000,
    runOnce: async () => {
      if (going.size > 0) checker.now()
      looker.now()
    },
  })
  const stopWatching = async (): Promise<void> => {
    await Promise.all([poll.stop(), signals.stop()])
    await Promise.all([looker.idle(), checker.idle()])
    leases.stop()
  }
  const jobs = await deps.queue.workTransactional('agent-turn', onJob).catch(async (error: unknown) => {
    stopping = true
    await stopWatching()
    throw error
  })
  // What this process took before it could tell anybody, such as a job whose commit was not answered.
  checker.now()

  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopping = true
    await jobs.stop().catch((error: unknown) => log.warn({ err: error }, 'the queue did not stop in time'))
    await looker.idle()
    if (!(await settled(going, deps.drainMs))) {
      for (const { session } of going.values()) session.halt('leaving')
      await settled(going, LAST_MS)
    }
    await stopWatching()
  }
  return {
    get going() {
      return going.size
    },
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

/** Waits until nothing is going; false when the time passed first. */
async function settled(going: ReadonlyMap<string, Going>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>()
  const timer = setTimeout(() => late.resolve(false), ms)
  const all = (async () => {
    while (going.size > 0) await Promise.all([...going.values()].map((one) => one.done))
    return true as const
  })()
  const result = await Promise.race([all, late.promise])
  clearTimeout(timer)
  return result
}
