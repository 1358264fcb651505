// What is in a request: the body's members, and the key under which a repeated request gets its first answer again.
import { createHash } from 'node:crypto'
import { AppError } from '../../domain/errors.ts'

export interface Body {
  readonly query: string
  readonly operationName: string | null
  readonly variables: Readonly<Record<string, unknown>>
}

const NO_VARIABLES: Readonly<Record<string, unknown>> = Object.freeze({})

/** Null means "not given"; `extensions` and what else a client adds is passed over. Throws BAD_REQUEST. */
export function readBody(body: unknown): Body {
  if (Array.isArray(body)) throw bad('The body is a list: send one operation in each request.')
  if (!isObject(body)) throw bad('The body must be a JSON object: { "query": "…", "variables": { … } }.')
  const { query, operationName, variables } = body
  if (typeof query !== 'string') throw bad('"query" must be a text that holds a GraphQL document.')
  if (operationName != null && typeof operationName !== 'string') throw bad('"operationName" must be a text.')
  if (variables != null && !isObject(variables)) throw bad('"variables" must be an object.')
  // An empty name is how some clients say that there is none.
  return { query, operationName: operationName || null, variables: variables ?? NO_VARIABLES }
}

/** The Idempotency-Key header, null for none. Throws BAD_REQUEST. */
export function readIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null
  if (typeof header !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(header)) {
    throw bad('Idempotency-Key must be 1 to 255 printable characters.')
  }
  return header
}

/** The same for the same request, whatever the order of the members of its objects. */
export function hashOf(body: Body): string {
  const { query, operationName, variables } = body
  try {
    const text = canonical({ query, operationName, variables })
    return createHash('sha256').update(text).digest('hex')
  } catch (error) {
    if (error instanceof RangeError) throw bad('"variables" is nested too deeply.')
    throw error
  }
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
  return `{${members.join(',')}}`
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const bad = (message: string): AppError => new AppError('BAD_REQUEST', message)
