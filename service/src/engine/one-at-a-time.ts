/** Calls that come while one is under way make one more after it. */
export function oneAtATime(work: () => Promise<void>, onError: (error: unknown) => void) {
  let running: Promise<void> | null = null
  let again = false
  const loop = async (): Promise<void> => {
    do {
      again = false
      await work().catch(onError)
    } while (again)
    running = null
  }
  return {
    now: (): void => {
      again = true
      running ??= loop()
    },
    idle: async (): Promise<void> => {
      await running
    },
  }
}
