// Hostile addresses, references and repositories. Each would like to run a program on this machine (it would leave a
// canary) or to bring something from outside of the checkout into it. What bites is shown first, with git called as one
// would without thinking.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import { SourceFault } from '../../ports/source.ts'
import { gitSource } from './git.ts'

let host: GitHost
let canary: string
let outside: string
let origin: string
let count = 0

before(async () => {
  host = await gitHost('local path')
  canary = join(host.folder, 'canary')
  outside = join(host.folder, 'outside')
  origin = host.repository.url
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), SECRET)
})
after(async () => {
  await host[Symbol.asyncDispose]()
})

const SECRET = 'bytes-from-outside-of-the-checkout'

/** Checks out with the adapter; gives what came of it. */
async function tried(url: string, reference: string): Promise<'refused' | 'laid out'> {
  const source = gitSource({
    folder: join(host.folder, 'mirrors'),
    path: host.path,
    timeoutMs: 20_000,
    now: () => Date.now(),
  })
  const folder = join(host.folder, 'checkouts', String(++count))
  const repository = { ...host.repository, url }
  let outcome: 'refused' | 'laid out' = 'laid out'
  try {
    await source.checkout(repository, reference, folder, async () => {}, new AbortController().signal)
  } catch (error) {
    assert.ok(error instanceof SourceFault, `${url} ${reference}: ${error}`)
    outcome = 'refused'
  }
  assert.ok(!existsSync(canary), `a program ran: ${url} ${reference}`)
  assert.equal(bytesFromOutside(folder), 0, `${url} ${reference}`)
  rmSync(folder, { recursive: true, force: true })
  return outcome
}

/** How many files hold them; grep follows no links on its way down. */
function bytesFromOutside(folder: string): number {
  const { stdout } = spawnSync('grep', ['-rlaZF', '--', SECRET, folder])
  return String(stdout).split('\0').length - 1
}

const naive = (...argv: string[]) =>
  spawnSync('git', argv, { cwd: origin, env: { PATH: host.path, HOME: host.folder }, timeout: 20_000 })

test('the traps are real: git called without thinking runs them', () => {
  const bites = (what: string, ...argv: string[]): void => {
    naive(...argv)
    assert.ok(existsSync(canary), what)
    rmSync(canary)
  }
  bites('a branch that is an option', 'fetch', origin, `--upload-pack=touch ${canary};`)
  bites('an address that is an option', 'clone', `--upload-pack=touch ${canary};`, origin, join(host.folder, 'naive'))
  bites('a transport helper', '-c', 'protocol.ext.allow=always', 'ls-remote', `ext::touch ${canary}`)
})

const addresses = (): string[] => [
  `ext::touch ${canary}`,
  `ext::sh -c touch% ${canary}`,
  `EXT::touch ${canary}`,
  'fd::0',
  'fd::17/18',
  `file://${origin}`,
  `FILE://${origin}`,
  `file:${origin}`,
  `file::${origin}`,
  `--upload-pack=touch ${canary};`,
  `-utouch ${canary};`,
  `--config=core.fsmonitor=touch ${canary}`,
  '--template=/tmp',
  '-',
  '--',
  `-oProxyCommand=touch ${canary}`,
  `-oProxyCommand=touch$IFS${canary}@localhost:x`,
  `ssh://-oProxyCommand=touch%20${encodeURIComponent(canary)}/x`,
  `ssh://-oProxyCommand=touch ${canary}/x`,
  `ssh://git@-oProxyCommand=touch/x`,
  `ssh://%2doProxyCommand=touch@localhost/x`,
  `ssh://localhost/%2d-upload-pack=touch%20${encodeURIComponent(canary)}`,
  `ssh://localhost/-oProxyCommand=touch`,
  `ssh://localhost:-oProxyCommand=touch/x`,
  `ssh://git%0d%0a@localhost/x`,
  `git@-oProxyCommand=touch:x`,
  `git@localhost:-oProxyCommand=touch`,
  `git@localhost:--upload-pack=touch`,
  `git@localhost://etc`,
  'git://localhost/x',
  'ftp://localhost/x',
  'ftps://localhost/x',
  'rsync://localhost/x',
  `http::http://localhost/x`,
  'testgit::/x',
  'persistent-https://localhost/x',
  'javascript:alert(1)',
  'https://localhost/x\nhost=example.com',
  'https://localhost/x\r\nhost: example.com',
  'https://local host/x',
  'https://',
  'https://-localhost/x',
  `https://localhost/%2d-upload-pack`,
  'relative/path',
  '../up',
  '~/home',
  '.',
  '',
  `${origin}\0`,
  `${origin}/$(touch ${canary})`,
  `${origin}';touch ${canary};'`,
  `${origin}\`touch$IFS${canary}\``,
  join('/', 'nonexistent', '--upload-pack=touch'),
  'C:\\x',
  '\\\\localhost\\share',
]

