// Keeps the leases of the sessions that a worker holds. A lease that cannot be renewed runs out, and then somebody else
// may take the session: so the work on it is stopped before that. Time is counted by a clock that nobody can set, from the
// beginning of the last renewal that went well.
import type { App } from '../../app/context.ts'
import * as holds from '../../store/agent-hold.ts'
import { startPeriodic } from '../periodic.ts'
import type { LeaseTimes } from '../worker/lease-keeper.ts'
import { monotonicMs as realMonotonicMs } from '../worker/lease-keeper.ts'

export interface SessionLeases {
  /** `since` is `monotonicMs()` before its lease was last written. */
  hold(session: { readonly sessionId: string; readonly attempt: number; readonly since: number }): void
  release(sessionId: string): void
  stop(): void
}

export interface SessionLeaseOptions extends LeaseTimes {
  readonly workerId: string
  onLost(sessionId: string, kind: 'lost' | 'fenced'): void
  readonly monotonicMs?: () => number
}

export function startSessionLeases(app: App, options: SessionLeaseOptions): SessionLeases {
  const { leaseMs, beatMs, fenceMs, workerId, monotonicMs = realMonotonicMs } = options
  const held = new Map<string, { readonly attempt: number; since: number }>()

  const beat = async (): Promise<void> => {
    if (held.size === 0) return
    const began = monotonicMs()
    const asked = [...held].map(([sessionId, { attempt }]) => ({ sessionId, attempt }))
    const kept = await holds.renew(app.db, workerId, asked, leaseMs)
    for (const { sessionId, attempt } of asked) {
      const one = held.get(sessionId)
      // Released meanwhile, or taken anew.
      if (one?.attempt !== attempt) continue
      if (kept.has(sessionId)) one.since = Math.max(one.since, began)
      else lose(sessionId, 'lost')
    }
  }
  const lose = (sessionId: string, kind: 'lost' | 'fenced'): void => {
    held.delete(sessionId)
    options.onLost(sessionId, kind)
  }
  // The database may take long to answer: the fence does not wait for it.
  const fence = setInterval(
    () => {
      const now = monotonicMs()
      for (const [sessionId, { since }] of held) if (now - since >= fenceMs) lose(sessionId, 'fenced')
    },
    Math.min(500, fenceMs / 20),
  )
  fence.unref()
  const beats = startPeriodic(app.log, { name: 'leases of sessions', everyMs: beatMs, runOnce: beat })
  return {
    hold: ({ sessionId, attempt, since }) => void held.set(sessionId, { attempt, since }),
    release: (sessionId) => void held.delete(sessionId),
    stop: () => {
      clearInterval(fence)
      void beats.stop()
    },
  }
}
