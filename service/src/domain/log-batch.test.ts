import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BatchBounds, fillBatch, type LogExtent } from './log-batch.ts'
import type { LogCursor } from './log-cursor.ts'
import { decodeUtf8 } from './utf8.ts'

const CASES = 10_000
/** Small, so that a case of a few hundred bytes has everything in it that one of many megabytes has. */
const BOUNDS: BatchBounds = { lines: 6, bytes: 128, piece: 128, window: 136 }

type Stream = 'stdout' | 'stderr'
type Streams = Readonly<Record<Stream, Buffer>>

const between = (low: number, high: number): number => low + Math.floor(Math.random() * (high - low + 1))
const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, () => between(0, 255)))

const PARTS: readonly (() => Buffer)[] = [
  () => Buffer.from('a line of ordinary output\n'),
  () => Buffer.from('windows line\r\n'),
  () => Buffer.from('\rprogress 10 %\rprogress 20 %'),
  () => Buffer.from('\n'.repeat(between(1, 20))),
  () => Buffer.from('é🦖ключ秘密'),
  // The beginning of a character that never comes, and the rest of one that never began.
  () => Buffer.from('🦖').subarray(0, between(1, 3)),
  () => Buffer.from('秘').subarray(between(1, 2)),
  () => Buffer.of(0xed, 0xa0, 0x80, 0xc0, 0xaf, 0xf4, 0x90, 0x80, 0x80),
  () => Buffer.from('\0\0'),
  () => Buffer.from('\u001b[31mred\u001b[0m\u0007'),
  () => Buffer.from('\ufeff'),
  () => Buffer.alloc(between(100, 700), 'one very long line '),
  () => Buffer.from('é'.repeat(between(50, 300))),
  () => Buffer.alloc(between(1, 200), 0xff),
  () => bytesOf(between(1, 60)),
]

const stream = (): Buffer =>
  Buffer.concat(Array.from({ length: between(0, 8) }, () => PARTS[between(0, PARTS.length - 1)]!()))

const START: LogCursor = { stdout: 0, stderr: 0 }

const windowsOf = (all: Streams, extent: LogExtent, cursor: LogCursor): Streams => {
  const window = (of: Stream): Buffer => all[of].subarray(cursor[of], Math.min(extent[of], cursor[of] + BOUNDS.window))
  return { stdout: window('stdout'), stderr: window('stderr') }
}

interface Read {
  readonly text: Readonly<Record<Stream, string>>
  readonly cursors: readonly LogCursor[]
  readonly batches: readonly string[]
}

/** Reads to the end while `extents` say how much has come at each read; the last of them is finished. */
function readAll(all: Streams, from: LogCursor, extents: readonly LogExtent[]): Read {
  const text = { stdout: '', stderr: '' }
  const cursors: LogCursor[] = []
  const batches: string[] = []
  let cursor = from
  for (let at = 0; ; at++) {
    const extent = extents[Math.min(at, extents.length - 1)]!
    const batch = fillBatch(extent, cursor, windowsOf(all, extent, cursor), BOUNDS)
    const lines = [...batch.stdout, ...batch.stderr]
    assert.ok(lines.length <= BOUNDS.lines, 'no more lines than a batch may hold')
    const size = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0)
    assert.ok(size <= BOUNDS.bytes, `${size} bytes in a batch`)
    for (const line of lines) assert.doesNotMatch(line, /\n./s, 'one line, and not two')
    cursors.push(cursor)
    batches.push(JSON.stringify(batch))
    for (const one of ['stdout', 'stderr'] as const) text[one] += batch[one].join('')
    if (batch.finished) {
      assert.deepEqual(batch.next, { stdout: all.stdout.length, stderr: all.stderr.length })
      return { text, cursors, batches }
    }
    const moved = batch.next.stdout + batch.next.stderr > cursor.stdout + cursor.stderr
    assert.ok(moved || !extent.finished, 'a reader of a log that has ended comes on')
    cursor = batch.next
  }
}

/** How much has come, look by look: anything between nothing new and all of it. */
function arrival({ stdout, stderr }: Streams): LogExtent[] {
  const extents: LogExtent[] = []
  for (let come = { stdout: 0, stderr: 0 }; come.stdout < stdout.length || come.stderr < stderr.length; ) {
    const most = between(1, 150)
    come = {
      stdout: Math.min(stdout.length, come.stdout + between(0, most)),
      stderr: Math.min(stderr.length, come.stderr + between(0, most)),
    }
    extents.push({ ...come, finished: false })
  }
  return [...extents, { stdout: stdout.length, stderr: stderr.length, finished: true }]
}

test(`in ${CASES} logs of any bytes all batches in a row are the stream, from every cursor and however it comes`, () => {
  for (let number = 0; number < CASES; number++) {
    const all: Streams = { stdout: stream(), stderr: stream() }
    const wanted = { stdout: decodeUtf8(all.stdout), stderr: decodeUtf8(all.stderr) }
    const hex = () => `${all.stdout.toString('hex')} and ${all.stderr.toString('hex')}`
    const end: LogExtent = { stdout: all.stdout.length, stderr: all.stderr.length, finished: true }

    const late = readAll(all, START, [end])
    assert.deepEqual(late.text, wanted, hex())
    assert.deepEqual(readAll(all, START, [end]).batches, late.batches, 'the same again')

    const early = readAll(all, START, arrival(all))
    assert.deepEqual(early.text, wanted, hex())

    // Somebody who came on while it was written, and somebody who reads from there afterwards.
    const from = early.cursors[between(0, early.cursors.length - 1)]!
    const rest = readAll(all, from, [end])
    for (const one of ['stdout', 'stderr'] as const) {
      assert.equal(rest.text[one], decodeUtf8(all[one].subarray(from[one])), hex())
      assert.equal(decodeUtf8(all[one].subarray(0, from[one])) + rest.text[one], wanted[one], hex())
    }
  }
})

test('what is invalid becomes U+FFFD as the standard says it', () => {
  for (let number = 0; number < 1_000; number++) {
    const bytes = stream()
    const standard = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
    const end = { stdout: bytes.length, stderr: 0, finished: true }
    assert.equal(readAll({ stdout: bytes, stderr: Buffer.alloc(0) }, START, [end]).text.stdout, standard)
  }
})

test('a piece that was read while its line was written is the piece that is read later', () => {
  for (let number = 0; number < 2_000; number++) {
    const parts = ['é', '🦖', 'x', '秘']
    const line = Array.from({ length: between(40, 200) }, () => parts[between(0, 3)]).join('')
    const all: Streams = { stdout: Buffer.from(line), stderr: Buffer.alloc(0) }
    const end = { stdout: all.stdout.length, stderr: 0, finished: true }
    const late = readAll(all, START, [end])
    const early = readAll(all, START, arrival(all))
    const came = (read: Read) => read.batches.map((one) => JSON.parse(one).stdout).filter((one) => one.length > 0)
    assert.deepEqual(came(early), came(late), line)
  }
})
