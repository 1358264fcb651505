import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, ftruncateSync, openSync, readFileSync } from 'node:fs'
import { link, mkdir, mkdtemp, readFile, rename, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { DEFAULT_EXCLUDED, filePatterns } from '../../domain/file-pattern.ts'
import { writeFile as writeBeneath } from './beneath.ts'
import type { Collection, CollectLimits } from './collect-artifacts.ts'
import { collect, snapshot } from './collect-artifacts.ts'

interface Checkout extends AsyncDisposable {
  readonly root: string
  readonly outside: string
  write(path: string, content?: string | Buffer): Promise<void>
  /** What `work` makes of the checkout. */
  after(work: () => Promise<unknown>, limits?: Partial<CollectLimits>): Promise<Collection>
}

async function checkout(): Promise<Checkout> {
  const base = await mkdtemp(join(tmpdir(), 'yardmaster-collect-'))
  const [root, outside] = [join(base, 'checkout'), join(base, 'outside')]
  await mkdir(root)
  await mkdir(outside)
  await writeFile(join(outside, 'secret'), 'SECRET')
  return {
    root,
    outside,
    write: async (path, content = path) => {
      await mkdir(join(root, path, '..'), { recursive: true })
      await writeFile(join(root, path), content)
    },
    after: async (work, limits = {}) => {
      const excluded = limits.excluded ?? DEFAULT_EXCLUDED
      const before = await snapshot(root, excluded)
      await work()
      return await collect(root, before, { excluded, ...limits })
    },
    [Symbol.asyncDispose]: async () => await rm(base, { recursive: true, force: true }),
  }
}

async function contents({ files }: Collection): Promise<Record<string, string>> {
  const all: [string, string][] = []
  for (const file of files) {
    const stream = await file.open()
    if (stream !== null) all.push([file.path, (await buffer(stream)).toString()])
  }
  return Object.fromEntries(all)
}

test('what a command created or changed is found, and nothing else', async () => {
  await using t = await checkout()
  await t.write('models/old.sql')
  await t.write('models/changed.sql')
  await t.write('models/same-time.sql', 'aaaa')
  await utimes(join(t.root, 'models/same-time.sql'), 1, 1)
  const found = await t.after(async () => {
    await t.write('target/run_results.json', '{}')
    await t.write('models/changed.sql', 'new')
    await t.write('models/same-time.sql', 'bbbb')
    await utimes(join(t.root, 'models/same-time.sql'), 1, 1)
    await t.write('empty', '')
  })
  assert.deepEqual(await contents(found), {
    'target/run_results.json': '{}',
    empty: '',
    'models/changed.sql': 'new',
    'models/same-time.sql': 'bbbb',
  })
  assert.deepEqual(found.notes, [])
})

test('what is excluded is left out and said, except run_results.json and what a retry needs beside it', async () => {
  await using t = await checkout()
  const found = await t.after(
    async () => {
      for (const path of [
        '.git/config',
        'node_modules/a/b.js',
        'a/__pycache__/x.pyc',
        'dev.duckdb',
        'sub/dev.duckdb.wal',
      ])
        await t.write(path)
      for (const name of ['run_results.json', 'manifest.json', 'graph.gpickle', 'compiled/x.sql'])
        await t.write(`target/${name}`)
      await t.write('kept.txt')
    },
    { excluded: [...DEFAULT_EXCLUDED, 'target/**'] },
  )
  assert.deepEqual(
    found.files.map((one) => [one.path, one.listed]),
    [
      ['target/run_results.json', false],
      ['target/manifest.json', false],
      ['kept.txt', true],
    ],
  )
  assert.match(found.notes.join('\n'), /^4 files were not kept because they are excluded by the environment: /)
})

test('files that are too large, too many or too much together are left out and said', async () => {
  await using t = await checkout()
  const found = await t.after(
    async () => {
      await t.write('target/run_results.json', 'r'.repeat(50))
      await t.write('a-big', 'x'.repeat(101))
      for (const name of ['b', 'c', 'd', 'e']) await t.write(name, 'y'.repeat(90))
    },
    { maxFileBytes: 100, maxFiles: 4, maxBytes: 250 },
  )
  assert.deepEqual(
    found.files.map((one) => one.path),
    ['target/run_results.json', 'b', 'c'],
  )
  assert.equal(found.notes.length, 2)
  assert.match(found.notes.join('\n'), /"a-big"/)
  assert.match(found.notes.join('\n'), /2 files were not kept.*"d", "e"/)
  const few = await t.after(async () => await Promise.all(['1', '2', '3'].map((one) => t.write(one))), { maxFiles: 2 })
  assert.equal(few.files.length, 2)
  assert.match(few.notes.join(), /1 file was not kept because they are more than a run may keep: "3"/)
})

test('links, pipes, sockets and devices are never followed, opened or waited for', { timeout: 20_000 }, async () => {
  await using t = await checkout()
  const server = createServer()
  const started = performance.now()
  const found = await t.after(async () => {
    await symlink(join(t.outside, 'secret'), join(t.root, 'file-link'))
    await symlink(t.outside, join(t.root, 'folder-link'))
    await symlink('..', join(t.root, 'up'))
    await symlink('.', join(t.root, 'around'))
    await symlink('/proc/self/environ', join(t.root, 'environ'))
    await link(join(t.outside, 'secret'), join(t.root, 'hard'))
    execFileSync('mkfifo', [join(t.root, 'pipe')])
    await new Promise<void>((resolve) => server.listen(join(t.root, 'socket'), resolve))
    if (process.getuid?.() === 0) execFileSync('mknod', [join(t.root, 'device'), 'c', '1', '5'])
    const sparse = openSync(join(t.root, 'sparse'), 'w')
    ftruncateSync(sparse, 2 ** 40)
    closeSync(sparse)
    await t.write('ordinary')
  })
  await new Promise((resolve) => server.close(resolve))
  assert.deepEqual(await contents(found), { ordinary: 'ordinary' })
  assert.match(found.notes.join('\n'), /linked from outside of the checkout: "hard"/)
  assert.match(found.notes.join('\n'), /over 64 MiB: "sparse"/)
  assert.ok(performance.now() - started < 5_000)
})

test('two names of one file inside of the checkout are two files', async () => {
  await using t = await checkout()
  const found = await t.after(async () => {
    await t.write('one', 'same')
    await link(join(t.root, 'one'), join(t.root, 'two'))
  })
  assert.deepEqual(await contents(found), { one: 'same', two: 'same' })
})

test('odd names are kept where they can be written down, and said where not', async () => {
  await using t = await checkout()
  const found = await t.after(async () => {
    for (const name of ['line\nbreak', '..hidden', ' space ', '-rf', 'ünïcode 数据', '%2e%2e', '\\..\\x'])
      await t.write(name, 'x')
    await writeFile(Buffer.concat([Buffer.from(`${t.root}/`), Buffer.from([0x66, 0xff, 0x0a])]), 'x')
  })
  assert.deepEqual(
    found.files.map((one) => one.path).sort(),
    [' space ', '%2e%2e', '-rf', '..hidden', '\\..\\x', 'line\nbreak', 'ünïcode 数据'].sort(),
  )
  assert.equal(found.notes.length, 1)
  assert.match(found.notes[0]!, /names are not UTF-8/)
  assert.ok(!found.notes[0]!.includes('\n'), 'a note is one line')
})

test('a file that becomes something else before it is opened is not read', async () => {
  await using t = await checkout()
  const found = await t.after(async () => {
    await t.write('a')
    await t.write('folder/b')
    await t.write('c')
    await t.write('d')
    await t.write('e')
  })
  const open = (path: string) => found.files.find((one) => one.path === path)!.open()
  await rm(join(t.root, 'a'))
  await symlink(join(t.outside, 'secret'), join(t.root, 'a'))
  await rename(join(t.root, 'folder'), join(t.root, 'moved'))
  await writeFile(join(t.outside, 'b'), 'SECRET')
  await symlink(t.outside, join(t.root, 'folder'))
  await rm(join(t.root, 'c'))
  execFileSync('mkfifo', [join(t.root, 'c')])
  await link(join(t.root, 'd'), join(t.outside, 'd'))
  await rm(join(t.root, 'e'))
  assert.deepEqual(await Promise.all(['a', 'folder/b', 'c', 'd', 'e'].map(open)), [null, null, null, null, null])
})

test('a file that grows while it is read is cut at its size', async () => {
  await using t = await checkout()
  const found = await t.after(async () => await t.write('grows', 'x'.repeat(10)))
  const stream = await found.files[0]!.open()
  await truncate(join(t.root, 'grows'), 1_000_000)
  assert.equal((await buffer(stream!)).length, 10)
})

test('no bytes from outside come in while folders are exchanged for links all the time', {
  timeout: 30_000,
}, async (test) => {
  await using t = await checkout()
  let tries = 0
  for (let at = 0; at < 20; at++) await writeFile(join(t.outside, `f${at}`), 'SECRET')
  const before = await snapshot(t.root, [])
  for (let at = 0; at < 20; at++) await t.write(`d/f${at}`, 'inside')
  const script = 'mv d e; ln -s "$O" d; rm d; mv e d'
  const swapper = execFileSync.bind(null, 'sh', ['-c', `i=0; while [ $i -lt 20 ]; do ${script}; i=$((i+1)); done`], {
    cwd: t.root,
    env: { ...process.env, O: t.outside },
  })
  assert.doesNotThrow(swapper)
  const { spawn } = await import('node:child_process')
  const child = spawn('sh', ['-c', `while [ ! -e stop ]; do ${script}; done`], {
    cwd: t.root,
    env: { ...process.env, O: t.outside },
  })
  const seen = new Set<string>()
  try {
    while (tries < 1_000) {
      const found = await collect(t.root, before, { excluded: [] })
      tries += Math.max(1, found.files.length)
      for (const content of Object.values(await contents(found))) seen.add(content)
    }
  } finally {
    await writeFile(join(t.root, 'stop'), '')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  assert.ok(!seen.has('SECRET'))
  test.diagnostic(`${tries} tries, 0 bytes from outside`)
})

test('a checkout with more files than can be looked at in time is left in time, and that is said', async () => {
  await using t = await checkout()
  for (let at = 0; at < 300; at++) await t.write(`d${at % 10}/f${at}`)
  const found = await t.after(async () => await t.write('new'), { walkMs: 0 })
  assert.match(found.notes.join(), /some were not looked at/)
  const gone = await t.after(async () => await rm(t.root, { recursive: true }))
  assert.deepEqual(gone.files, [])
  assert.match(gone.notes.join(), /The checkout is gone/)
})

test('folders that are nested without end are left', async () => {
  await using t = await checkout()
  const found = await t.after(async () => {
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 150 ]; do mkdir d && cd d; i=$((i+1)); done; echo x > deep'], {
      cwd: t.root,
    })
    await t.write('e/new')
  })
  assert.deepEqual(
    found.files.map((one) => one.path),
    ['e/new'],
  )
  assert.match(found.notes.join(), /some were not looked at/)
})

