import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getIntrospectionQuery } from 'graphql'
import { BOMBS } from '../../../test/support/bombs.ts'
import { FIRST, testEdge } from '../../../test/support/edge.ts'
import { parseDocument, shapeOf } from './limits.ts'

test('every bomb of the corpus is refused by its limit or is cheap, and none becomes a fault', async () => {
  const edge = await testEdge()
  assert.ok(BOMBS.length >= 60)
  for (const { name, query, variables, status, says } of BOMBS) {
    const reply = await edge.ask(query, { workspace: FIRST.uid, variables })
    assert.equal(reply.status, status, `${name}: ${reply.text.slice(0, 300)}`)
    if (status === 400) assert.equal(reply.json.errors[0].extensions.code, 'BAD_REQUEST', name)
    if (says !== undefined)
      assert.ok(reply.json.errors[0].message.includes(says), `${name}: ${reply.text.slice(0, 300)}`)
  }
  assert.deepEqual(
    edge.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

test('no bomb executes anything that it should not', async () => {
  const edge = await testEdge()
  for (const { query } of BOMBS.filter(({ status }) => status === 400)) await edge.ask(query, { workspace: FIRST.uid })
  assert.equal(edge.calls.length, 0)
})

test('what the limits allow is allowed to the last one', async () => {
  const edge = await testEdge()
  const aliases = Array.from({ length: 15 }, (_, at) => `a${at}: ok`).join(' ')
  const roots = Array.from({ length: 10 }, (_, at) => `a${at}: listWorkspaces { ok }`).join(' ')
  const directives = '@include(if: true) ok '.repeat(19)
  const rows: [name: string, query: string][] = [
    ['15 aliases', `{ listWorkspaces { ${aliases} } }`],
    ['10 root fields', `{ ${roots} }`],
    ['20 directives', `{ listWorkspaces @include(if: true) { ok ${directives} } }`],
    ['the standard introspection query', getIntrospectionQuery()],
    [
      'the same with all it can ask for',
      getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true }),
    ],
  ]
  for (const [name, query] of rows) {
    const reply = await edge.ask(query)
    assert.equal(reply.status, 200, `${name}: ${reply.text.slice(0, 300)}`)
    assert.equal(reply.json.errors, undefined, name)
  }
})

test('twelve levels are allowed, by fragments as well', () => {
  const deep = (levels: number): string => `{${'a{'.repeat(levels - 1)}b${'}'.repeat(levels)}`
  shapeOf(parseDocument(deep(12)))
  assert.throws(() => shapeOf(parseDocument(deep(13))), { code: 'BAD_REQUEST', message: /at most 12 levels/ })
  const chain = (levels: number): string =>
    Array.from({ length: levels }, (_, at) => `fragment f${at} on T { a { ...f${at + 1} } }`).join(' ')
  shapeOf(parseDocument(`{ ...f0 } ${chain(11)} fragment f11 on T { b }`))
  assert.throws(() => shapeOf(parseDocument(`{ ...f0 } ${chain(12)} fragment f12 on T { b }`)), /at most 12 levels/)
})

test('the shape of an operation has its root fields in order, with fragments put in', () => {
  const document = parseDocument(
    'query A { x: a ...f ... on Query { c } b } query B { d } fragment f on Query { b ...g } fragment g on Query { e }',
  )
  const [first, second] = [...shapeOf(document).values()]
  assert.deepEqual(
    first!.rootFields.map(({ name, responseKey }) => `${responseKey}:${name}`),
    ['x:a', 'b:b', 'e:e', 'c:c'],
  )
  assert.deepEqual(
    second!.rootFields.map(({ name }) => name),
    ['d'],
  )
})

test('two names under one key are both mentioned', () => {
  const [shape] = [...shapeOf(parseDocument('{ a: listWorkspaces { ok } a: listUsers { ok } }')).values()]
  assert.deepEqual(
    shape!.rootFields.map(({ name }) => name),
    ['listWorkspaces', 'listUsers'],
  )
})
