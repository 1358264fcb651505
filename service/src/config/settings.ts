// The schema as a flat list, for everything that goes through the settings one by one.
import type { z } from 'zod'
import { type SettingMeta, type SettingPath, schema } from './schema.ts'

export type SettingKind = 'text' | 'number' | 'boolean' | 'list'

export interface Setting extends SettingMeta {
  readonly path: SettingPath
  readonly keys: readonly string[]
  readonly kind: SettingKind
  readonly default: unknown
}

const KINDS: Readonly<Record<string, SettingKind>> = {
  string: 'text',
  enum: 'text',
  number: 'number',
  boolean: 'boolean',
  array: 'list',
}

/** Every setting, in the order of the schema. */
export const settings: readonly Setting[] = leavesOf(schema, [])

/** The names of the sections (`database`, `tls` …). */
export const sections: ReadonlySet<string> = new Set(
  settings.filter(({ keys }) => keys.length > 1).map(({ keys }) => keys[0]!),
)

export function settingAt(path: string): Setting | undefined {
  return settings.find((setting) => setting.path === path)
}

// What zod's definitions hold of one another; its own types for them are unions too wide to walk.
interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly defaultValue?: unknown
}

function definitionOf(type: z.ZodType): Definition {
  return type.def as unknown as Definition
}

function leavesOf(type: z.ZodType, keys: readonly string[]): Setting[] {
  const { shape } = definitionOf(type)
  if (shape) return Object.entries(shape).flatMap(([key, inner]) => leavesOf(inner, [...keys, key]))
  const meta = type.meta() as SettingMeta | undefined
  const path = keys.join('.') as SettingPath
  if (!meta?.env) throw new Error(`The setting ${path} has no .meta({ env }); it must be the last call of the leaf`)
  return [{ ...meta, path, keys, kind: kindOf(type), default: definitionOf(type).defaultValue }]
}

function kindOf(type: z.ZodType): SettingKind {
  const definition = definitionOf(type)
  const inner = definition.innerType ?? definition.in
  if (inner) return kindOf(inner)
  const kind = KINDS[definition.type]
  if (!kind) throw new Error(`A setting of type ${definition.type} cannot be read from text`)
  return kind
}