test('writing into a checkout never goes through a link', async () => {
  await using t = await checkout()
  await symlink(t.outside, join(t.root, 'target'))
  await assert.rejects(writeBeneath(t.root, Buffer.from('target/run_results.json'), Readable.from([Buffer.from('x')])))
  assert.ok(!existsSync(join(t.outside, 'run_results.json')))
  await mkdir(join(t.root, 'other'))
  await symlink(join(t.outside, 'secret'), join(t.root, 'other/run_results.json'))
  await writeBeneath(t.root, Buffer.from('other/run_results.json'), Readable.from([Buffer.from('new')]))
  assert.equal(readFileSync(join(t.outside, 'secret'), 'utf8'), 'SECRET')
  assert.equal(await readFile(join(t.root, 'other/run_results.json'), 'utf8'), 'new')
  for (const path of ['../x', 'a/../x', '/x', 'a//b', '', '.', 'a\0b']) {
    await assert.rejects(writeBeneath(t.root, Buffer.from(path), Readable.from([])), /./, path)
  }
})

test('patterns are for names at any depth, or for paths from the root', () => {
  const fits = (pattern: string, path: string) => filePatterns([pattern]).matches(path)
  for (const [pattern, path] of [
    ['*.duckdb*', 'a/b/x.duckdb.wal'],
    ['.git/**', '.git/a/b'],
    ['**/__pycache__/**', '__pycache__/x'],
    ['**/__pycache__/**', 'a/b/__pycache__/c/x'],
    ['target/run/**', 'target/run/x'],
    ['logs', 'a/logs/b'],
    ['logs/', 'logs/b'],
    ['/top.txt', 'top.txt'],
    ['a/*/c', 'a/b/c/d'],
    ['data-[0-9]?.csv', 'x/data-1b.csv'],
    ['[!a]x', 'bx'],
    ['a\\*b', 'a*b'],
    ['**', 'any/thing'],
  ] as const) {
    assert.ok(fits(pattern, path), `${pattern} fits ${path}`)
  }
  for (const [pattern, path] of [
    ['*.duckdb', 'x.duckdb.wal'],
    ['.git/**', 'a/.git/b'],
    ['.git/**', '.gitignore'],
    ['target/run/**', 'target/run_results.json'],
    ['/top.txt', 'a/top.txt'],
    ['a/*/c', 'a/b/d/c'],
    ['[!a]x', 'ax'],
    ['', 'a'],
  ] as const) {
    assert.ok(!fits(pattern, path), `${pattern} does not fit ${path}`)
  }
  const slow = performance.now()
  assert.ok(!fits(`${'*a'.repeat(100)}b`, 'a'.repeat(5_000)))
  assert.ok(!fits(`${'**/a/'.repeat(50)}b`, 'a/'.repeat(200)))
  assert.ok(performance.now() - slow < 2_000)
})
