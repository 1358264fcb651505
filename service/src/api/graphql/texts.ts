// PostgreSQL's text holds every character but NUL, and its encoding has no place for half a surrogate pair. Both are
// looked for once, in every argument of every operation, so that no use case meets them.
import { invalidInput } from '../../domain/errors.ts'

/** Throws INVALID_INPUT that names the argument. */
export function refuseUnstorable(args: unknown): void {
  walk(args, '')
}

function walk(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw invalidInput(`${path}: must not hold a NUL character.`)
    if (!value.isWellFormed()) throw invalidInput(`${path}: holds half of a character (an unpaired surrogate).`)
  } else if (Array.isArray(value)) {
    for (const one of value) walk(one, path)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, one] of Object.entries(value)) walk(one, path === '' ? name : `${path}.${name}`)
  }
}
