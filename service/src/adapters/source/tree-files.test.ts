import assert from 'node:assert/strict'
import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type TestRepository, testRepository } from '../../../test/support/repository.ts'
import type { WantedFiles } from '../../ports/source.ts'
import { SourceFault } from '../../ports/source.ts'
import { gitSource } from './git.ts'

const never = new AbortController().signal

const wanted = (more: Partial<WantedFiles> = {}): WantedFiles => ({
  reference: 'main',
  paths: ['.bolt', 'flat.yml'],
  accepts: (path) => path.endsWith('.yml'),
  mayBeMs: 0,
  patienceMs: 20_000,
  ...more,
})

function sourceOf(repository: TestRepository, now = () => Date.now()) {
  const source = gitSource({ folder: join(repository.folder, '.git', 'mirrors'), path: process.env.PATH ?? '', now })
  const address = { workspaceUid: 'w', url: repository.folder, credentials: {} }
  return { read: (more: Partial<WantedFiles> = {}) => source.files(address, wanted(more), never) }
}

const texts = ({ files }: { files: readonly { path: string; content: object }[] }) =>
  files.map(({ path, content }) => ('text' in content ? [path, content.text] : [path, content]))

test('the files of a branch are read without a checkout, and no others', async () => {
  await using repository = await testRepository({
    '.bolt/b.yml': 'b: ü\n',
    '.bolt/deep/er/a.yml': 'a\n',
    '.bolt/readme.md': 'no\n',
    'flat.yml': 'flat\n',
    'other.yml': 'no\n',
    'empty/.bolt/c.yml': 'no\n',
  })
  const { read } = sourceOf(repository)
  const first = await read()
  assert.deepEqual(texts(first), [
    ['.bolt/b.yml', 'b: ü\n'],
    ['.bolt/deep/er/a.yml', 'a\n'],
    ['flat.yml', 'flat\n'],
  ])
  assert.equal(first.commit, await repository.git('rev-parse', 'HEAD'))
  assert.equal(first.warning, '')
  const next = await repository.commit({ 'flat.yml': null, '.bolt/b.yml': '' })
  const second = await read()
  assert.equal(second.commit, next)
  assert.deepEqual(texts(second), [
    ['.bolt/b.yml', ''],
    ['.bolt/deep/er/a.yml', 'a\n'],
  ])
})

test('symbolic links, what is too large and what is no text are named and not read', async () => {
  await using repository = await testRepository({ '.bolt/large.yml': '#'.repeat(1024 * 1024 + 1) })
  await symlink('/etc/hostname', join(repository.folder, '.bolt/link.yml'))
  await symlink('/etc', join(repository.folder, '.bolt/folder'))
  await repository.commit({ '.bolt/latin.yml': '' })
  await repository.git('update-index', '--add', '--cacheinfo', `100644,${await blobOf(repository)},.bolt/latin.yml`)
  await repository.git('commit', '--quiet', '--message', 'Bytes')
  const { files } = await sourceOf(repository).read()
  assert.deepEqual(files, [
    { path: '.bolt/large.yml', content: { refused: 'is larger than 1024 KiB' } },
    { path: '.bolt/latin.yml', content: { refused: 'is not text in UTF-8' } },
    { path: '.bolt/link.yml', content: { refused: 'is a symbolic link, which is not followed' } },
  ])
})

/** A blob that is no UTF-8. */
async function blobOf(repository: TestRepository): Promise<string> {
  const path = join(repository.folder, '.git', 'bytes')
  await writeFile(path, Buffer.from([0xff, 0xfe, 0x00, 0x41]))
  return await repository.git('hash-object', '-w', path)
}

test('a mirror that is young enough is not fetched, one that is too old is', async () => {
  await using repository = await testRepository({ 'flat.yml': 'one\n' })
  let now = 1_000_000_000
  const { read } = sourceOf(repository, () => now)
  const first = await read()
  await repository.commit({ 'flat.yml': 'two\n' })
  now += 29_000
  assert.equal((await read({ mayBeMs: 30_000 })).commit, first.commit)
  now += 2_000
  const later = await read({ mayBeMs: 30_000 })
  assert.deepEqual(texts(later), [['flat.yml', 'two\n']])
  assert.equal(later.fetchedAt.getTime(), now)
})

test('when the host is gone what was fetched last serves, with a warning; before that nothing does', async () => {
  await using repository = await testRepository({ 'flat.yml': 'one\n' })
  const mirrors = join(repository.folder, 'mirrors')
  const source = gitSource({ folder: mirrors, path: process.env.PATH ?? '', now: () => Date.now() })
  const address = { workspaceUid: 'w', url: join(repository.folder, '.git'), credentials: {} }
  await rename(address.url, `${address.url}-gone`)
  await assert.rejects(source.files(address, wanted(), never), SourceFault)
  await rename(`${address.url}-gone`, address.url)
  const { commit } = await source.files(address, wanted(), never)
  await rename(address.url, `${address.url}-gone`)
  const old = await source.files(address, wanted(), never)
  assert.equal(old.commit, commit)
  assert.match(old.warning, /could not be fetched/)
})

test('nobody waits longer than they said: the fetch goes on by itself', async () => {
  await using repository = await testRepository({ 'flat.yml': 'one\n' })
  const { read } = sourceOf(repository)
  const { commit } = await read()
  const next = await repository.commit({ 'flat.yml': 'two\n' })
  const hasty = await read({ patienceMs: 0 })
  assert.ok([commit, next].includes(hasty.commit))
  assert.match(hasty.warning, /did not answer within 0 s/)
  assert.equal((await read()).commit, next)
})

test('a branch that is not there, and one that is no branch, are said', async () => {
  await using repository = await testRepository({ 'flat.yml': 'one\n' })
  const { read } = sourceOf(repository)
  await assert.rejects(read({ reference: 'live' }), /there is no branch, tag or commit "live"/)
  await assert.rejects(read({ reference: '--upload-pack=x' }), SourceFault)
})
