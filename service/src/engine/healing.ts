// Hands requests for healing to whoever does it, and frees the causes of proposals that nobody decides about. Any number of
// servers do this at once.
import type { App } from '../app/context.ts'
import { freeForgotten, startNextHealing } from '../app/healing.ts'
import type { Healer } from '../ports/healer.ts'
import type { Periodic } from './periodic.ts'
import { PutOff } from './put-off.ts'

export function healingStarter(app: App, healer: Healer): Periodic {
  const putOff = new PutOff()
  const failed = new Set<number>()
  return {
    name: 'healing',
    everyMs: 2000,
    runOnce: async () => {
      for (;;) {
        let inHand: number | null = null
        const watched: Healer = {
          start: (task) => {
            inHand = task.id
            return healer.start(task)
          },
        }
        // One whose start fails stands in no other's way; it is asked about again, later each time.
        const now = performance.now()
        const except = [...failed].filter((id) => putOff.isOff(id, now))
        try {
          const started = await startNextHealing(app, watched, except)
          if (started === null) return
          putOff.remove(started.id)
          failed.delete(started.id)
        } catch (error) {
          if (inHand === null) throw error
          app.log.warn({ err: error, request: inHand }, 'healing could not be started; it will be tried again')
          putOff.add(inHand, performance.now())
          failed.add(inHand)
        }
      }
    },
  }
}

export const healingKeeper = (app: App): Periodic => ({
  name: 'proposed healings',
  everyMs: 600_000,
  runOnce: async () => {
    const freed = await freeForgotten(app)
    if (freed > 0) app.log.info({ freed }, 'proposals that nobody decided about do not keep their causes any more')
  },
})
