// Bytes from a child to a consumer that sets the pace: a chunk is read only when the last one was taken, so what is
// held in memory is one chunk and one buffer of the stream (64 KiB each), and a slow consumer fills the pipe and makes
// the child wait.
import type { Readable } from 'node:stream'

export interface Pump {
  /** Resolves when every byte was handed over, or the rest was given up. Never rejects. */
  readonly done: Promise<void>
  /** Milliseconds for which nothing has come while the consumer was waiting; zero while it is at work. */
  idleMs(): number
  /** Reads no further; whoever writes gets SIGPIPE. */
  giveUp(): void
}

export function pump(
  stream: Readable,
  take: (bytes: Buffer) => Promise<void>,
  onRefused: (cause: unknown) => void,
): Pump {
  let busy = false
  let refused = false
  let since = performance.now()
  const run = async (): Promise<void> => {
    try {
      for await (const bytes of stream) {
        // The child may be writing its last words: they are read away, or it would wait for ever.
        busy = !refused
        if (busy)
          await take(bytes as Buffer).catch((cause: unknown) => {
            refused = true
            onRefused(cause)
          })
        busy = false
        since = performance.now()
      }
    } catch {
      // The stream was given up, or broke as only a stream of a dead child does.
    }
  }
  // Errors of a stream that nobody iterates at this moment would end the process.
  stream.on('error', () => {})
  return {
    done: run(),
    idleMs: () => (busy ? 0 : performance.now() - since),
    giveUp: () => void stream.destroy(),
  }
}

/** Waits for pumps whose writers are gone. One that stays silent for `quietMs` is held by a stranger and given up. */
export async function drain(pumps: readonly Pump[], quietMs: number): Promise<void> {
  const watch = setInterval(() => {
    for (const one of pumps) if (one.idleMs() >= quietMs) one.giveUp()
  }, 50)
  await Promise.all(pumps.map(({ done }) => done))
  clearInterval(watch)
}
