import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Hidden, isWithin, type Kept, mountFlags, viewLines } from './view.ts'

const lines = (kept: readonly Kept[], hidden: readonly Hidden[], stages = ['/mnt', '/srv']) =>
  viewLines({ kept, hidden, stages, flagsOf: () => ['relatime'] })

const rw = (path: string): Kept => ({ path, readOnly: false })
const ro = (path: string): Kept => ({ path, readOnly: true })
const folder = (path: string): Hidden => ({ path, directory: true })

const EMPTY = 'mount -n -t tmpfs -o mode=0755,size=64k none'

test('nothing to hide and nothing to fix takes no line', () => {
  assert.deepEqual(lines([rw('/data/run')], []), [])
})

test('what is kept inside of a hidden folder is brought along at its own path', () => {
  assert.deepEqual(lines([rw('/data/runs/1'), ro('/data/cache')], [folder('/data')]), [
    `${EMPTY} '/mnt'`,
    "mkdir -p '/mnt/cache' '/mnt/runs/1'",
    "mount -n --rbind -o ro,relatime '/data/cache' '/mnt/cache'",
    "mount -n --rbind -o rw,relatime '/data/runs/1' '/mnt/runs/1'",
    "mount -n --move '/mnt' '/data'",
  ])
})

test('a hidden folder with nothing kept inside is empty, and a hidden file too', () => {
  assert.deepEqual(lines([rw('/work')], [folder('/data'), { path: '/run/engine.sock', directory: false }]), [
    `${EMPTY} '/data'`,
    "mount -n --bind /dev/null '/run/engine.sock'",
  ])
})

test('what is hidden inside of something hidden takes nothing, inside of something kept it takes a line', () => {
  assert.deepEqual(lines([rw('/data/run')], [folder('/data'), folder('/data/other'), folder('/data/run/secret')]), [
    `${EMPTY} '/mnt'`,
    "mkdir -p '/mnt/run'",
    "mount -n --rbind -o rw,relatime '/data/run' '/mnt/run'",
    "mount -n --move '/mnt' '/data'",
    `${EMPTY} '/data/run/secret'`,
  ])
})

test('what is kept inside of something that is hidden twice is brought along once, by the outer one', () => {
  assert.deepEqual(lines([rw('/top/data/run')], [folder('/top/data'), folder('/top')]), [
    `${EMPTY} '/mnt'`,
    "mkdir -p '/mnt/data/run'",
    "mount -n --rbind -o rw,relatime '/top/data/run' '/mnt/data/run'",
    "mount -n --move '/mnt' '/top'",
  ])
})

test('read-only inside of the working folder, and writable inside of read-only', () => {
  assert.deepEqual(lines([rw('/run'), ro('/run/venv'), rw('/run/venv/tmp')], []), [
    "mount -n --rbind -o ro,relatime '/run/venv' '/run/venv'",
    "mount -n --rbind -o rw,relatime '/run/venv/tmp' '/run/venv/tmp'",
  ])
})

test('what is named twice stays visible, and read-only if one asks for that', () => {
  assert.deepEqual(lines([ro('/cache'), rw('/cache')], [folder('/cache')]), [
    "mount -n --rbind -o ro,relatime '/cache' '/cache'",
  ])
})

test('the staging place is none that holds a path of the command', () => {
  const [first] = lines([rw('/mnt/data/run')], [folder('/mnt/data')])
  assert.equal(first, `${EMPTY} '/srv'`)
  assert.throws(() => lines([rw('/mnt/data/run')], [folder('/mnt/data')], ['/mnt']), /staging place/)
})

test('a path is a word of the shell whatever is in it', () => {
  assert.deepEqual(lines([], [folder("/it's; rm -rf $HOME")]), [`${EMPTY} '/it'\\''s; rm -rf $HOME'`])
})

test('a name that begins like a folder does not lie in it', () => {
  assert.deepEqual(
    [isWithin('/data/runs-evil', '/data/runs'), isWithin('/data/runs', '/data/runs'), isWithin('/a', '/')],
    [false, true, true],
  )
})

test('the flags of a bind are those of the mount below', () => {
  const flags = mountFlags(
    [
      '22 1 254:0 / / rw,relatime - ext4 /dev/vda rw',
      '30 22 0:25 / /tmp rw,nosuid,nodev,noatime shared:1 - tmpfs tmpfs rw',
      '31 22 0:26 / /with\\040space rw,noexec - tmpfs tmpfs rw',
    ].join('\n'),
  )
  assert.deepEqual(flags('/home/x'), ['relatime'])
  assert.deepEqual(flags('/tmp/x'), ['nosuid', 'nodev', 'noatime'])
  assert.deepEqual(flags('/with space/x'), ['noexec'])
})
