// When a delivery is tried again, and when it is given up. Pure: the clock and the dice come in.
export type DeliveryState = 'waiting' | 'delivered' | 'dead'
export const DELIVERY_STATES: readonly DeliveryState[] = ['waiting', 'delivered', 'dead']

export type TryOutcome = 'delivered' | 'again' | 'refused'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Between one try and the next: 8 tries in all. With the most jitter they sum up to 23 hours and 41 minutes. */
export const PAUSES_MS: readonly number[] = [
  10 * SECOND,
  1 * MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
]
export const MOST_TRIES = PAUSES_MS.length + 1
/** A pause is drawn between these shares of itself, so that what failed together does not come back together. */
const LEAST = 0.75
const MOST = 1.15
/** Nothing is tried later than this after the first try, whatever a receiver asks for. */
export const SERIES_MS = 24 * HOUR

export interface SeriesSoFar {
  /** Tries of this series, the one that just ended included. */
  readonly tries: number
  /** When the first of them began. */
  readonly startedAt: Date
  readonly now: Date
  /** 0 to 1. */
  readonly random: number
  /** What the receiver asked for (`Retry-After`). */
  readonly afterSeconds?: number | undefined
}

/** The time of the next try; null when it is given up. A receiver may ask for a longer pause, not for a shorter one. */
export function nextTry({ tries, startedAt, now, random, afterSeconds = 0 }: SeriesSoFar): Date | null {
  const pause = PAUSES_MS[tries - 1]
  const end = startedAt.getTime() + SERIES_MS
  if (pause === undefined || now.getTime() >= end) return null
  const drawn = pause * (LEAST + (MOST - LEAST) * random)
  const asked = Number.isFinite(afterSeconds) ? Math.max(0, afterSeconds) * SECOND : 0
  return new Date(Math.min(end, now.getTime() + Math.max(drawn, asked)))
}

/** `Retry-After` as RFC 9110 has it: seconds, or a date. Undefined for anything else. */
export function parseRetryAfter(text: string | undefined, now: Date): number | undefined {
  if (text === undefined) return undefined
  const given = text.trim()
  if (/^\d{1,9}$/.test(given)) return Number(given)
  if (!/^[A-Z][a-z]{2}, /.test(given)) return undefined
  const at = Date.parse(given)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now.getTime()) / SECOND))
}
