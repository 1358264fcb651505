/**
 * The collector of files against a checkout that does its worst: a million files, a sparse file of a terabyte, every kind
 * of thing that is no file, and folders that change places with links all the while. Nothing from outside of the checkout
 * may come in, and it must not hang.
 *
 *   node e2e/faults/collector.ts [files] [tries] [seed]
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, ftruncateSync, linkSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { collect, snapshot } from '../../service/src/engine/worker/collect-artifacts.ts'
import { seeded } from '../support/random.ts'
import { startClock, summary } from '../support/report.ts'
import { temporaryFolder } from '../support/service.ts'

const [files = 1_000_000, wantedTries = 10_000, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number)
const random = seeded(seed)
const clock = startClock()
console.log(`seed ${seed}`)

const base = await temporaryFolder('collector')
const [root, outside] = [join(base, 'checkout'), join(base, 'outside')]
for (const folder of [root, outside]) mkdirSync(folder)
const SECRET = 'bytes-from-outside'
for (let at = 0; at < 50; at++) writeFileSync(join(outside, `f${at}`), SECRET)

const before = await snapshot(root, [])
let fromOutside = 0
let kept = 0
let slowest = 0

async function collectAll(): Promise<readonly string[]> {
  const began = performance.now()
  const found = await collect(root, before, { excluded: [] })
  slowest = Math.max(slowest, performance.now() - began)
  for (const file of found.files) {
    const stream = await file.open()
    if (stream === null) continue
    kept++
    if ((await buffer(stream)).includes(SECRET)) fromOutside++
  }
  return found.notes
}

// What is no file, or is more than one.
for (const [name, target] of [
  ['file', join(outside, 'f1')],
  ['folder', outside],
  ['up', '..'],
  ['around', '.'],
  ['environ', '/proc/self/environ'],
  ['zero', '/dev/zero'],
] as const) {
  symlinkSync(target, join(root, `link-${name}`))
}
linkSync(join(outside, 'f2'), join(root, 'hard'))
execFileSync('mkfifo', [join(root, 'pipe')])
const server = createServer().listen(join(root, 'socket'))
if (process.getuid?.() === 0) execFileSync('mknod', [join(root, 'device'), 'c', '1', '5'])
const sparse = openSync(join(root, 'sparse'), 'w')
ftruncateSync(sparse, 2 ** 40)
closeSync(sparse)
for (const name of ['..hidden', 'line\nbreak', '-rf', '%2e%2e%2fx', '\\..\\x']) writeFileSync(join(root, name), 'x')
writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xff])]), 'x')
await collectAll()
const oddKept = kept

// Folders that change places with links.
mkdirSync(join(root, 'd'))
for (let at = 0; at < 50; at++) writeFileSync(join(root, 'd', `f${at}`), 'inside')
const swapper = spawn('sh', ['-c', 'while [ ! -e ../stop ]; do mv d e; ln -s "$O" d; rm d; mv e d; done'], {
  cwd: root,
  env: { PATH: process.env.PATH, O: outside },
})
let tries = 0
while (tries < wantedTries) {
  const rounds = random.between(1, 3)
  for (let round = 0; round < rounds; round++) await collectAll()
  tries += rounds * 50
}
writeFileSync(join(base, 'stop'), '')
await once(swapper, 'exit')

// A million files.
const perFolder = 1_000
for (let folder = 0; folder * perFolder < files; folder++) {
  const path = join(root, `many-${folder % 100}`, String(folder))
  mkdirSync(path, { recursive: true })
  for (let at = 0; at < Math.min(perFolder, files - folder * perFolder); at++) writeFileSync(join(path, String(at)), '')
}
slowest = 0
const notes = await collectAll()
server.close()

summary('The collector of files', clock, [
  ['files of the checkout', files],
  ['odd things that were kept as files', oddKept, (count) => count === 5],
  ['tries while folders were exchanged', tries, (count) => count >= wantedTries],
  ['files with bytes from outside', fromOutside, (count) => count === 0],
  ['seconds for the million', slowest / 1000, (seconds) => seconds < 10],
  [
    'said that some were not looked at',
    notes.filter((one) => one.includes('not looked at')).length,
    (count) => count === (files > 200_000 ? 1 : 0),
  ],
  ['files kept of them', Math.min(kept, 1_000), (count) => count > 0],
])
