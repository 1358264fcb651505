import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseReference } from './git-reference.ts'

test('branches, tags and commits are taken as they are', () => {
  for (const name of ['main', 'feature/x-1', 'v1.2.3', 'c0ffee'.padEnd(40, '0'), 'ünïcode', 'a@b']) {
    assert.equal(parseReference(name), name)
  }
})

test('what git would read as something else is none', () => {
  const hostile = [
    '',
    '-',
    '--upload-pack=x',
    'a..b',
    'a b',
    'x:y',
    'a~1',
    'a^',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    '@',
    'a@{1}',
  ]
  for (const text of [
    ...hostile,
    '/a',
    'a/',
    'a//b',
    'a.',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a\nb',
    'x'.repeat(256),
  ]) {
    assert.equal(parseReference(text), null, text)
  }
})
