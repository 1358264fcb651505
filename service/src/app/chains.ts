// Runs of children: a schedule that waits for another one runs when that one's run ends as it wants, or is late. The
// child's run is made in the transaction that marks the event as handled, so a parent's run starts each child once,
// whoever dies in between. The child takes its own branch, as if its own time had come. A run of a pull request starts no
// child: what is only proposed must not set off what is in use.

import { followedBy } from '../domain/chain.ts'
import { CAUSE_ACTORS } from '../domain/run.ts'
import { planCommands } from '../domain/run-plan.ts'
import * as children from '../store/schedule-children.ts'
import type { App } from './context.ts'
import type { RunEventHandler } from './run-events.ts'
import { createRun } from './runs.ts'

export const chainHandler = (app: App): RunEventHandler => ({
  name: 'chains',
  handle: async (unit, event) => {
    const outcome = followedBy(event.kind, event.state)
    if (outcome === null || event.prNumber !== null) return
    // In the order of ids: whoever locks several schedules does it in that order.
    for (const { id, workspace } of await children.listFor(unit.db, event.scheduleId, outcome)) {
      const child = await children.lock(unit.db, id)
      // Between the look and the lock it may have been suspended, deleted or taken off its parent.
      if (!child.waitsFor(event.scheduleId, outcome)) continue
      const { id: runId } = await createRun(unit, {
        workspaceId: child.workspaceId,
        scheduleId: child.id,
        environmentId: child.environmentId,
        cause: 'parent',
        dueAt: null,
        actor: CAUSE_ACTORS.parent,
        actorEmail: '',
        reason: '',
        branch: child.branch,
        prNumber: null,
        parentRunId: event.runId,
        retryOf: null,
        commands: planCommands(child.commands, child.continueOnError),
        continueOnError: child.continueOnError,
        timeLimitSeconds: child.timeLimitSeconds,
      })
      unit.record('run_triggered', { run: runId, schedule: child.slug, parent_run: event.runId }, workspace)
      app.log.debug({ run: runId, parent: event.runId }, 'a run of a child schedule follows')
    }
  },
})
