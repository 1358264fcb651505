// How often somebody may try to get in, decided before a password is looked at. By address against whoever tries many
// people, by address and person against whoever tries one, by person alone against many addresses together; the last
// is wide, so that nobody is locked out by a stranger's typing for less than a real attack.
//
// A success gives nothing back: knowing one password must not pay for guessing at others.
import { AppError } from '../domain/errors.ts'
import type { Monotonic } from './edge.ts'
import { addressScope, TokenBuckets } from './rate-limit.ts'

const PER_PERSON_AND_HOUR = 100
/** Mails to one address that strangers can cause. */
const RESETS_PER_HOUR = 5

export interface SignInLimiter {
  /** Throws RATE_LIMITED when there were too many tries from the address or for the person. */
  tryPassword(email: string, address: string): void
  /** The same for asking for a mail with a reset link. */
  askForReset(email: string, address: string): void
  /** Counts a link that does not hold (or a failed single sign-on); throws when there were too many. */
  missed(address: string): void
}

export function createSignInLimiter(limits: { readonly signInsPerMinute: number }, now: Monotonic): SignInLimiter {
  const perMinute = { perSecond: limits.signInsPerMinute / 60, burst: limits.signInsPerMinute, now }
  const perHour = (count: number) => ({ perSecond: count / 3600, burst: count, now })
  const addresses = new TokenBuckets(perMinute)
  const pairs = new TokenBuckets(perMinute)
  const people = new TokenBuckets(perHour(PER_PERSON_AND_HOUR))
  const resets = new TokenBuckets(perHour(RESETS_PER_HOUR))
  const misses = new TokenBuckets(perMinute)
  return {
    tryPassword: (email, address) => {
      const [where, who] = [addressScope(address), personScope(email)]
      // One after the other: what the first refuses must not use up what belongs to the person.
      refuse(addresses.take(where, 1))
      refuse(pairs.take(`${where} ${who}`, 1))
      refuse(people.take(who, 1))
    },
    askForReset: (email, address) => {
      refuse(addresses.take(addressScope(address), 1))
      refuse(resets.take(personScope(email), 1))
    },
    missed: (address) => refuse(misses.take(addressScope(address), 1)),
  }
}

/** Bounded, because it is whatever somebody typed. */
const personScope = (email: string): string => email.trim().toLowerCase().slice(0, 254)

function refuse(waitMs: number): void {
  if (waitMs <= 0) return
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  const when = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`
  throw new AppError('RATE_LIMITED', `Too many tries. Wait ${when}, then try again.`, { retryAfterSeconds: seconds })
}
