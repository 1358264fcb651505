// A command that writes much, for the repository of a run: so many bytes in lines of mixed lengths on both streams, or in
// one line on stdout. What it wrote, and how long that took, is left in a file.
//
//   node output-writer.mjs lines|line <bytes> <report file> [seed]
import { createHash } from 'node:crypto'
import { writeFileSync, writeSync } from 'node:fs'

const [kind, total, file, seed = '1'] = process.argv.slice(2)
let state = Number(seed)
const next = () => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return state / 2 ** 32
}
const WORDS = [
  'select',
  'from',
  'orders',
  'é',
  '🦖',
  'naïve',
  '数据',
  'ключ',
  '12:00:01.123',
  '\u001b[32mOK\u001b[0m',
  '\r',
]
/** Most lines are short, some are long, a few are very long. */
const lineLength = () => {
  const share = next()
  return share < 0.7 ? 20 + next() * 100 : share < 0.95 ? 200 + next() * 1800 : 2000 + next() * 18000
}
function line(length) {
  let text = ''
  while (text.length < length)
    text += `${WORDS[Math.floor(next() * WORDS.length)]} ${Math.floor(next() * 1e9).toString(36)} `
  return text
}
const BLOCK = 64 * 1024
const blocks = Array.from({ length: 48 }, () => {
  let text = ''
  while (Buffer.byteLength(text) < BLOCK) text += kind === 'line' ? line(2_000) : `${line(lineLength())}\n`
  return Buffer.from(text)
})

const hashes = { 1: createHash('sha256'), 2: createHash('sha256') }
const bytes = { 1: 0, 2: 0 }
function put(fd, block) {
  hashes[fd].update(block)
  bytes[fd] += block.length
  for (let at = 0; at < block.length; ) at += writeSync(fd, block, at)
}
/** Exactly as many bytes as are left, all of one letter, so that no character is cut. */
const filler = (left) => Buffer.from(`${'z'.repeat(left - 1)}\n`)

const began = performance.now()
for (let left = Number(total), at = 0; left > 0; at++) {
  const block = blocks[at % blocks.length]
  const fits = left > block.length
  put(kind === 'line' || at % 4 < 3 ? 1 : 2, fits ? block : filler(left))
  left -= fits ? block.length : left
}
const seconds = (performance.now() - began) / 1000
writeFileSync(
  file,
  JSON.stringify({
    stdout: hashes[1].digest('hex'),
    stderr: hashes[2].digest('hex'),
    bytes: [bytes[1], bytes[2]],
    seconds,
  }),
)
