// A periodic task that is also woken: by a job of the queue, which tells that something is there, so that nobody waits
// for the next look. Many wakes while it works are one more look.
import type { Log } from '../ports/runtime.ts'
import type { Periodic, Service } from './periodic.ts'

export interface Wakeable extends Periodic {
  /** Something else that makes it worth to look again, such as room for more. Made anew before each pause. */
  sooner?(): Promise<void> | null
}

export interface WakeableService extends Service {
  wake(): void
}

export function startWakeable(log: Log, task: Wakeable): WakeableService {
  let stopped = false
  let isWoken = false
  let rouse: () => void = () => {}
  const loop = (async () => {
    while (!stopped) {
      isWoken = false
      try {
        await task.runOnce()
      } catch (error) {
        log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again')
      }
      if (stopped || isWoken) continue
      const woken = Promise.withResolvers<void>()
      rouse = woken.resolve
      const timer = setTimeout(woken.resolve, task.everyMs)
      task.sooner?.()?.then(woken.resolve, woken.resolve)
      await woken.promise
      clearTimeout(timer)
    }
  })()
  const wake = (): void => {
    isWoken = true
    rouse()
  }
  return {
    wake,
    stop: async () => {
      stopped = true
      wake()
      await loop
    },
  }
}
