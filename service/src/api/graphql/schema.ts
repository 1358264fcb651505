// The served schema: the SDL of contract/, with one resolver for each root field. Below the root everything is read from
// the plain data that presenters return; a value that is a function or a getter is not (the compiled executor reads
// properties and calls nothing), unless the field takes arguments: there the presenter puts a function of them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GraphQLField, GraphQLObjectType, GraphQLSchema } from 'graphql'
import {
  buildASTSchema,
  GraphQLError,
  GraphQLScalarType,
  isIntrospectionType,
  isObjectType,
  parse,
  Source,
} from 'graphql'

/**
 * Read arguments, call one use case, present. `args` is what the SDL says, null where null was sent; it may be shared
 * between requests and must not be changed.
 */
export type Resolver<Context> = (context: Context, args: never) => unknown
export type Resolvers<Context> = Readonly<Record<string, Resolver<Context> | Subscriber<Context>>>

/**
 * Of a subscription: refuses by throwing before there is anything to iterate over, then gives presented values until
 * there are no more, or until `signal` says that nobody listens any longer.
 */
export type Subscriber<Context> = (
  context: Context,
  args: never,
  signal: AbortSignal,
) => Promise<AsyncIterable<unknown>>

/** What an execution hands to every root field as GraphQL's context. */
export interface RootCaller<Context> {
  call(operation: string, resolver: Resolver<Context>, args: unknown): unknown
  listen(operation: string, subscriber: Subscriber<Context>, args: unknown): Promise<AsyncIterable<unknown>>
}

const CONTRACT = fileURLToPath(new URL('../../../../contract/', import.meta.url))
// Served to everyone, and what only our console and command line use.
const AUDIENCES = ['public', 'console']

export function readContract(folder: string = CONTRACT): string {
  return AUDIENCES.flatMap((audience) =>
    readdirSync(join(folder, audience))
      .filter((name) => name.endsWith('.graphql'))
      .sort()
      .map((name) => readFileSync(join(folder, audience, name), 'utf8')),
  ).join('\n')
}

/** Throws when an operation has no resolver, or a resolver no operation. */
export function createSchema<Context>(resolvers: Resolvers<Context>, sdl: string = readContract()): GraphQLSchema {
  const schema = buildASTSchema(parse(new Source(sdl, 'contract')))
  defineScalars(schema)
  callFunctionsBelowTheRoot(schema)
  const fields = rootFieldsOf(schema)
  const streams = schema.getSubscriptionType()?.getFields() ?? {}
  const missing = [...fields.keys()].filter((name) => !Object.hasOwn(resolvers, name))
  const surplus = Object.keys(resolvers).filter((name) => !fields.has(name))
  if (missing.length > 0) throw new Error(`Operations without a resolver: ${missing.join(', ')}`)
  if (surplus.length > 0) throw new Error(`Resolvers without an operation in contract/: ${surplus.join(', ')}`)
  for (const [name, field] of fields) {
    if (Object.hasOwn(streams, name)) {
      const subscriber = resolvers[name] as Subscriber<Context>
      field.subscribe = (_source, args, caller: RootCaller<Context>) => caller.listen(name, subscriber, args)
      // What was listened for is the answer itself.
      field.resolve = (value) => value
      continue
    }
    const resolver = resolvers[name] as Resolver<Context>
    field.resolve = (_source, args, caller: RootCaller<Context>) => caller.call(name, resolver, args)
  }
  return schema
}

/** The names of every served operation, queries first. */
export const operationsOf = (schema: GraphQLSchema): readonly string[] => [...rootFieldsOf(schema).keys()]

function rootFieldsOf(schema: GraphQLSchema): Map<string, GraphQLField<unknown, never>> {
  const fields = new Map<string, GraphQLField<unknown, never>>()
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const [name, field] of Object.entries((type as GraphQLObjectType | undefined)?.getFields() ?? {})) {
      // One policy table over both: a name stands for one operation.
      if (fields.has(name)) throw new Error(`${name} is two operations: of queries, mutations and subscriptions`)
      fields.set(name, field as GraphQLField<unknown, never>)
    }
  }
  return fields
}

/** As the plain executor does by itself. */
function callFunctionsBelowTheRoot(schema: GraphQLSchema): void {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type) || roots.includes(type)) continue
    for (const field of Object.values(type.getFields()).filter((one) => one.args.length > 0)) {
      field.resolve = (source: Record<string, (args: unknown) => unknown>, args) => source[field.name]!(args)
    }
  }
}

function defineScalars(schema: GraphQLSchema): void {
  const timestamp = schema.getType('Timestamp')
  if (timestamp instanceof GraphQLScalarType) {
    timestamp.serialize = (value) => {
      if (typeof value === 'string') return value
      throw new GraphQLError('Timestamp is written by SQL as a text; this is something else')
    }
  }
  // JSON stays as it comes: any plain value.
}
