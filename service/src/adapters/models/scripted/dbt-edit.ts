// The part of a file that a mend changes, with as many lines around it as it takes to be the only such part.
import type { Mend } from './dbt-mends.ts'

export function editOf({ before, after }: Pick<Mend, 'before' | 'after'>): {
  readonly from: string
  readonly to: string
} {
  const [old, made] = [before.split('\n'), after.split('\n')]
  let first = 0
  while (first < old.length && old[first] === made[first]) first++
  let same = 0
  while (same < Math.min(old.length, made.length) - first && old.at(-1 - same) === made.at(-1 - same)) same++
  for (;;) {
    const from = old.slice(first, old.length - same).join('\n')
    if (from !== '' && before.split(from).length === 2) {
      return { from, to: made.slice(first, made.length - same).join('\n') }
    }
    if (first === 0 && same === 0) return { from: before, to: after }
    if (first > 0) first--
    if (same > 0) same--
  }
}
