import type { Healer, HealingAnswer, HealingTask } from '../../src/ports/healer.ts'

export interface FakeHealer extends Healer {
  readonly started: readonly HealingTask[]
}

/** Starts everything, each request once, unless the function says otherwise. */
export function fakeHealer(answer: (task: HealingTask) => HealingAnswer | undefined = () => undefined): FakeHealer {
  const started: HealingTask[] = []
  return {
    started,
    start: async (task) => {
      const other = answer(task)
      if (other !== undefined) return other
      // The same request again finds its session.
      if (!started.some((one) => one.id === task.id)) started.push(task)
      return { kind: 'started', session: `session ${task.id}` }
    },
  }
}
