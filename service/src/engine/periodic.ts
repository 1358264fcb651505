import type { Log } from '../ports/runtime.ts'

export interface Service {
  /** Waits for the work under way. Safe to call twice. */
  stop(): Promise<void>
}

export interface Periodic {
  readonly name: string
  readonly everyMs: number
  runOnce(): Promise<void>
}

/** The loop owns time, `runOnce` owns work: once at the start, then after each pause; a failure is logged and goes by. */
export function startPeriodic(log: Log, task: Periodic): Service {
  const stopping = new AbortController()
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await task.runOnce()
      } catch (error) {
        log.warn({ err: error, task: task.name }, 'a periodic task failed; it will run again')
      }
      await pause(task.everyMs, stopping.signal)
    }
  })()
  return {
    stop: async () => {
      stopping.abort()
      await loop
    },
  }
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
