// Token buckets in bounded memory. A bucket holds `burst` tokens and fills at a steady rate; what finds too few is told
// how long to wait. The least recently used buckets are dropped when there are too many: a dropped one starts full
// again, so the bound can only make the limit milder, and callers that are known never share a map with those that are
// not (a flood of addresses must not reset a key's count).
import { isIPv6 } from 'node:net'
import type { Actor } from '../domain/actor.ts'
import { actorScope } from '../domain/actor.ts'
import { AppError } from '../domain/errors.ts'
import type { Monotonic, Rejection } from './edge.ts'

const MOST_BUCKETS = 50_000

interface Bucket {
  tokens: number
  at: number
}

export interface BucketOptions {
  readonly perSecond: number
  readonly burst: number
  readonly now: Monotonic
  readonly capacity?: number
}

export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()
  readonly #options: Required<BucketOptions>

  constructor(options: BucketOptions) {
    this.#options = { capacity: MOST_BUCKETS, ...options }
  }

  get size(): number {
    return this.#buckets.size
  }

  /** Takes `cost` and answers 0, or takes nothing and answers the milliseconds until it would go. */
  take(key: string, cost: number): number {
    const { perSecond, burst, now, capacity } = this.#options
    // What costs more than a full bucket could never pass.
    const asked = Math.min(cost, burst)
    const at = now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: burst, at }
      if (this.#buckets.size >= capacity) this.#dropOldest()
    } else {
      bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) * perSecond) / 1000)
      bucket.at = at
      this.#buckets.delete(key)
    }
    this.#buckets.set(key, bucket)
    if (bucket.tokens < asked) return Math.ceil(((asked - bucket.tokens) * 1000) / perSecond)
    bucket.tokens -= asked
    return 0
  }

  #dropOldest(): void {
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest)
      return
    }
  }
}

export interface RateLimits {
  readonly requestsPerSecond: number
  readonly requestBurst: number
  readonly badCredentialsPerMinute: number
}

export interface RateLimiter {
  /** Throws RATE_LIMITED when the caller has used up its share. */
  charge(actor: Actor, address: string, cost: number): void
  /** Counts wrong credentials, by address and by key id; throws RATE_LIMITED beyond the limit. */
  chargeRejected(rejection: Rejection, address: string): void
}

export function createRateLimiter(limits: RateLimits, now: Monotonic): RateLimiter {
  const pace = { perSecond: limits.requestsPerSecond, burst: limits.requestBurst, now }
  const known = new TokenBuckets(pace)
  const anonymous = new TokenBuckets(pace)
  const bad = { perSecond: limits.badCredentialsPerMinute / 60, burst: limits.badCredentialsPerMinute, now }
  const badByAddress = new TokenBuckets(bad)
  const badByKey = new TokenBuckets(bad)
  return {
    charge(actor, address, cost) {
      const wait =
        actor.kind === 'anonymous' ? anonymous.take(addressScope(address), cost) : known.take(actorScope(actor), cost)
      if (wait > 0) throw limited('Too many requests', wait)
    },
    chargeRejected(rejection, address) {
      const byAddress = badByAddress.take(addressScope(address), 1)
      const byKey = rejection.keyId === null ? 0 : badByKey.take(rejection.keyId, 1)
      const wait = Math.max(byAddress, byKey)
      if (wait > 0) throw limited('Too many wrong credentials', wait)
    },
  }
}

function limited(what: string, waitMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError('RATE_LIMITED', `${what}: try again in ${seconds} s.`, { retryAfterSeconds: seconds })
}

/** The part of an address that one client cannot change at will: all of IPv4, the first 64 bits of IPv6. */
export function addressScope(address: string): string {
  const bare = address.split('%')[0] ?? ''
  if (!isIPv6(bare)) return bare
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)
  if (mapped !== null) return mapped[1]!
  const [head = '', tail] = bare.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const behind = tail === '' ? [] : tail.split(':')
    // A dotted end stands for two groups.
    const width = behind.length + (tail.includes('.') ? 1 : 0)
    while (groups.length < 8 - width) groups.push('0')
    groups.push(...behind)
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
