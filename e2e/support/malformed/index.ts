import type { Random } from '../random.ts'
import { badJson, badUtf8, batches, strangeMembers, tooLarge } from './bodies.ts'
import { bombs, dates, deep, loops, mangledDocument, numbers, tokenSoup, wide } from './documents.ts'
import type { Facts, Family, Malformed } from './facts.ts'
import { chunks, contentTypes, credentials, headerBombs, lengths, methods, noise, paths, truncated } from './http.ts'
import { pages } from './pages.ts'
import { idempotencyKeys, odd } from './values.ts'

/** How often each family comes, of a hundred. */
const SHARES: readonly (readonly [name: string, share: number, family: Family])[] = [
  ['bad JSON', 9, badJson],
  ['bad UTF-8', 5, badUtf8],
  ['strange and double members', 5, strangeMembers],
  ['batches', 2, batches],
  ['too large', 1, tooLarge],
  ['token soup', 7, tokenSoup],
  ['mangled documents', 7, mangledDocument],
  ['query bombs', 6, bombs],
  ['depth', 3, deep],
  ['width', 3, wide],
  ['fragment loops', 2, loops],
  ['numbers', 4, numbers],
  ['dates', 3, dates],
  ['odd values in every argument', 16, odd],
  ['Idempotency-Key', 2, idempotencyKeys],
  ['content types', 3, contentTypes],
  ['truncated', 3, truncated],
  ['Content-Length', 2, lengths],
  ['chunks', 2, chunks],
  ['headers', 2, headerBombs],
  ['credentials', 3, credentials],
  ['methods', 2, methods],
  ['paths', 2, paths],
  ['noise', 2, noise],
  ['pages', 4, pages],
]

const bag = SHARES.flatMap(([name, share, family]) => Array.from({ length: share }, () => ({ name, family })))

export function malformed(random: Random, facts: Facts): Malformed {
  const { name, family } = random.pick(bag)
  return { family: name, ...family(random, facts) }
}

export const FAMILIES = SHARES.map(([name]) => name)
