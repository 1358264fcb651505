import { type AppError, invalidInput } from './errors.ts'

// Plain on purpose: one @, a dotted or local host, no space, control character or comma. Whether mail arrives is
// found out by sending it.
const EMAIL = /^[^\s@,;:<>()[\]"\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

export function parseEmail(text: string, field = 'email'): string {
  const email = text.trim()
  if (email.length > 254 || !EMAIL.test(email) || email.includes('..') || hasControl(email)) {
    throw invalidInput(`${field}: not a well-formed e-mail address (such as ana@example.com).`)
  }
  return email
}

/** One line of 1 to 128 characters, trimmed: names that people see. */
export function parseName(text: string, field = 'name'): string {
  const name = text.trim()
  if (name.length === 0) throw invalidInput(`${field}: must not be empty.`)
  if (name.length > 128) throw invalidInput(`${field}: at most 128 characters, not ${name.length}.`)
  if (hasControl(name)) throw invalidInput(`${field}: no line breaks or control characters.`)
  return name
}

export function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 32 || code === 127) return true
  }
  return false
}

/** What a refusal repeats of a text that somebody sent: enough to recognise it, never all of a megabyte. */
export const quoted = (text: string): string =>
  text.length > 80 ? `"${text.slice(0, 80).toWellFormed()}…"` : `"${text}"`

/** PostgreSQL's text holds every character but this one. */
export function refuseNul(text: string, field: string): string {
  if (text.includes('\0')) throw invalidInput(`${field}: must not hold a NUL character.`)
  return text
}

/** A timestamp of a filter: `YYYY-MM-DD`, with an optional time (space or T), fraction and Z or offset; UTC without. */
export function parseInstant(text: string, field: string): string {
  const match =
    /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,6})?)?)?(Z|[+-](\d{2}):(\d{2}))?$/.exec(
      text.trim(),
    )
  const bad = (): AppError =>
    invalidInput(`${field}: not a time. Write YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.ffffff (UTC unless it has an offset).`)
  if (match === null) throw bad()
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const date = new Date(Date.UTC(year, month - 1, day))
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!exists || year < 1 || hour > 23 || minute > 59 || second > 59) throw bad()
  // PostgreSQL takes no offset of sixteen hours or more.
  if (Number(match[8] ?? 0) > 15 || Number(match[9] ?? 0) > 59) throw bad()
  return match[7] === undefined ? `${text.trim()}Z` : text.trim()
}

/**
 * A value as jsonb takes it: NUL and halves of surrogate pairs, which models and tools do produce, become U+FFFD in every
 * text and key of it.
 */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD').toWellFormed() as T
  if (Array.isArray(value)) return value.map((one) => storable(one)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [storable(key), storable(one)])) as T
}