test('no hostile address runs a program or reads a file', async (t) => {
  const all = addresses()
  for (const url of all) assert.equal(await tried(url, 'main'), 'refused', url)
  t.diagnostic(`${all.length} addresses`)
})

const references = (): string[] => [
  `--upload-pack=touch ${canary};`,
  `--upload-pack=touch$IFS${canary}`,
  '--help',
  '--',
  '-',
  '-c',
  'a..b',
  'main..main',
  'main...main',
  '@{-1}',
  'main@{1}',
  '@',
  'HEAD~0',
  'main^',
  'main^{tree}',
  'main:README.md',
  ':/Change',
  ':README.md',
  'main\n',
  'main\r\nmain',
  'main\0',
  '',
  '.',
  '..',
  '../../../etc/passwd',
  '/etc/passwd',
  'refs/../../x',
  'main.lock',
  'a//b',
  '.hidden',
  'main/.x',
  'main.',
  'main/',
  '*',
  'ma?n',
  'ma[i]n',
  'main ^other',
  '+refs/heads/*:refs/heads/*',
  '$(touch$IFS$canary)',
  '`id`',
  ';id',
  '|id',
  'x'.repeat(300),
  'main\\',
  'HEAD',
  'FETCH_HEAD',
]

test('no hostile branch, tag or commit is more than a name that is not there', async (t) => {
  const all = references()
  for (const reference of all) assert.equal(await tried(origin, reference), 'refused', JSON.stringify(reference))
  t.diagnostic(`${all.length} references`)
})

type Entry = readonly [mode: string, name: string | Buffer, content: string | readonly Entry[]]

const store = (type: string, content: Buffer): string =>
  execFileSync('git', ['hash-object', '-w', '-t', type, '--literally', '--stdin'], {
    cwd: origin,
    input: content,
    env: { PATH: host.path },
  })
    .toString()
    .trim()

/** A tree as it stands, whatever git would say to its names. */
function tree(entries: readonly Entry[]): string {
  const lines = entries.map(([mode, name, content]) => {
    const id =
      mode === '160000'
        ? String(content)
        : typeof content === 'string'
          ? store('blob', Buffer.from(content))
          : tree(content)
    return Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(id, 'hex')])
  })
  return store('tree', Buffer.concat(lines))
}

function branchOf(name: string, entries: readonly Entry[]): void {
  const env = { PATH: host.path, GIT_DIR: origin }
  const who = 'Test <test@example.com> 1700000000 +0000'
  const commit = store('commit', Buffer.from(`tree ${tree(entries)}\nauthor ${who}\ncommitter ${who}\n\nx\n`))
  execFileSync('git', ['update-ref', `refs/heads/${name}`, commit], { env })
}

const FILE = '100644'
const PROGRAM = '100755'
const LINK = '120000'
const FOLDER = '40000'

