import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Called, callTool, checkoutAt } from '../../../../test/support/checkout-tools.ts'
import { freshFolder } from '../../../../test/support/executor.ts'
import { fileTools } from './files.ts'
import { isGitName, namesOf, PathRefused } from './paths.ts'
import { searchTools } from './search.ts'

const SECRET = 'canary-of-the-host'

interface Scene extends Disposable {
  readonly folder: string
  readonly outside: string
  call(name: string, input: Record<string, unknown>): Promise<Called>
}

function scene(): Scene {
  const place = freshFolder()
  const [folder, outside] = [join(place.path, 'tree'), join(place.path, 'outside')]
  mkdirSync(join(folder, 'models', 'staging'), { recursive: true })
  mkdirSync(join(folder, '.git'))
  mkdirSync(outside)
  writeFileSync(join(folder, '.git', 'config'), SECRET)
  writeFileSync(join(outside, 'secret'), SECRET)
  writeFileSync(join(folder, 'README.md'), 'one\ntwo\nthree\n')
  writeFileSync(join(folder, 'models', 'orders.sql'), 'select 1\nfrom orders\nwhere 1 = 1\n')
  writeFileSync(join(folder, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  const call = (name: string, input: Record<string, unknown>) =>
    callTool([...fileTools, ...searchTools], name, input, { checkout: checkoutAt(folder) })
  return { folder, outside, call, [Symbol.dispose]: () => place[Symbol.dispose]() }
}

test('a file is read whole, or by its lines, and a cut is said', async () => {
  using here = scene()
  const read = async (input: Record<string, unknown>) =>
    (await here.call('read_file', { path: 'README.md', ...input })).text
  assert.equal(await read({}), 'one\ntwo\nthree\n')
  assert.equal(await read({ path: `${here.folder}/README.md` }), 'one\ntwo\nthree\n')
  assert.equal(
    await read({ path: './/models/../models/orders.sql'.replace('../models/', '') }),
    'select 1\nfrom orders\nwhere 1 = 1\n',
  )
  assert.equal(await read({ from_line: 2, to_line: 2 }), 'two\n[lines 2-2 of 3]')
  assert.equal(await read({ from_line: 2, to_line: 99 }), 'two\nthree\n[lines 2-3 of 3]')
  assert.equal(await read({ from_line: 9 }), 'The file has 3 lines.')
  writeFileSync(join(here.folder, 'long'), Array.from({ length: 5000 }, (_, at) => `line ${at + 1}\n`).join(''))
  const long = await read({ path: 'long' })
  assert.match(long, /\nline 2000\n\[lines 1-2000 of 5000; read on with from_line 2001\]$/)
  writeFileSync(join(here.folder, 'wide'), 'x'.repeat(300_000))
  assert.ok((await read({ path: 'wide' })).length <= 100_100)
  writeFileSync(join(here.folder, 'binary'), Buffer.from([1, 0, 2]))
  assert.deepEqual(await here.call('read_file', { path: 'binary' }), {
    text: 'binary is not text in UTF-8 (3 bytes).',
    isError: true,
  })
  assert.deepEqual(await here.call('read_file', { path: 'nowhere' }), {
    text: 'nowhere: there is no such file or folder.',
    isError: true,
  })
  assert.ok((await here.call('read_file', { path: 'models' })).isError)
})

test('a folder is listed without its git folder', async () => {
  using here = scene()
  symlinkSync('README.md', join(here.folder, 'link'))
  assert.equal((await here.call('list_directory', {})).text, 'README.md\nlink -> README.md\nmodels/\nrun.sh')
  assert.equal((await here.call('list_directory', { path: 'models' })).text, 'orders.sql\nstaging/')
  assert.equal((await here.call('list_directory', { path: 'models/staging/' })).text, 'The folder is empty.')
  assert.ok((await here.call('list_directory', { path: 'README.md' })).isError)
})

test('an edit wants its text exactly and once, shows what changed, and keeps the mode', async () => {
  using here = scene()
  const edit = (old_text: string, new_text: string, more = {}) =>
    here.call('edit_file', { path: 'models/orders.sql', old_text, new_text, ...more })
  const done = await edit('from orders\n', 'from raw_orders\n')
  assert.equal(
    done.text,
    'Changed models/orders.sql.\n@@ from line 1 @@\n select 1\n-from orders\n+from raw_orders\n where 1 = 1\n ',
  )
  assert.ok((await edit('from orders', 'x')).isError)
  assert.match((await edit('1', '2')).text, /3 times/)
  assert.match((await edit('1', '2', { replace_all: true })).text, /in 3 places/)
  assert.equal(readFileSync(join(here.folder, 'models/orders.sql'), 'utf8'), 'select 2\nfrom raw_orders\nwhere 2 = 2\n')
  await here.call('edit_file', { path: 'run.sh', old_text: 'sh\n', new_text: 'sh\n$& $1 echo\n' })
  assert.equal(readFileSync(join(here.folder, 'run.sh'), 'utf8'), '#!/bin/sh\n$& $1 echo\n')
  assert.equal(statSync(join(here.folder, 'run.sh')).mode & 0o777, 0o755)
  assert.ok((await here.call('edit_file', { path: 'README.md', old_text: '', new_text: 'x' })).isError)
})

test('a file is written with the folders above it, and nothing else is left behind', async () => {
  using here = scene()
  const done = await here.call('write_file', { path: 'a/b/c.txt', content: 'x\n' })
  assert.deepEqual(done, { text: 'Wrote a/b/c.txt (1 lines).', isError: false })
  assert.match((await here.call('write_file', { path: 'a/b/c.txt', content: 'y\n' })).text, /-x\n\+y/)
  assert.match((await here.call('write_file', { path: 'a/b/c.txt', content: 'y\n' })).text, /already/)
  assert.deepEqual(readdirSync(join(here.folder, 'a/b')), ['c.txt'])
  for (const path of ['a', 'a/b/c.txt/d', '.', 'x'.repeat(300)])
    assert.ok((await here.call('write_file', { path, content: 'x' })).isError, path)
  assert.ok((await here.call('write_file', { path: 'large', content: 'x'.repeat(2_200_000) })).isError)
})

test('links inside of the checkout are followed, others refused, and what is no file too', async () => {
  using here = scene()
  const { folder, outside } = here
  symlinkSync('models/orders.sql', join(folder, 'inside'))
  symlinkSync('models', join(folder, 'folder'))
  assert.match((await here.call('read_file', { path: 'inside' })).text, /^select 1/)
  assert.match((await here.call('read_file', { path: 'folder/orders.sql' })).text, /^select 1/)
  await here.call('write_file', { path: 'inside', content: 'changed\n' })
  assert.equal(readFileSync(join(folder, 'models/orders.sql'), 'utf8'), 'changed\n')
  assert.ok(lstatSync(join(folder, 'inside')).isSymbolicLink())
  const links: Record<string, string> = {
    out: join(outside, 'secret'),
    up: '../outside/secret',
    above: '../outside',
    root: '/',
    proc: '/proc/self/environ',
    descriptor: '/proc/self/fd',
    own: '/proc/self/root',
    git: '.git',
    config: '.git/config',
    dangling: '../outside/new',
    round: 'round',
    twice: 'up',
    sibling: `${folder}x`,
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, name))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const paths = Object.keys(links).flatMap((name) => [
    name,
    `${name}/secret`,
    `${name}/new`,
    `${name}/environ`,
    `${name}/config`,
  ])
  for (const path of [...paths, 'pipe', 'root/etc/passwd', 'own/etc/passwd']) {
    for (const [tool, more] of [
      ['read_file', {}],
      ['list_directory', {}],
      ['write_file', { content: 'written' }],
      ['edit_file', { old_text: 'canary', new_text: 'written' }],
      ['ripgrep_search', { pattern: 'canary|root' }],
      ['search_files_and_directories', { pattern: '*' }],
    ] as const) {
      const { text, isError } = await here.call(tool, { path, ...more })
      assert.ok(!text.includes(SECRET) && !text.includes('root:x'), `${tool} ${path}`)
      assert.ok(isError, `${tool} ${path}: ${text}`)
    }
  }
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), SECRET)
  assert.deepEqual(readdirSync(outside), ['secret'])
  assert.equal(readFileSync(join(folder, '.git/config'), 'utf8'), SECRET)
  assert.ok(!existsSync(`${folder}x`))
})

