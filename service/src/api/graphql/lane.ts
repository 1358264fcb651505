// Answers that hold the output of commands are megabytes while they are made. A few at a time: the others wait their turn,
// in order, and take no longer for it, because making them is work of the one thread that all have.

export interface Lane {
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createLane(width: number): Lane {
  let free = width
  const waiting: (() => void)[] = []
  return {
    run: async (work) => {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) free++
        else next()
      }
    },
  }
}