const repositories = (): Record<string, readonly Entry[]> => {
  const hook = `#!/bin/sh\ntouch ${canary}\n`
  const hooks: Entry = [FOLDER, 'hooks', [[PROGRAM, 'post-checkout', hook]]]
  const asGit = (name: string | Buffer): readonly Entry[] => [
    [FOLDER, name, [[FILE, 'config', `[core]\n\tfsmonitor = touch ${canary}\n\thooksPath = hooks\n`], hooks]],
  ]
  const modules = (text: string): readonly Entry[] => [
    [FILE, '.gitmodules', text],
    ['160000', 'sub', '1'.repeat(40)],
  ]
  return {
    'a folder .git': asGit('.git'),
    'a folder .GIT': asGit('.GIT'),
    'a folder .Git': asGit('.Git'),
    'a folder git~1': asGit('git~1'),
    'a folder GIT~1': asGit('GIT~1'),
    'a folder .git with a space': asGit('.git '),
    'a folder .git with a dot': asGit('.git.'),
    'a folder .git::$INDEX_ALLOCATION': asGit('.git::$INDEX_ALLOCATION'),
    'a folder .g<zero width>it': asGit(Buffer.from('.g\u200cit')),
    'a folder .git in a folder': [[FOLDER, 'a', asGit('.git')]],
    'a folder ..': [[FOLDER, '..', [[FILE, 'escaped', 'x']]]],
    'a folder .': [[FOLDER, '.', [[FILE, 'escaped', 'x']]]],
    'a name with a slash': [[FILE, '../escaped', 'x']],
    'an absolute name': [[FILE, `${outside}/escaped`, 'x']],
    'an empty name': [[FILE, '', 'x']],
    'a link named .git': [[LINK, '.git', outside]],
    'a file named .git': [[FILE, '.git', `gitdir: ${outside}\n`]],
    'a link to a file outside': [[LINK, 'link', join(outside, 'secret')]],
    'a link to a folder outside, and a folder of its name': [
      [LINK, 'd', outside],
      [FOLDER, 'd', [[FILE, 'escaped', 'x']]],
    ],
    'a link to the hooks, and a folder of its name': [
      [LINK, 'h', '.git/hooks'],
      [FOLDER, 'h', [[PROGRAM, 'post-checkout', hook]]],
    ],
    'a link in capitals to the hooks': [
      [LINK, 'H', '.git'],
      [FOLDER, 'h', [hooks]],
    ],
    'hooks in the checkout': [hooks, [PROGRAM, 'post-checkout', hook]],
    'a bare repository in the checkout': [
      [FILE, 'HEAD', 'ref: refs/heads/main\n'],
      [FILE, 'config', `[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch ${canary}\n`],
      hooks,
      [FOLDER, 'objects', [[FILE, 'x', 'x']]],
      [FOLDER, 'refs', [[FILE, 'x', 'x']]],
    ],
    'a submodule by a helper': modules(`[submodule "s"]\n\tpath = sub\n\turl = ext::touch ${canary}\n`),
    'a submodule that is an option': modules(`[submodule "s"]\n\tpath = sub\n\turl = --upload-pack=touch ${canary}\n`),
    'a submodule with a command': modules(
      `[submodule "s"]\n\tpath = sub\n\turl = ${origin}\n\tupdate = !touch ${canary}\n`,
    ),
    'a submodule outside': modules(`[submodule "../../s"]\n\tpath = ../../sub\n\turl = ${outside}\n`),
    'a submodule with a path that is an option': modules(`[submodule "s"]\n\tpath = -x\n\turl = ${origin}\n`),
    'a link named .gitmodules': [[LINK, '.gitmodules', join(outside, 'secret')]],
    'a filter': [
      [FILE, '.gitattributes', '* filter=evil diff=evil merge=evil\n'],
      [FILE, '.gitconfig', `[filter "evil"]\n\tsmudge = touch ${canary}\n\trequired = true\n`],
      [FILE, 'file', 'x'],
    ],
    'attributes by a link': [
      [LINK, '.gitattributes', join(outside, 'secret')],
      [FILE, 'file', 'x'],
    ],
    'large files': [
      [FILE, '.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n'],
      [FILE, '.lfsconfig', `[lfs]\n\turl = file://${outside}\n\tstandalonetransferagent = evil\n`],
      [FILE, 'x.bin', `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12345\n`],
    ],
    'an encoding that does not exist': [
      [FILE, '.gitattributes', '* working-tree-encoding=../../evil ident eol=crlf\n'],
      [FILE, 'file', '$Id$\n'],
    ],
    'names that are options, lines and bytes': [
      [FILE, '--upload-pack=x', 'x'],
      [FILE, '-rf', 'x'],
      [FILE, 'line\nbreak', 'x'],
      [FILE, Buffer.from([0x66, 0xff]), 'x'],
    ],
  }
}