/** Ways to say "above", "absolute" and "git folder", put together in every way that came to mind. */
function hostilePaths(): string[] {
  const ups = [
    '..',
    '../',
    '..//',
    './..',
    'models/..',
    'models/../..',
    'models/./../..',
    '../tree/..',
    '....//..',
    '..;/..',
  ]
  const targets = [
    'outside/secret',
    'outside',
    'etc/passwd',
    'proc/self/environ',
    '.git/config',
    'tree/.git/config',
    'outside/new',
    'root/.ssh/id_rsa',
    'var/log',
  ]
  const roots = [
    '/',
    '//',
    '///',
    '/./',
    '/../',
    '/proc/self/root/',
    '/proc/self/cwd/',
    '/proc/1/root/',
    '/dev/fd/',
    '/tmp/',
    '/tree/',
  ]
  const gits = [
    ...[
      '.git',
      '.GIT',
      '.Git',
      '.gIt',
      '.giT',
      '.git ',
      '.git.',
      '.git...',
      '.git . .',
      '.git::$INDEX_ALLOCATION',
      '.git:x',
      '.GIT:x',
    ],
    ...[
      'git~1',
      'GIT~1',
      'Git~2',
      'git~10',
      'git~1 ',
      '.g\u200cit',
      '.\u200dgit',
      '.gi\ufefft',
      '\u200e.git',
      '.git\u202e',
      '.gi\u206ft',
    ],
    ...['．git', '.ｇｉｔ', '.gi\u200ct.', '.GI\u200fT '],
  ]
  const controls = ['\0', '\n', '\r', '\t', '\x1b', '\x7f']
  const all = [
    ...ups.flatMap((up) => targets.flatMap((target) => [`${up}/${target}`, `models/staging/../../${up}/${target}`])),
    ...roots.flatMap((root) => targets.map((target) => `${root}${target}`)),
    ...gits.flatMap((git) => [
      git,
      `${git}/`,
      `${git}/config`,
      `./${git}/config`,
      `models/${git}`,
      `models/${git}/config`,
      `${git}/../README.md`,
      `new/${git}/HEAD`,
    ]),
    ...controls.flatMap((one) => [`README.md${one}`, `${one}README.md`, `models/${one}/x`, `../${one}outside/secret`]),
    'a/'.repeat(3000),
    'x'.repeat(256),
    `${'x'.repeat(256)}/y`,
    '\ud800',
    'models/\udfff/x',
    '..',
    '../',
    '/',
    '/etc/passwd',
    '/proc/self/environ',
    '/proc/self/mem',
  ]
  return [...new Set(all)]
}

