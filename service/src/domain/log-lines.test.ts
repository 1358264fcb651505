import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import { formatCursor, parseCursor } from './log-cursor.ts'
import { BATCH_BYTES, BATCH_LINES, takeLines, WINDOW_BYTES } from './log-lines.ts'
import { cutBefore, decodeUtf8 } from './utf8.ts'

const ROOM = { lines: BATCH_LINES, bytes: BATCH_BYTES }
const take = (text: string | Buffer, ended: boolean) => takeLines(Buffer.from(text as string), ended, ROOM, true)

test('a line keeps its terminator, a carriage return before it stays, and a lone one ends nothing', () => {
  assert.deepEqual(take('a\r\nb\rc\n\nd\n', false).lines, ['a\r\n', 'b\rc\n', '\n', 'd\n'])
})

test('a last line without a terminator is delivered at the end and not before', () => {
  assert.deepEqual(take('a\nb', false), { lines: ['a\n'], consumed: 2, size: 2 })
  assert.deepEqual(take('a\nb', true), { lines: ['a\n', 'b'], consumed: 3, size: 3 })
})

test('a batch holds 1,000 lines at most', () => {
  const { lines, consumed } = take('x\n'.repeat(1_500), true)
  assert.deepEqual([lines.length, consumed], [1_000, 2_000])
})

test('a batch holds 1 MiB at most, in whole lines', () => {
  const line = `${'y'.repeat(399_999)}\n`
  assert.deepEqual(take(line.repeat(3), true).lines, [line, line])
})

test('a line of 1 MiB is whole, and one byte more makes it two pieces, of which the last has the terminator', () => {
  const whole = `${'z'.repeat(BATCH_BYTES - 1)}\n`
  assert.deepEqual(take(whole, false).lines, [whole])
  const more = take(`z${whole}`, false)
  assert.deepEqual([more.lines.length, more.consumed], [1, BATCH_BYTES])
  assert.deepEqual(take(`z${whole}`.slice(BATCH_BYTES), false).lines, ['\n'])
})

test('a piece ends between characters', () => {
  const text = `a${'🦖'.repeat(BATCH_BYTES / 4)}`
  const { lines, consumed } = take(Buffer.from(text).subarray(0, WINDOW_BYTES), false)
  assert.equal(consumed, BATCH_BYTES - 3)
  assert.ok(!lines[0]!.includes('\ufffd'))
})

test('a piece is at most 1 MiB also when every byte becomes three', () => {
  const { lines, consumed } = take(Buffer.alloc(BATCH_BYTES, 0xff), true)
  assert.ok(Buffer.byteLength(lines[0]!) <= BATCH_BYTES)
  assert.ok(consumed > BATCH_BYTES / 3 - 16)
})

test('a long line that is still being written is cut at the same place as later', () => {
  const bytes = Buffer.from(`${'é'.repeat(BATCH_BYTES)}\n`)
  const early = takeLines(bytes.subarray(0, BATCH_BYTES + 6), false, ROOM, true)
  const late = takeLines(bytes.subarray(0, WINDOW_BYTES), false, ROOM, true)
  assert.deepEqual([early.consumed, late.consumed], [BATCH_BYTES, BATCH_BYTES])
})

test('bytes decode the same in two parts as in one, wherever they are cut', () => {
  const samples = [
    'aé🦖\u0800\uffff\u{10ffff}',
    'e2 82',
    'f0 9f a6',
    'ed a0 80',
    'f4 90 80 80',
    'c0 af',
    '80 80 e2',
    'e0 80 80',
  ]
  const corpus = samples.map((one, at) => (at === 0 ? Buffer.from(one) : Buffer.from(one.replaceAll(' ', ''), 'hex')))
  for (let round = 0; round < 2_000; round++) {
    const parts = Array.from({ length: 4 }, () => corpus[Math.floor(Math.random() * corpus.length)]!)
    const random = Buffer.from(Array.from({ length: 4 }, () => Math.floor(Math.random() * 256)))
    const bytes = Buffer.concat([...parts, random])
    const cut = cutBefore(bytes, Math.floor(Math.random() * bytes.length))
    const whole = decodeUtf8(bytes)
    assert.equal(decodeUtf8(bytes.subarray(0, cut)) + decodeUtf8(bytes.subarray(cut)), whole, bytes.toString('hex'))
    assert.equal(whole, new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
  }
})

test('a cursor is two counts with a colon, null is the beginning, and anything else is refused', () => {
  assert.deepEqual(parseCursor(null), { stdout: 0, stderr: 0 })
  assert.deepEqual(parseCursor('12:345'), { stdout: 12, stderr: 345 })
  assert.equal(formatCursor(parseCursor('12:345')), '12:345')
  for (const bad of [
    '',
    '0',
    '0:',
    ':0',
    '-1:0',
    '01:0',
    '1.5:0',
    '0:0:0',
    ' 0:0',
    '0:0\n',
    '1e3:0',
    `${'9'.repeat(16)}:0`,
    '٣:0',
  ]) {
    assert.throws(
      () => parseCursor(bad),
      (error) => error instanceof AppError && error.code === 'INVALID_INPUT',
      bad,
    )
  }
})

test('whatever comes whenever, all that is delivered is the stream, and an old cursor gives the same again', () => {
  const corpus = ['a\n', '\r', '\r\n', 'é', '🦖', '\0', '\u001b[1m', 'long line without an end ', '\n'].map((one) =>
    Buffer.from(one),
  )
  corpus.push(Buffer.of(0xff), Buffer.of(0xe2, 0x82), Buffer.of(0xf0, 0x9f), Buffer.of(0x80))
  const room = { lines: 3, bytes: 48 }
  for (let round = 0; round < 2_000; round++) {
    const parts = Array.from({ length: 12 }, () => corpus[Math.floor(Math.random() * corpus.length)]!)
    const stream = Buffer.concat(parts)
    const delivered: string[] = []
    const cursors: number[] = []
    let [at, come] = [0, 0]
    while (at < stream.length) {
      come = Math.min(stream.length, come + Math.floor(Math.random() * 20))
      const ended = come === stream.length && Math.random() < 0.5
      const taken = takeLines(stream.subarray(at, come), ended, room, true)
      assert.ok(taken.lines.length <= 3 && (taken.size <= 48 || taken.lines.length === 1))
      if (taken.consumed > 0) cursors.push(at)
      delivered.push(...taken.lines)
      at += taken.consumed
    }
    assert.equal(delivered.join(''), decodeUtf8(stream))
    const from = cursors[Math.floor(Math.random() * cursors.length)] ?? 0
    const rest = takeLines(stream.subarray(from), true, ROOM, true)
    assert.equal(rest.lines.join(''), decodeUtf8(stream.subarray(from)))
    assert.ok(delivered.join('').endsWith(rest.lines.join('')))
  }
})
