// SIGINT, on which dbt cancels its queries; SIGTERM for what ignores it, such as background jobs of a shell; then the
// kill of the whole tree. Whoever begins it first gives the reason; a second begin changes nothing.
import type { Grace } from '../../ports/executor.ts'

export type Reason =
  | { readonly kind: 'aborted' }
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'output-lost'; readonly cause: unknown }

export interface Ladder {
  begin(reason: Reason): void
  /** Straight to the last step. */
  kill(reason: Reason): void
  /** Nothing is left to be signalled. */
  end(): void
  readonly reason: Reason | null
  readonly lastSignal: string
}

/** Longer delays would fire at once: Node keeps them in 31 bits. */
const LONGEST_TIMER = 2 ** 31 - 1

export function makeLadder(grace: Grace, steps: { send(signal: 'SIGINT' | 'SIGTERM'): void; kill(): void }): Ladder {
  let timer: NodeJS.Timeout | undefined
  let over = false
  let reason: Reason | null = null
  let lastSignal = 'SIGINT'
  const later = (ms: number, step: () => void): void => {
    timer = setTimeout(step, Math.min(ms, LONGEST_TIMER))
  }
  const kill = (): void => {
    lastSignal = 'SIGKILL'
    steps.kill()
  }
  return {
    begin(why) {
      if (over || reason !== null) return
      reason = why
      steps.send('SIGINT')
      later(grace.interruptMs, () => {
        lastSignal = 'SIGTERM'
        steps.send('SIGTERM')
        later(grace.terminateMs, kill)
      })
    },
    kill(why) {
      if (over) return
      clearTimeout(timer)
      reason ??= why
      kill()
    },
    end() {
      over = true
      clearTimeout(timer)
    },
    get reason() {
      return reason
    },
    get lastSignal() {
      return lastSignal
    },
  }
}

/** Calls back once the seconds have passed, however many they are. Gives the function that calls it off. */
export function after(seconds: number, action: () => void): () => void {
  const until = performance.now() + seconds * 1000
  let timer: NodeJS.Timeout
  const wait = (): void => {
    const left = until - performance.now()
    if (left <= 0) action()
    else timer = setTimeout(wait, Math.min(left + 1, LONGEST_TIMER))
  }
  timer = setTimeout(wait, Math.min(seconds * 1000, LONGEST_TIMER))
  return () => clearTimeout(timer)
}