test('no hostile path reaches anything outside of the checkout or the git folder', async (t) => {
  using here = scene()
  const paths = hostilePaths()
  assert.ok(paths.length > 500, String(paths.length))
  t.diagnostic(`${paths.length} paths`)
  for (const path of paths) {
    assert.throws(() => namesOf(here.folder, path), PathRefused, JSON.stringify(path))
    for (const [tool, more] of [
      ['read_file', {}],
      ['list_directory', {}],
      ['write_file', { content: 'written' }],
      ['edit_file', { old_text: 'canary', new_text: 'written' }],
      ['ripgrep_search', { pattern: 'canary' }],
    ] as const) {
      const { text, isError } = await here.call(tool, { path, ...more })
      assert.ok(isError && !text.includes(SECRET), `${tool} ${JSON.stringify(path)}: ${text}`)
    }
  }
  assert.deepEqual(readdirSync(join(here.folder, '..')).sort(), ['outside', 'tree'])
  assert.deepEqual(readdirSync(here.folder).sort(), ['.git', 'README.md', 'models', 'run.sh'])
  assert.deepEqual(readdirSync(join(here.folder, '.git')), ['config'])
})

test('names that are only like it are fine', () => {
  for (const name of [
    '.gitignore',
    '.gitattributes',
    '.github',
    'git',
    '.gitkeep',
    'x.git',
    'git~',
    '..git',
    '...',
    'a..b',
    '~',
    '%2e%2e',
    '.git-x',
  ])
    assert.ok(!isGitName(name) && namesOf('/x', name).length === 1, name)
})

test('a link that is exchanged while files are read and written leads nowhere', async () => {
  using here = scene()
  const { folder, outside } = here
  mkdirSync(join(folder, 'real'))
  writeFileSync(join(folder, 'real', 'secret'), 'harmless')
  const racer = `cd '${folder}'; while :; do ln -sfn real swap; ln -sfn '${outside}' swap; done`
  const { spawn } = await import('node:child_process')
  const child = spawn('sh', ['-c', racer], { detached: true, stdio: 'ignore' })
  try {
    for (let count = 0; count < 300; count++) {
      const { text } = await here.call('read_file', { path: 'swap/secret' })
      assert.ok(!text.includes(SECRET))
      await here.call('write_file', { path: 'swap/secret', content: 'harmless' })
    }
  } finally {
    process.kill(-child.pid!, 'SIGKILL')
  }
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), SECRET)
})
