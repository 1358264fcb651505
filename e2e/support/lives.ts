/** When each service process of a storm lived, to tell how long what one left behind waited for the next. */
import type { SeenRun } from './run-rows.ts'

interface Life {
  readonly pid: number
  readonly launchedAt: number
  answeredAt: number | null
  killedAt: number | null
}

export const nowSeconds = (): number => (performance.timeOrigin + performance.now()) / 1000

export interface Orphan {
  readonly run: number
  /** From the kill of its worker to its end, in seconds. */
  readonly age: number
  /** Of that, the time in which another process was there, counted from its launch. */
  readonly launched: number
  /** And the time in which another process answered requests. */
  readonly answered: number
}

export class Lives {
  readonly #lives: Life[] = []

  launched(pid: number, at: number): void {
    this.#lives.push({ pid, launchedAt: at, answeredAt: null, killedAt: null })
  }

  answered(): void {
    this.#lives.at(-1)!.answeredAt = nowSeconds()
  }

  killed(): void {
    this.#lives.at(-1)!.killedAt = nowSeconds()
  }

  /** The runs that outlived the process that had them. */
  orphans(runs: readonly SeenRun[]): Orphan[] {
    const killedAt = new Map(this.#lives.map((life) => [life.pid, life.killedAt]))
    return runs.flatMap((run) => {
      // host/boot/namespace/pid/start/random
      const killed = killedAt.get(Number(run.workerId?.split('/')[3])) ?? null
      const end = run.endedAt ?? nowSeconds()
      if (killed === null || end <= killed) return []
      const time = (begin: (life: Life) => number | null): number =>
        this.#lives.reduce((sum, life) => {
          const from = Math.max(begin(life) ?? Number.POSITIVE_INFINITY, killed)
          return sum + Math.max(0, Math.min(life.killedAt ?? end, end) - from)
        }, 0)
      return [
        {
          run: run.id,
          age: end - killed,
          launched: time((one) => one.launchedAt),
          answered: time((one) => one.answeredAt),
        },
      ]
    })
  }
}
