/** Chance that can be had again: the same seed gives the same numbers. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number
  /** A whole number, both ends included. */
  between(low: number, high: number): number
  chance(share: number): boolean
  pick<T>(of: readonly T[]): T
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return { next, between, chance: (share) => next() < share, pick: (of) => of[between(0, of.length - 1)]! }
}
