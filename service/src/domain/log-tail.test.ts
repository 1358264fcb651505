import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastLines } from './log-tail.ts'

const end = (text: string, from = 0) => ({ bytes: Buffer.from(text), from })
const numbered = (word: string, count: number): string =>
  Array.from({ length: count }, (_, index) => `${word} ${index + 1}\n`).join('')
const most = { lines: 20, bytes: 4096 }

test('a silent stream leaves its room to the other', () => {
  const { lines } = lastLines(end(numbered('out', 50)), end(''), most)
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [20, 'out 31', 'out 50'])
})

test('both streams have their ends shown, stdout first, and where they begin', () => {
  const stdout = numbered('out', 50)
  const stderr = numbered('err', 50)
  const taken = lastLines(end(stdout), end(stderr), most)
  assert.equal(taken.lines.length, 20)
  assert.deepEqual(
    [taken.lines[0], taken.lines[9], taken.lines[10], taken.lines[19]],
    ['out 41', 'out 50', 'err 41', 'err 50'],
  )
  assert.ok(stdout.slice(taken.stdoutFrom).startsWith('out 41\n'))
  assert.ok(stderr.slice(taken.stderrFrom).startsWith('err 41\n'))
})

test('a line that begins before the window is left out, long ones are cut, and all of it stays under its limit', () => {
  const { lines, stdoutFrom } = lastLines(end('half a line\nwhole\n', 1000), end(''), most)
  assert.deepEqual([lines, stdoutFrom], [['whole'], 1012])
  const long = lastLines(end(`${'x'.repeat(600)}\n`.repeat(20)), end(''), most)
  assert.ok(Buffer.byteLength(long.lines.join('\n')) <= 4096)
  assert.ok(long.lines.length >= 7 && long.lines.every((line) => line.length === 501))
})

test('colours, bells and carriage returns are not shown, and empty lines are left out', () => {
  const { lines } = lastLines(end('\u001b[31mred\u001b[0m\u0007\r\n\n  \n\tindented\n'), end('no end'), most)
  assert.deepEqual(lines, ['red', '\tindented', 'no end'])
})
