// Repositories and trees that would like to run a program on the host, to write into the git folder, or to bring in what
// lies outside. Each trap leaves a canary when it bites; that it bites a careless git is shown first.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs'
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { AUTHOR, type CheckoutScene, checkoutScene, never, treeOf } from '../../../test/support/agent-checkout.ts'
import { type TestRepository, testRepository } from '../../../test/support/repository.ts'
import type { OpenedCheckout } from '../../engine/agent/checkout.ts'
import { SourceFault } from '../../ports/source.ts'

interface Trapped extends AsyncDisposable {
  readonly origin: TestRepository
  readonly scene: CheckoutScene
  readonly canary: string
  readonly program: string
}

async function trapped(files: Record<string, string> = {}): Promise<Trapped> {
  const origin = await testRepository({ 'README.md': 'one\n', 'sub/file': 'x\n', ...files })
  const scene = await checkoutScene(origin.folder)
  const canary = join(scene.folder, 'canary')
  const program = join(scene.folder, 'trap.sh')
  await writeFile(program, `#!/bin/sh\necho bitten >> '${canary}'\ncat\n`)
  await chmod(program, 0o755)
  const dispose = async (): Promise<void> => {
    await scene[Symbol.asyncDispose]()
    await origin[Symbol.asyncDispose]()
  }
  return { origin, scene, canary, program, [Symbol.asyncDispose]: dispose }
}

/** Everything that the service does with a tree. */
async function useAll({ scene }: Trapped, checkout: OpenedCheckout): Promise<void> {
  const { git } = scene.ports
  for (const argv of [
    ['status', '--porcelain'],
    ['diff', '--no-ext-diff', '--no-textconv', 'HEAD'],
    ['log', '-p', '-3'],
  ])
    await git.read(checkout, argv, never)
  const { key } = await checkout.keep(never)
  await git.commit(checkout, { message: 'All', author: AUTHOR, paths: null }, never)
  await git.push(
    checkout,
    { repository: scene.repository, session: checkout.branch.split('/')[1]!, branch: checkout.branch },
    never,
  )
  await checkout.drop()
  const { baseCommit } = checkout
  await (await scene.open({ attempt: 2, baseCommit, treeKey: key })).drop()
}

const configOf = (program: string): string =>
  [
    '[core]',
    `\tfsmonitor = ${program}`,
    `\tsshCommand = ${program}`,
    `\thooksPath = ${program.slice(0, program.lastIndexOf('/'))}`,
    `\tpager = ${program}`,
    `\teditor = ${program}`,
    '\trepositoryformatversion = 0',
    '[diff]',
    `\texternal = ${program}`,
    '[diff "evil"]',
    `\ttextconv = ${program}`,
    `\tcommand = ${program}`,
    '[filter "evil"]',
    `\tclean = ${program}`,
    `\tsmudge = ${program}`,
    `\tprocess = ${program}`,
    '\trequired = true',
    '[gpg]',
    `\tprogram = ${program}`,
    '[commit]',
    '\tgpgSign = true',
    '[include]',
    '\tpath = evil.inc',
    '',
  ].join('\n')

async function nestedRepository(folder: string, program: string): Promise<void> {
  spawnSync('git', ['init', '--quiet', folder], { env: { PATH: process.env.PATH, HOME: folder } })
  const git = (...argv: string[]) =>
    spawnSync('git', ['-C', folder, '-c', 'user.name=x', '-c', 'user.email=x@y', ...argv], {
      env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
    })
  await writeFile(join(folder, 'inner'), 'x\n')
  await writeFile(join(folder, '.gitattributes'), '* filter=evil diff=evil\n')
  git('add', '--all')
  git('commit', '--quiet', '-m', 'x')
  await writeFile(join(folder, '.git', 'config'), configOf(program))
  await writeFile(join(folder, 'inner'), 'changed\n')
}

test('the traps are real: git called without thinking in such a tree runs them', async () => {
  await using here = await trapped()
  const folder = join(here.scene.folder, 'careless')
  await mkdir(folder)
  await nestedRepository(folder, here.program)
  spawnSync('git', ['-C', folder, 'status'], { env: { PATH: process.env.PATH, HOME: folder } })
  assert.ok(existsSync(here.canary))
  rmSync(here.canary)
  // And by way of a repository around it that knows it as a submodule.
  const outer = join(here.scene.folder, 'outer')
  spawnSync(
    'sh',
    ['-c', `git init -q '${outer}' && cp -r '${folder}' '${outer}/sub' && cd '${outer}' && git add sub`],
    {
      env: { PATH: process.env.PATH, HOME: folder },
    },
  )
  rmSync(here.canary, { force: true })
  spawnSync('git', ['-C', outer, '-c', 'core.fsmonitor=false', 'status'], {
    env: { PATH: process.env.PATH, HOME: folder },
  })
  assert.ok(existsSync(here.canary), 'the filter of the inner one')
})