test('no hostile repository runs a program, reads a file or writes one outside of its checkout', async (t) => {
  const all = Object.entries(repositories())
  const outcomes: Record<string, number> = { refused: 0, 'laid out': 0 }
  for (const [at, [what, entries]] of all.entries()) {
    branchOf(`hostile-${at}`, entries)
    const outcome = await tried(origin, `hostile-${at}`)
    outcomes[outcome]!++
    // One that git cannot even read would keep it from the others.
    execFileSync('git', ['update-ref', '-d', `refs/heads/hostile-${at}`], { env: { PATH: host.path, GIT_DIR: origin } })
    assert.deepEqual(readdirSync(outside), ['secret'], what)
    if (/folder \.|link named \.git$|name with a slash/.test(what)) assert.equal(outcome, 'refused', what)
  }
  assert.ok(!existsSync(join(host.folder, 'checkouts', 'escaped')))
  t.diagnostic(`${all.length} repositories: ${JSON.stringify(outcomes)}`)
})

test("a host's own settings and hooks run nothing here, and its owner does not matter", async (t) => {
  const hook = `#!/bin/sh\ntouch ${canary}\n`
  const settings = [
    `[core]\n\tfsmonitor = touch ${canary}\n`,
    `[core]\n\tsshCommand = touch ${canary}\n\tgitProxy = touch ${canary}\n\taskPass = touch ${canary}\n`,
    `[core]\n\talternateRefsCommand = touch ${canary}\n\tpager = touch ${canary}\n\teditor = touch ${canary}\n`,
    `[uploadpack]\n\tpackObjectsHook = touch ${canary};\n`,
    `[credential]\n\thelper = !touch ${canary}\n`,
    `[include]\n\tpath = ${join(outside, 'secret')}\n`,
    `[protocol "ext"]\n\tallow = always\n[url "ext::touch ${canary} "]\n\tinsteadOf = ${origin}\n`,
    '[safe]\n\tdirectory = /nonexistent\n',
  ]
  const config = join(origin, 'config')
  const good = readFileSync(config, 'utf8')
  mkdirSync(join(origin, 'hooks'), { recursive: true })
  for (const name of [
    'post-checkout',
    'reference-transaction',
    'post-upload-pack',
    'fsmonitor-watchman',
    'pre-auto-gc',
  ]) {
    writeFileSync(join(origin, 'hooks', name), hook)
    chmodSync(join(origin, 'hooks', name), 0o755)
  }
  for (const text of settings) {
    writeFileSync(config, `${good}${text}`)
    await tried(origin, 'main')
  }
  writeFileSync(config, good)
  if (process.getuid?.() === 0) chownSync(origin, 65_534, 65_534)
  assert.equal(await tried(origin, 'main'), 'laid out')
  const total = addresses().length + references().length + Object.keys(repositories()).length + settings.length + 5
  assert.ok(total >= 60)
  t.diagnostic(`${total} hostile things in all, 0 canaries, 0 bytes from outside`)
})
