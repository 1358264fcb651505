import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkInput } from './check-input.ts'

const schema = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1, maxLength: 5 },
    count: { type: 'integer', minimum: 1, maximum: 3 },
    kind: { type: 'string', enum: ['a', 'b'] },
    list: { type: 'array', maxItems: 2, items: { type: 'object', properties: { n: { type: ['number', 'null'] } } } },
  },
  required: ['path'],
  additionalProperties: false,
}

test('what is right is taken', () => {
  assert.equal(checkInput(schema, { path: 'x', count: 3, kind: 'b', list: [{ n: null }, { n: 1.5, more: 1 }] }), null)
})

test('everything that is wrong is said at once', () => {
  const text = checkInput(schema, { count: 0.5, kind: 'c', list: [{ n: 'x' }, {}, {}], more: 1, __proto__x: 2 })!
  for (const part of [
    'path: missing',
    'count: must be integer, not number',
    'kind: one of "a", "b"',
    'list: at most 2 entries, not 3',
    'list[0].n: must be number or null, not string',
    '"more": there is no such argument; known are path, count, kind, list',
  ]) {
    assert.ok(text.includes(part), `${part} in:\n${text}`)
  }
})

test('what is no object, too long, or holds a NUL is refused', () => {
  for (const wrong of [null, [], 'x', 7, undefined, { path: '' }, { path: 'abcdef' }, { path: 'a\0' }]) {
    assert.notEqual(checkInput(schema, wrong), null, JSON.stringify(wrong))
  }
})

test('a hostile schema is read as far as it is understood, and its patterns are never run', () => {
  const evil = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' }, b: { type: 7 }, c: null } }
  const before = performance.now()
  assert.equal(checkInput(evil, { a: `${'a'.repeat(40)}!`, b: 1, c: 2 }), null)
  assert.ok(performance.now() - before < 1000)
  let deep: Record<string, unknown> = { type: 'object' }
  for (let at = 0; at < 5000; at++) deep = { type: 'object', properties: { x: deep } }
  assert.equal(checkInput(deep, {}), null)
})