test('a nested repository with hostile settings runs nothing and is left out', async () => {
  await using here = await trapped()
  const checkout = await here.scene.open()
  await nestedRepository(join(checkout.folder, 'nested'), here.program)
  await nestedRepository(join(checkout.folder, 'sub', 'deeper'), here.program)
  const { notes } = await checkout.keep(never)
  assert.match(notes.join(), /"nested\/" is a repository of its own/)
  await useAll(here, checkout)
  assert.ok(!existsSync(here.canary))
})

test('a submodule of the base that was filled with a hostile repository runs nothing', async () => {
  await using here = await trapped()
  const { origin } = here
  const inner = await origin.git('rev-parse', 'HEAD')
  await origin.git('update-index', '--add', '--cacheinfo', `160000,${inner},module`)
  await writeFile(
    join(origin.folder, '.gitmodules'),
    `[submodule "module"]\n\tpath = module\n\turl = ext::${here.program}\n\tupdate = !${here.program}\n`,
  )
  await origin.git('add', '.gitmodules')
  await origin.git('commit', '--quiet', '-m', 'A submodule')
  const checkout = await here.scene.open()
  await nestedRepository(join(checkout.folder, 'module'), here.program)
  await useAll(here, checkout)
  assert.ok(!existsSync(here.canary))
})

test('attributes name filters, drivers and encodings, and no byte is changed by them', async () => {
  await using here = await trapped()
  // Without this git could not even take them in.
  await mkdir(join(here.origin.folder, '.git', 'info'), { recursive: true })
  const neutral = '* !text !eol !filter !ident !working-tree-encoding\n'
  await writeFile(join(here.origin.folder, '.git', 'info', 'attributes'), neutral)
  await here.origin.commit({
    '.gitattributes': '* filter=evil diff=evil merge=evil ident text eol=crlf working-tree-encoding=UTF-16\n',
    ident: '$Id$\n',
  })
  const checkout = await here.scene.open()
  assert.equal(readFileSync(join(checkout.folder, 'ident'), 'utf8'), '$Id$\n')
  const { gitFolder } = checkout
  // Also with a driver of that name in the settings: only a fault of ours could bring it there.
  await writeFile(
    join(gitFolder, 'config'),
    `${readFileSync(join(gitFolder, 'config'), 'utf8')}${configOf(here.program).replace(/^\tfsmonitor.*|^\thooksPath.*/gm, '')}`,
  )
  await writeFile(join(checkout.folder, 'crlf'), 'a\r\nb\n')
  const first = treeOf(checkout.folder)
  const { key } = await checkout.keep(never)
  assert.equal(treeOf(checkout.folder), first)
  await checkout.drop()
  const again = await here.scene.open({ attempt: 2, baseCommit: checkout.baseCommit, treeKey: key })
  assert.equal(treeOf(again.folder), first)
  assert.ok(!existsSync(here.canary))
})

test('the pointer to the git folder can be replaced, and is not looked at', async () => {
  await using here = await trapped()
  for (const [attempt, replace] of [
    async (path: string) => await writeFile(path, `gitdir: ${join(here.scene.folder, 'evil')}\n`),
    async (path: string) => await nestedRepository(path.slice(0, -5), here.program),
    async (path: string) => await symlink(join(here.scene.folder, 'evil', '.git'), path),
  ].entries()) {
    await nestedRepository(join(here.scene.folder, 'evil'), here.program)
    rmSync(here.canary, { force: true })
    const checkout = await here.scene.open({ attempt: 10 + attempt })
    rmSync(join(checkout.folder, '.git'))
    await replace(join(checkout.folder, '.git'))
    rmSync(here.canary, { force: true })
    await writeFile(join(checkout.folder, 'README.md'), `changed ${attempt}\n`)
    const made = await here.scene.ports.git.commit(
      checkout,
      { message: 'x', author: AUTHOR, paths: ['README.md'] },
      never,
    )
    assert.equal(made?.files, 1)
    await checkout.keep(never)
    await checkout.drop()
    assert.ok(!existsSync(here.canary))
  }
})

