import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import { hasControl, parseEmail, parseInstant, parseName, refuseNul, storable } from './text.ts'

const refused = (work: () => unknown, words: RegExp): void => {
  assert.throws(
    work,
    (error) => error instanceof AppError && error.code === 'INVALID_INPUT' && words.test(error.message),
  )
}

test('an address is taken as it is written, without the space around it', () => {
  const good = [
    'ana@example.com',
    ' Ana.Lima+jobs@Example.COM ',
    "o'neil@sub.example.co",
    'root@localhost',
    'ä@example.com',
  ]
  for (const text of good) assert.equal(parseEmail(text), text.trim())
})

test('what is no address, or could smuggle a second one into a mail, is refused and the field is named', () => {
  const bad = [
    '',
    ' ',
    'ana',
    'ana@',
    '@example.com',
    'ana@@example.com',
    'ana@example.com,ben@example.com',
    'ana@example.com;ben@example.com',
    'Ana <ana@example.com>',
    'ana@example.com\nBcc: ben@example.com',
    'ana\r@example.com',
    'a\u0000@example.com',
    'a\u0007@example.com',
    'ana@-example.com',
    'ana@example-.com-',
    'ana@exam..ple.com',
    'an a@example.com',
    'ana@exa mple.com',
    '"ana"@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(300)}.com`,
  ]
  for (const text of bad) refused(() => parseEmail(text, 'ownerEmail'), /^ownerEmail: /)
})

test('a name is one line of 1 to 128 characters', () => {
  assert.equal(parseName('  Demo – 東京 '), 'Demo – 東京')
  assert.equal(parseName('x'.repeat(128)).length, 128)
  refused(() => parseName('  '), /^name: must not be empty/)
  refused(() => parseName('x'.repeat(129), 'displayName'), /^displayName: at most 128 characters, not 129/)
  for (const text of ['a\nb', 'a\u0000b', 'a\u007fb', 'a\tb']) refused(() => parseName(text), /no line breaks/)
})

test('control characters are found anywhere, other characters are not', () => {
  assert.ok(hasControl('\u001f') && hasControl('ab\u007f') && hasControl('\n'))
  assert.ok(!hasControl('') && !hasControl('plain é 🦖 \u00a0'))
})

test('a text that PostgreSQL cannot hold is refused', () => {
  assert.equal(refuseNul('fine', 'value'), 'fine')
  refused(() => refuseNul('a\u0000', 'value'), /^value: /)
})

test('a time of a filter is a date with an optional time, fraction and offset; without an offset it is UTC', () => {
  const good: Record<string, string> = {
    '2026-03-02': '2026-03-02Z',
    '2026-03-02 10:11': '2026-03-02 10:11Z',
    ' 2026-03-02T10:11:12 ': '2026-03-02T10:11:12Z',
    '2026-03-02 10:11:12.123456': '2026-03-02 10:11:12.123456Z',
    '2026-03-02T10:11:12.1Z': '2026-03-02T10:11:12.1Z',
    '2026-03-02 10:11:12+02:00': '2026-03-02 10:11:12+02:00',
    '2026-03-02 10:11:12-15:59': '2026-03-02 10:11:12-15:59',
    '2024-02-29': '2024-02-29Z',
  }
  for (const [text, instant] of Object.entries(good)) assert.equal(parseInstant(text, 'from'), instant)
})

test('what is no time is refused before the database sees it', () => {
  const bad = [
    '',
    'yesterday',
    'now',
    'infinity',
    '2026-3-2',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-32',
    '0000-01-01',
    '2026-01-01 24:00',
    '2026-01-01 10:60',
    '2026-01-01 10:11:60',
    '2026-01-01 10:11:12.1234567',
    '2026-01-01 10:11:12+16:00',
    '2026-01-01 10:11:12+02:60',
    '2026-01-01 10:11:12+99:99',
    '2026-01-01 10:11:12 BC',
    "2026-01-01'; select 1",
    '2026-01-01\u0000',
    '20260101',
    '١٠٢٦-٠١-٠١',
  ]
  for (const text of bad) refused(() => parseInstant(text, 'to'), /^to: not a time/)
})

test('a storable value has no NUL and no half of a pair in it, and is otherwise the same', () => {
  const given = { a: 'x\0y', 'k\0': ['\ud83d', '\ud83d\ude00'], n: 1, none: null, no: false }
  assert.deepEqual(storable(given), {
    a: 'x\uFFFDy',
    'k\uFFFD': ['\uFFFD', '\ud83d\ude00'],
    n: 1,
    none: null,
    no: false,
  })
})
