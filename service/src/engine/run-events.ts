// Handles what happened to runs, one event after the other, and finds out which runs are late. Any number of servers do
// this at once.
import type { App } from '../app/context.ts'
import type { RunEventHandler } from '../app/run-events.ts'
import { announceLate, handleNextEvent } from '../app/run-events.ts'
import type { QueueService } from '../store/queue.ts'
import type { Periodic, Service } from './periodic.ts'
import { startPeriodic } from './periodic.ts'
import { startWakeable } from './wakeable.ts'

export function runEvents(app: App, handlers: readonly RunEventHandler[]): Periodic {
  return {
    name: 'run events',
    everyMs: 1000,
    runOnce: async () => {
      while (await handleNextEvent(app, handlers)) {
        // Until none is due.
      }
    },
  }
}

/** Tells of runs that are still going past their deadline. Reads only what is late. */
export function deadlines(app: App, now?: () => Date): Periodic {
  return {
    name: 'deadlines',
    everyMs: 1000,
    runOnce: async () => {
      const late = await announceLate(app, now?.())
      if (late > 0) app.log.info({ runs: late }, 'runs are past their deadline')
    },
  }
}

export async function startRunEvents(
  app: App,
  queue: QueueService,
  handlers: readonly RunEventHandler[],
): Promise<Service> {
  const loop = startWakeable(app.log, runEvents(app, handlers))
  const watch = startPeriodic(app.log, deadlines(app))
  await queue.work('run-event', async () => loop.wake())
  return {
    stop: async () => {
      await watch.stop()
      await loop.stop()
    },
  }
}
