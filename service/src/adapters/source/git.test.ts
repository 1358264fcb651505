import assert from 'node:assert/strict'
import { chmodSync, existsSync, truncateSync } from 'node:fs'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sourceConformance } from '../../../test/conformance/source.ts'
import { couldNotRun } from '../../../test/support/could-not-run.ts'
import { type GitHost, gitHost } from '../../../test/support/git-host.ts'
import { findProgram } from '../executor/host.ts'
import { shownUrl } from './address.ts'
import { gitSource } from './git.ts'

const child = join(import.meta.dirname, '../../../test/support/source-child.ts')

for (const transport of ['local path', 'https', 'ssh'] as const) {
  sourceConformance({
    name: `git by ${transport === 'ssh' ? 'ssh, with a stand-in for the client and the host' : transport}`,
    host: () => gitHost(transport),
    make: (options) => gitSource(options),
    child,
  })
}
if (findProgram('sshd') === null) couldNotRun('git over a real ssh connection', 'there is no sshd on this machine')

const unhurried = (): AbortSignal => new AbortController().signal
const silent = async (): Promise<void> => {}

function sourceOf(host: GitHost, more: Partial<Parameters<typeof gitSource>[0]> = {}) {
  const { path, variables } = host
  return gitSource({ folder: join(host.folder, 'mirrors'), path, variables, now: () => Date.now(), ...more })
}

test('what a killed git left in a mirror is taken away, and a damaged mirror is made anew', async () => {
  await using host = await gitHost('local path')
  const source = sourceOf(host)
  const take = (name: string) => source.checkout(host.repository, 'main', join(host.folder, name), silent, unhurried())
  await take('first')
  const [mirror] = (await readdir(join(host.folder, 'mirrors'))).filter((name) => /^[0-9a-f]{40}$/.test(name))
  const bare = join(host.folder, 'mirrors', mirror!, 'repository.git')
  for (const name of ['packed-refs.lock', 'HEAD.lock', 'config.lock', 'refs/heads/main.lock', 'shallow.lock'])
    await writeFile(join(bare, name), '')
  await writeFile(join(bare, 'objects', 'tmp_obj_x'), 'half')
  // Of a process that is no more.
  await writeFile(join(host.folder, 'mirrors', `${mirror}.turn-9`), '4194303 1')
  await host.commit({ 'README.md': 'two\n' })
  await take('second')
  assert.ok(!existsSync(join(bare, 'objects', 'tmp_obj_x')))

  for (const damage of [
    async () => await writeFile(join(bare, 'HEAD'), ''),
    async () => await writeFile(join(bare, 'config'), '[core\n'),
    async () => {
      for (const one of await readdir(join(bare, 'objects'), { recursive: true, withFileTypes: true })) {
        if (!one.isFile()) continue
        // git writes them for reading alone.
        chmodSync(join(one.parentPath, one.name), 0o600)
        truncateSync(join(one.parentPath, one.name), 3)
      }
    },
  ]) {
    await damage()
    const commit = await host.commit({ 'README.md': `${Math.random()}\n` })
    assert.equal((await take(`after-${Math.random()}`)).commit, commit)
  }
})

test('a local address may not lead into the folders of the service, by whatever way', async () => {
  await using host = await gitHost('local path')
  const closed = join(host.folder, 'data')
  const secret = join(closed, 'work', '7-1', 'checkout')
  await mkdir(secret, { recursive: true })
  const { execFileSync } = await import('node:child_process')
  const git = (cwd: string, ...argv: string[]) => execFileSync('git', argv, { cwd, env: { PATH: host.path } })
  git(secret, 'clone', '--quiet', host.repository.url, '.')
  const ways = {
    direct: secret,
    above: join(secret, '.git'),
    dots: join(host.folder, 'data', 'work', '..', 'work', '7-1', 'checkout'),
    link: join(host.folder, 'link'),
    pointer: join(host.folder, 'pointer'),
    common: join(host.folder, 'common.git'),
    alternates: join(host.folder, 'alternates.git'),
    objects: join(host.folder, 'objects.git'),
    suffix: join(host.folder, 'suffix'),
    mirrors: join(host.folder, 'mirrors'),
  }
  await symlink(secret, ways.link)
  await mkdir(ways.pointer)
  await writeFile(join(ways.pointer, '.git'), `gitdir: ${secret}/.git\n`)
  for (const folder of [ways.common, ways.alternates, ways.objects]) {
    await mkdir(folder)
    git(folder, 'init', '--quiet', '--bare', '.')
  }
  await writeFile(join(ways.common, 'commondir'), `${secret}/.git\n`)
  await writeFile(join(ways.alternates, 'objects', 'info', 'alternates'), `${secret}/.git/objects\n`)
  git(ways.objects, 'config', 'core.bare', 'true')
  execFileSync('rm', ['-r', join(ways.objects, 'objects')])
  await symlink(join(secret, '.git', 'objects'), join(ways.objects, 'objects'))
  await symlink(join(secret, '.git'), `${ways.suffix}.git`)
  await mkdir(ways.mirrors, { recursive: true })
  const source = sourceOf(host, { closed: [closed], open: [join(closed, 'demo-repository')] })
  for (const [way, url] of Object.entries(ways)) {
    const repository = { ...host.stranger, url }
    const checkout = source.checkout(repository, 'main', join(host.folder, `of-${way}`), silent, unhurried())
    await assert.rejects(checkout, { name: 'SourceFault', message: /folders of the service/ }, way)
    await assert.rejects(source.read(repository, 'main', '.', unhurried()), /folders of the service/, way)
  }
  git(closed, 'clone', '--quiet', host.repository.url, 'demo-repository')
  const demo = { ...host.stranger, url: join(closed, 'demo-repository') }
  assert.ok((await source.checkout(demo, 'main', join(host.folder, 'of-demo'), silent, unhurried())).commit)
})

test('an address is shown without its credentials', () => {
  for (const [url, shown] of [
    ['https://token@host/x.git', 'https://host/x.git'],
    ['https://user:token@host/x.git', 'https://host/x.git'],
    ['https://user:to@ken@host/x.git', 'https://host/x.git'],
    ['ssh://git:password@host/x.git', 'ssh://git@host/x.git'],
    ['git@host:x.git', 'git@host:x.git'],
    ['/srv/x.git', '/srv/x.git'],
  ] as const) {
    assert.equal(shownUrl({ url }), shown)
  }
})