test('hooks in the remote on this machine do not run when something is pushed to it', async () => {
  await using here = await trapped()
  const { origin } = here
  const hooks = join(here.scene.folder, 'hooks')
  for (const folder of [join(origin.folder, '.git', 'hooks'), hooks]) {
    await mkdir(folder, { recursive: true })
    for (const name of [
      'pre-receive',
      'update',
      'post-receive',
      'post-update',
      'reference-transaction',
      'proc-receive',
    ]) {
      await writeFile(join(folder, name), `#!/bin/sh\necho bitten > '${here.canary}'\n`)
      await chmod(join(folder, name), 0o755)
    }
  }
  await origin.git('config', 'core.hooksPath', hooks)
  rmSync(here.canary, { force: true })
  const checkout = await here.scene.open()
  await writeFile(join(checkout.folder, 'new'), 'x')
  await useAll(here, checkout)
  assert.ok(!existsSync(here.canary))
  assert.ok((await origin.git('for-each-ref', '--format=%(refname)')).includes(checkout.branch), 'it was pushed')
})

test('links that lead out are links in the checkout and in what is kept, never their targets', async () => {
  await using here = await trapped()
  await symlink('/etc/passwd', join(here.origin.folder, 'passwd'))
  await symlink('/', join(here.origin.folder, 'root'))
  await here.origin.commit({})
  const checkout = await here.scene.open()
  assert.ok(lstatSync(join(checkout.folder, 'passwd')).isSymbolicLink())
  rmSync(join(checkout.folder, 'sub'), { recursive: true })
  await symlink('/etc', join(checkout.folder, 'sub'))
  const made = await here.scene.ports.git.commit(checkout, { message: 'x', author: AUTHOR, paths: null }, never)
  assert.ok(made !== null)
  const listed = await here.scene.ports.git.read(checkout, ['ls-tree', '-r', 'HEAD'], never)
  assert.match(listed.output, /^120000 blob \S+\tsub$/m)
  assert.doesNotMatch(listed.output, /sub\//)
  await useAll(here, checkout)
})

/** A tree object with an entry that `git add` would refuse. */
async function treeWith(origin: TestRepository, name: string, isFolder: boolean): Promise<void> {
  const write = (input: string): string =>
    String(spawnSync('git', ['-C', origin.folder, 'hash-object', '-w', '--stdin'], { input }).stdout).trim()
  const blob = write('[core]\n\tfsmonitor = touch /tmp/never\n')
  const tree = (entries: string): string =>
    String(spawnSync('git', ['-C', origin.folder, 'mktree', '-z'], { input: entries }).stdout).trim()
  const inner = tree(`100644 blob ${blob}\tconfig\0`)
  const outer = tree(isFolder ? `040000 tree ${inner}\t${name}\0` : `100644 blob ${blob}\t${name}\0`)
  const commit = await origin.git('commit-tree', '-m', 'x', '-p', 'HEAD', outer)
  await origin.git('update-ref', 'refs/heads/main', commit)
}

test('a base that would write into a git folder, by whatever spelling, is refused', async () => {
  const names = [
    '.git',
    '.GIT',
    '.Git',
    '.gIT',
    'git~1',
    'GIT~1',
    '.g\u200cit',
    '.git\u200c',
    '.git ',
    '.git.',
    '.git::$INDEX_ALLOCATION',
    '..',
    '.',
  ]
  for (const name of names) {
    await using here = await trapped()
    await treeWith(here.origin, name, true)
    await assert.rejects(here.scene.open(), (error) => error instanceof SourceFault, JSON.stringify(name))
    assert.deepEqual(await readdir(here.scene.ports.place), [])
  }
})

test('a tree that was given such names by a command keeps everything else', async () => {
  await using here = await trapped()
  const checkout = await here.scene.open()
  for (const name of ['.GIT', 'git~1', '.g\u200cit', '.git ', 'sub/.git', 'sub/.Git.']) {
    await mkdir(join(checkout.folder, name), { recursive: true })
    await writeFile(join(checkout.folder, name, 'config'), configOf(here.program))
    await writeFile(join(checkout.folder, name, 'HEAD'), 'ref: refs/heads/main\n')
  }
  await writeFile(join(checkout.folder, 'kept'), 'x')
  spawnSync('mkfifo', [join(checkout.folder, 'pipe')])
  const { key } = await checkout.keep(never)
  const made = await here.scene.ports.git.commit(checkout, { message: 'x', author: AUTHOR, paths: null }, never)
  assert.ok(made !== null)
  const listed = await here.scene.ports.git.read(checkout, ['ls-tree', '-r', '--name-only', 'HEAD'], never)
  assert.equal(listed.output, 'README.md\nkept\nsub/file\n')
  await checkout.drop()
  const again = await here.scene.open({ attempt: 2, baseCommit: checkout.baseCommit, treeKey: key })
  assert.ok(existsSync(join(again.folder, 'kept')))
  assert.ok(!existsSync(here.canary))
})
