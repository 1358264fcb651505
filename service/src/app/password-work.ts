// Passwords are hashed in few places at once. A hash takes 19 MiB and a thread of the pool that files and names are
// read with too, so a crowd at the door must wait, and a mob be sent away, before it takes the memory of the service.
// One for the process, because memory is.
import { AppError } from '../domain/errors.ts'
import { hashPassword, verifyPassword } from '../domain/password.ts'

const AT_ONCE = 3
const MOST_WAITING = 40
const RETRY_AFTER_SECONDS = 2

export type Turnstile = <T>(work: () => Promise<T>) => Promise<T>

/** Lets `atOnce` through, keeps `mostWaiting` in line and refuses the rest. */
export function createTurnstile(atOnce: number, mostWaiting: number): Turnstile {
  let inside = 0
  const line: (() => void)[] = []
  return async (work) => {
    if (inside < atOnce) inside++
    else if (line.length < mostWaiting) await new Promise<void>((go) => line.push(go))
    else {
      throw new AppError('UNAVAILABLE', 'Too many people are signing in at this moment: try again in a few seconds.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      })
    }
    try {
      return await work()
    } finally {
      // The place goes to the next in line, so nobody slips in between.
      const next = line.shift()
      if (next === undefined) inside--
      else next()
    }
  }
}

const turnstile = createTurnstile(AT_ONCE, MOST_WAITING)

export const hashInTurn = (password: string): Promise<string> => turnstile(() => hashPassword(password))

/** What is longer than any password that was ever set is cut: its hash differs either way. */
export const verifyInTurn = (password: string, stored: string | null): Promise<boolean> =>
  turnstile(() => verifyPassword(password.slice(0, 1001), stored))
