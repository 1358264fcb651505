// Whether the arguments of a call are what the tool's schema asks for. A model mends a call best when it is told all that
// is wrong at once. Schemas of MCP servers come from outside: words of a schema that are not here are left to the server
// that wrote it, and no pattern of somebody else's is ever run.
import { quoted } from '../../../domain/text.ts'

export type Schema = Readonly<Record<string, unknown>>

const MOST_FAULTS = 20
const DEEPEST = 12

/** Null when it is right; otherwise everything that is wrong, a line each. */
export function checkInput(schema: Schema, input: unknown): string | null {
  const faults: string[] = []
  check(schema, input, '', faults, 0)
  if (faults.length === 0) return null
  const shown = faults.slice(0, MOST_FAULTS)
  if (faults.length > shown.length) shown.push(`and ${faults.length - shown.length} more`)
  return `The arguments are not right:\n${shown.map((one) => `- ${one}`).join('\n')}`
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number' && Number.isFinite(value),
  integer: (value) => Number.isSafeInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
}

function check(schema: unknown, value: unknown, path: string, faults: string[], depth: number): void {
  if (!isObject(schema) || depth > DEEPEST) return
  const at = path === '' ? 'the arguments' : path
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((one) => typeof one === 'string')
  if (types.length > 0 && !types.some((one) => TYPES[one]?.(value) ?? true)) {
    faults.push(`${at}: must be ${types.join(' or ')}, not ${nameOf(value)}`)
    return
  }
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => one === value)) {
    faults.push(`${at}: one of ${schema.enum.map((one) => JSON.stringify(one)).join(', ')}`)
  }
  if (typeof value === 'string') checkText(schema, value, at, faults)
  if (typeof value === 'number') checkNumber(schema, value, at, faults)
  if (Array.isArray(value)) checkList(schema, value, path, faults, depth)
  if (isObject(value)) checkObject(schema, value, path, faults, depth)
}

const nameOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : value === undefined ? 'nothing' : typeof value

const limitOf = (schema: Schema, name: string): number | null => {
  const limit = schema[name]
  return typeof limit === 'number' ? limit : null
}

function checkText(schema: Schema, value: string, at: string, faults: string[]): void {
  const [least, most] = [limitOf(schema, 'minLength'), limitOf(schema, 'maxLength')]
  if (least !== null && value.length < least) faults.push(`${at}: at least ${least} characters`)
  if (most !== null && value.length > most) faults.push(`${at}: at most ${most} characters, not ${value.length}`)
  if (value.includes('\0')) faults.push(`${at}: no NUL character`)
}

function checkNumber(schema: Schema, value: number, at: string, faults: string[]): void {
  const [least, most] = [limitOf(schema, 'minimum'), limitOf(schema, 'maximum')]
  if (least !== null && value < least) faults.push(`${at}: ${least} or more`)
  if (most !== null && value > most) faults.push(`${at}: ${most} or less`)
}

function checkList(schema: Schema, value: readonly unknown[], path: string, faults: string[], depth: number): void {
  const [least, most] = [limitOf(schema, 'minItems'), limitOf(schema, 'maxItems')]
  if (least !== null && value.length < least) faults.push(`${path}: at least ${least} entries`)
  if (most !== null && value.length > most) faults.push(`${path}: at most ${most} entries, not ${value.length}`)
  for (const [index, one] of value.entries()) check(schema.items, one, `${path}[${index}]`, faults, depth + 1)
}

function checkObject(
  schema: Schema,
  value: Record<string, unknown>,
  path: string,
  faults: string[],
  depth: number,
): void {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required : []
  const named = (name: string): string => (path === '' ? name : `${path}.${name}`)
  for (const name of required) {
    if (typeof name === 'string' && !Object.hasOwn(value, name)) faults.push(`${named(name)}: missing`)
  }
  for (const [name, one] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) check(properties[name], one, named(name), faults, depth + 1)
    else if (schema.additionalProperties === false) {
      const known = Object.keys(properties).join(', ') || 'none'
      faults.push(`${named(quoted(name))}: there is no such argument; known are ${known}`)
    }
  }
}
