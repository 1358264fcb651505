// After a failed run somebody may be asked to mend it. The request is a row, written with the other things that follow
// from the end of the run; engine/healing.ts hands it over.
import { followedBy } from '../domain/chain.ts'
import { causeOf } from '../domain/healing.ts'
import type { Healer } from '../ports/healer.ts'
import * as healing from '../store/healing.ts'
import type { App } from './context.ts'
import type { Unit } from './mutate.ts'
import type { RunEvent, RunEventHandler } from './run-events.ts'
import { readRunReport } from './run-report.ts'

/** With no healer the request is kept all the same, with the reason why nobody was asked. */
export const selfHealingHandler = (app: App, healer: Healer | null): RunEventHandler => ({
  name: 'self-healing',
  handle: async (unit, event) => {
    if (followedBy(event.kind, event.state) !== 'failed') return
    // What a mend was tried with failed too: asking again would go round in a circle.
    if (event.cause === 'self_healing') return
    const { selfHealing, agents } = await healing.readSettings(unit.db, event.workspaceId, event.scheduleId)
    if (selfHealing === null || !selfHealing.enabled) return
    const id = await healing.insert(unit.db, {
      workspaceId: event.workspaceId,
      scheduleId: event.scheduleId,
      runId: event.runId,
      cause: causeOf(await readRunReport(app, unit.db, event)),
      agent: selfHealing.agentName ?? '',
      slackChannel: selfHealing.slackChannel ?? '',
      refused: refusal(healer, agents),
    })
    app.log.info(about(event, id), id === null ? 'the cause is being worked on already' : 'healing is asked for')
  },
})

const about = (event: RunEvent, request: number | null): object => ({
  run: event.runId,
  schedule: event.scheduleSlug,
  ...(request !== null && { request }),
})

function refusal(healer: Healer | null, agents: boolean): string | null {
  if (healer === null) return 'No agents are set up on this service.'
  return agents ? null : 'Agents are switched off for this workspace.'
}

/** Hands the next request over; false when none waits. It is asked about once, by whoever holds the row. */
export async function startNextHealing(
  unit: Unit,
  healer: Healer,
  except: readonly number[],
): Promise<{ readonly id: number } | null> {
  const next = await healing.claim(unit.db, except)
  if (next === null) return null
  const thread = await healing.findThread(unit.db, next.workspaceId, next.runId)
  const named = next.slackChannel === '' ? null : { channel: next.slackChannel, threadTs: null }
  const answer = await healer.start({
    id: next.id,
    workspaceId: next.workspaceId,
    scheduleId: next.scheduleId,
    runId: next.runId,
    agent: next.agent,
    slack: thread ?? named,
  })
  await healing.move(
    unit.db,
    next.id,
    answer.kind === 'started'
      ? { state: 'started', session: answer.session }
      : { state: 'refused', reason: answer.reason },
  )
  return next
}

/** The session is over and its pull request is open: the cause stays taken, the schedule is free. */
export const healingProposed = (unit: Unit, id: number, pullRequest: string): Promise<boolean> =>
  healing.move(unit.db, id, { state: 'proposed', reason: pullRequest })

/** The session is over without a pull request, or the pull request is closed. */
export const healingEnded = (unit: Unit, id: number, reason: string): Promise<boolean> =>
  healing.move(unit.db, id, { state: 'ended', reason })
