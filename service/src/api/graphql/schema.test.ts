import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildASTSchema, parse } from 'graphql'
import { POLICY } from '../../domain/policy.ts'
import { createSchema, operationsOf, readContract } from './schema.ts'

const sdl = 'type Query { a: Int } type Mutation { b: Int }'
const resolver = () => 1

test('an operation without a resolver, or a resolver without an operation, stops the start', () => {
  createSchema({ a: resolver, b: resolver }, sdl)
  assert.throws(() => createSchema({ a: resolver }, sdl), /Operations without a resolver: b/)
  assert.throws(() => createSchema({ a: resolver, b: resolver, c: resolver }, sdl), /without an operation .*: c/)
  assert.throws(
    () => createSchema({ a: resolver }, 'type Query { a: Int } type Mutation { a: Int }'),
    /is two operations/,
  )
})

test('the served operations are those of the policy table', () => {
  const served = operationsOf(buildASTSchema(parse(readContract())))
  assert.deepEqual([...served].sort(), Object.keys(POLICY).sort())
})
