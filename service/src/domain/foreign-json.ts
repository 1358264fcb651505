// Reading JSON that somebody else's program wrote, and that may be cut off.

/** Undefined for what is no JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** Fit for a column of text: no NUL, no half characters. */
export function clean(value: unknown, most: number): string {
  return typeof value === 'string' ? value.replaceAll('\0', '').slice(0, most).toWellFormed() : ''
}
