// Takes secrets out of everything that is written about a session. What a model says is cleaned as much as what a tool
// found: a model repeats what it read.
import { indexSecrets, redactText } from '../worker/redactor.ts'

/** Shorter values would mask half of ordinary text; secrets are refused below this length when they are set. */
const SHORTEST_SECRET = 6

export interface Cleaner {
  text(value: string): string
  /** Every text in it, names of fields too. */
  json(value: unknown): unknown
}

export function cleanerOf(secrets: readonly string[]): Cleaner {
  const index = indexSecrets(secrets.filter((one) => one.length >= SHORTEST_SECRET))
  const text = (value: string): string => redactText(index, value.toWellFormed())
  const json = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (Array.isArray(value)) return value.map(json)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [text(name), json(one)]))
  }
  return { text, json }
}
