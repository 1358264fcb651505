// The served schema against contract/reference.graphql, the given wire contract: all of it is served, to the letter.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { GraphQLNamedType, GraphQLSchema } from 'graphql'
import {
  buildSchema,
  isEnumType,
  isInputObjectType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isSpecifiedScalarType,
} from 'graphql'
import { createResolvers } from '../src/api/graphql/resolvers/index.ts'
import { createSchema, operationsOf, readContract } from '../src/api/graphql/schema.ts'
import { POLICY } from '../src/domain/policy.ts'

const reference = buildSchema(
  readFileSync(join(import.meta.dirname, '..', '..', 'contract', 'reference.graphql'), 'utf8'),
)

// Nothing is called here.
const resolvers = createResolvers({ agents: {} as never })

interface Comparison {
  readonly missing: string[]
  readonly different: string[]
}

function compare(served: GraphQLSchema): Comparison {
  const missing: string[] = []
  const different: string[] = []
  const rest = (type: GraphQLNamedType): boolean => !type.name.startsWith('__') && !isSpecifiedScalarType(type)
  for (const wanted of Object.values(reference.getTypeMap()).filter(rest)) {
    const type = served.getType(wanted.name)
    if (type === undefined) missing.push(`type ${wanted.name}`)
    else compareType(wanted, type, { missing, different })
  }
  return { missing, different }
}

function compareType(wanted: GraphQLNamedType, type: GraphQLNamedType, { missing, different }: Comparison): void {
  const { name } = wanted
  if (wanted.constructor !== type.constructor) different.push(`${name} is of another kind`)
  if (isEnumType(wanted) && isEnumType(type)) {
    const values = (one: typeof wanted) => one.getValues().map((value) => value.name)
    if (String(values(wanted)) !== String(values(type))) different.push(`${name}: ${values(type)}`)
  }
  if (isInputObjectType(wanted) && isInputObjectType(type)) {
    const own = type.getFields()
    for (const field of Object.values(wanted.getFields())) {
      const found = own[field.name]
      if (found === undefined) different.push(`${name}.${field.name} is missing`)
      else if (String(found.type) !== String(field.type) || found.defaultValue !== field.defaultValue) {
        different.push(`${name}.${field.name}: ${found.type}`)
      }
    }
    for (const field of Object.values(own)) {
      if (wanted.getFields()[field.name] === undefined && isRequiredInputField(field))
        different.push(`${name}.${field.name} is required`)
    }
  }
  if (isObjectType(wanted) && isObjectType(type)) {
    const root = name === 'Query' || name === 'Mutation'
    for (const field of Object.values(wanted.getFields())) {
      const found = type.getFields()[field.name]
      if (found === undefined) {
        if (root) missing.push(`${name.toLowerCase()} ${field.name}`)
        else different.push(`${name}.${field.name} is missing`)
        continue
      }
      if (String(found.type) !== String(field.type)) different.push(`${name}.${field.name}: ${found.type}`)
      for (const arg of field.args) {
        const own = found.args.find((one) => one.name === arg.name)
        if (own === undefined || String(own.type) !== String(arg.type) || own.defaultValue !== arg.defaultValue) {
          different.push(`${name}.${field.name}(${arg.name})`)
        }
      }
      for (const own of found.args) {
        const known = field.args.some((one) => one.name === own.name)
        if (!known && isRequiredArgument(own)) different.push(`${name}.${field.name}(${own.name}) is required`)
      }
    }
  }
}

test('the given contract is served whole, and nothing of it differs', () => {
  assert.deepEqual(compare(createSchema(resolvers)), { missing: [], different: [] })
})

test('a changed nullability, argument, default, enum value or forgotten field would be seen', () => {
  const sdl = readContract()
  const spoil = (from: string, to: string): number => {
    assert.ok(sdl.includes(from), from)
    return compare(buildSchema(sdl.replace(from, to))).different.length
  }
  assert.equal(spoil('email: String!\n  name: String!', 'email: String!\n  name: String'), 1)
  assert.equal(spoil('  inviteStatus: InviteStatus!\n', ''), 1)
  assert.equal(spoil('inviteUser(email: String!,', 'inviteUser(email: String,'), 1)
  assert.equal(spoil('getAuditLogs(offset: Int,', 'getAuditLogs(offset: Int = 0,'), 1)
  assert.equal(spoil('disableUser(uid: String!)', 'disableUser(uid: String!, why: String!)'), 1)
  assert.equal(spoil('  ACTIVE\n  EXPIRED', '  ACTIVE\n  EXPIRED\n  USED'), 1)
})

test('every served operation has a row in the policy table, and no row stands for nothing', () => {
  assert.deepEqual([...operationsOf(createSchema(resolvers))].sort(), Object.keys(POLICY).sort())
})
