import assert from 'node:assert/strict'
import { test } from 'node:test'
import { localPath } from './forms.ts'

test('only a path of ours is a place to go to after signing in', () => {
  const good = ['/graphiql', '/', '/a/b?c=d&e=%2F%2F', '/account/password', '/a#b', '/x?u=http://evil.example']
  assert.deepEqual(good.map(localPath), [
    '/graphiql',
    '/',
    '/a/b?c=d&e=%2F%2F',
    '/account/password',
    '/a',
    '/x?u=http://evil.example',
  ])
  const bad = [
    '',
    'graphiql',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '/.//evil.example',
    '/x/..//evil.example',
    '/%2e//evil.example',
    '/ä',
    `/${'a'.repeat(2001)}`,
    undefined,
    ['/graphiql'],
  ]
  for (const one of bad) assert.equal(localPath(one), '/', JSON.stringify(one))
})
