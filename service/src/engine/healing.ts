// Hands requests for healing to whoever does it. Any number of servers do this at once.
import type { App } from '../app/context.ts'
import { systemContext } from '../app/context.ts'
import { startNextHealing } from '../app/healing.ts'
import { mutate } from '../app/mutate.ts'
import type { Healer } from '../ports/healer.ts'
import type { Periodic } from './periodic.ts'

export function healingStarter(app: App, healer: Healer): Periodic {
  return {
    name: 'healing',
    everyMs: 2000,
    runOnce: async () => {
      // One whose start fails stands in no other's way; it is asked about again the next time.
      const failed: number[] = []
      for (;;) {
        let inHand: number | null = null
        const watched: Healer = {
          start: (task) => {
            inHand = task.id
            return healer.start(task)
          },
        }
        try {
          const started = await mutate(systemContext(app, 'healing'), (unit) => startNextHealing(unit, watched, failed))
          if (started === null) return
        } catch (error) {
          if (inHand === null) throw error
          app.log.warn({ err: error, request: inHand }, 'healing could not be started; it will be tried again')
          failed.push(inHand)
        }
      }
    },
  }
}
