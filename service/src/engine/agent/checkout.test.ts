import assert from 'node:assert/strict'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { AUTHOR, checkoutScene, never, SESSION, treeOf, UID } from '../../../test/support/agent-checkout.ts'
import { testRepository } from '../../../test/support/repository.ts'
import { SourceFault } from '../../ports/source.ts'
import { removeDeadCheckouts } from './checkout.ts'

const FILES = {
  'README.md': 'one\n',
  'models/orders.sql': 'select 1\n',
  'scripts/run.sh': '#!/bin/sh\n',
  '.gitignore': 'target/\n',
}

test('a checkout holds the files of the base on a branch of the session, with the git folder outside of the tree', async () => {
  await using origin = await testRepository(FILES)
  const commit = await origin.commit({ 'README.md': 'two\n' })
  await using scene = await checkoutScene(origin.folder)
  const checkout = await scene.open()
  assert.equal(checkout.baseCommit, commit)
  assert.equal(checkout.branch, `agent/${SESSION}/work`)
  assert.equal(readFileSync(join(checkout.folder, 'README.md'), 'utf8'), 'two\n')
  assert.ok(lstatSync(join(checkout.folder, '.git')).isFile(), 'a pointer, not the folder')
  assert.ok(!checkout.gitFolder.startsWith(`${checkout.folder}/`))
  const log = await scene.ports.git.read(checkout, ['log', '--format=%H'], never)
  assert.equal(log.output.trim().split('\n').length, 2, 'the history is there to look at')
})

test('nothing changed: nothing is kept', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  const checkout = await scene.open()
  assert.deepEqual(await checkout.keep(never), { key: '', notes: [] })
})

test('after the folders are gone, base and bundle give the same tree and the same commits', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  const { git } = scene.ports
  const first = await scene.open()
  const path = (name: string): string => join(first.folder, name)
  await writeFile(path('models/orders.sql'), 'select 2\n')
  await git.commit(first, { message: 'Mend orders', author: AUTHOR, paths: null }, never)
  await writeFile(path('models/orders.sql'), 'select 3\n')
  await git.commit(first, { message: 'Mend it again', author: AUTHOR, paths: null }, never)
  // Not committed: new, changed, removed, renamed, executable, a link, odd names, a file in place of a folder.
  await writeFile(path('models/new\n"file" ü.sql'), 'select 4\n')
  await writeFile(path('README.md'), Buffer.from([0, 255, 13, 10]))
  await chmod(path('scripts/run.sh'), 0o755)
  await symlink('../models/orders.sql', path('scripts/link'))
  await symlink('/etc/passwd', path('out'))
  await mkdir(path('target'))
  await writeFile(path('target/ignored'), 'x')
  await mkdir(path('deep/er'), { recursive: true })
  await writeFile(path('deep/er/file'), 'x')
  const { key, notes } = await first.keep(never)
  assert.match(key, /^[0-9a-f]{64}$/)
  assert.deepEqual(notes, [])
  assert.deepEqual(await first.keep(never), { key, notes: [] }, 'the same again')
  await rm(path('target'), { recursive: true })
  const before = treeOf(first.folder)
  const head = await git.head(first, never)
  const status = await git.read(first, ['status', '--porcelain=v1', '-z', '-uall'], never)
  await first.drop()
  await first.drop()
  await rm(join(scene.folder, 'mirrors'), { recursive: true })

  // The base moved on in the meantime; the session stays where it began.
  await origin.commit({ 'README.md': 'later\n' })
  const second = await scene.open({ attempt: 2, baseCommit: first.baseCommit, treeKey: key })
  assert.equal(treeOf(second.folder), before)
  assert.deepEqual(await git.head(second, never), head)
  assert.deepEqual(await git.read(second, ['status', '--porcelain=v1', '-z', '-uall'], never), status)
  assert.equal((await second.keep(never)).key, key, 'kept again it is the same bundle')
  assert.ok(!existsSync(first.root))
})

test('a file, a folder and a link that took each other’s places are kept as they are', async () => {
  await using origin = await testRepository({ 'a/file': '1\n', b: '2\n', 'c/file': '3\n', d: '4\n' })
  await using scene = await checkoutScene(origin.folder)
  const first = await scene.open()
  const path = (name: string): string => join(first.folder, name)
  await rm(path('a'), { recursive: true })
  await writeFile(path('a'), 'now a file\n')
  await rm(path('b'))
  await mkdir(path('b'))
  await writeFile(path('b/inner'), 'now a folder\n')
  await rename(path('c'), path('moved'))
  await symlink('/etc', path('c'))
  await rm(path('d'))
  const { key } = await first.keep(never)
  const before = treeOf(first.folder)
  await first.drop()
  const second = await scene.open({ attempt: 2, baseCommit: first.baseCommit, treeKey: key })
  assert.equal(treeOf(second.folder), before)
})

test('what is too large is left out, and it is said', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  const checkout = await scene.open()
  await writeFile(join(checkout.folder, 'large.bin'), '')
  await truncate(join(checkout.folder, 'large.bin'), 21 * 1024 * 1024)
  await writeFile(join(checkout.folder, 'small'), 'x')
  const { key, notes } = await checkout.keep(never)
  assert.match(notes.join(), /"large.bin" is larger than 20 MiB and was left out/)
  const made = await scene.ports.git.commit(checkout, { message: 'All', author: AUTHOR, paths: null }, never)
  assert.equal(made?.files, 1)
  await checkout.drop()
  const again = await scene.open({ attempt: 2, baseCommit: checkout.baseCommit, treeKey: key })
  assert.deepEqual((await readdir(again.folder)).includes('large.bin'), false)
  assert.equal(await readFile(join(again.folder, 'small'), 'utf8'), 'x')
})

test('only the named paths are committed, and nothing without a change', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  const { git } = scene.ports
  const checkout = await scene.open()
  const wanted = { message: 'Some', author: AUTHOR }
  assert.equal(await git.commit(checkout, { ...wanted, paths: null }, never), null)
  await writeFile(join(checkout.folder, 'README.md'), 'changed\n')
  await writeFile(join(checkout.folder, 'models/new.sql'), 'x\n')
  assert.equal(await git.commit(checkout, { ...wanted, paths: ['mod'] }, never), null, 'a prefix is no folder')
  assert.equal((await git.commit(checkout, { ...wanted, paths: ['models'] }, never))?.files, 1)
  const shown = await git.read(checkout, ['show', '--name-only', '--format=%an <%ae> %s'], never)
  assert.equal(shown.output, 'Agent <agent@example.com> Some\n\nmodels/new.sql\n')
})

test('a bundle that is gone, and a base that is gone, are said to people', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  await assert.rejects(scene.open({ treeKey: 'f'.repeat(64) }), (error) => error instanceof SourceFault)
  await assert.rejects(scene.open({ treeKey: '../../etc/passwd' }), (error) => error instanceof SourceFault)
  await assert.rejects(scene.open({ baseCommit: 'e'.repeat(40) }), (error) => error instanceof SourceFault)
  await assert.rejects(scene.open({ baseBranch: 'no-such' }), /no branch, tag or commit "no-such"/)
  assert.deepEqual(await readdir(scene.ports.place), [], 'nothing is left of them')
})

test('what was kept before is forgotten when asked, and folders of the dead are removed', async () => {
  await using origin = await testRepository(FILES)
  await using scene = await checkoutScene(origin.folder)
  const checkout = await scene.open()
  await writeFile(join(checkout.folder, 'a'), 'x')
  const { key } = await checkout.keep(never)
  assert.ok(await scene.ports.blobs.has(UID, Buffer.from(key, 'hex')))
  await checkout.forget('')
  await checkout.forget(key)
  assert.ok(!(await scene.ports.blobs.has(UID, Buffer.from(key, 'hex'))))
  const other = await scene.open({ attempt: 2 })
  await mkdir(join(other.folder, 'closed'), { mode: 0o000 })
  await writeFile(join(scene.ports.place, 'not-ours'), '')
  const held = (id: string, attempt: number): boolean => id === SESSION && attempt === 1
  assert.equal(await removeDeadCheckouts(scene.ports.place, held), 1)
  assert.ok(existsSync(checkout.folder) && !existsSync(other.root) && existsSync(join(scene.ports.place, 'not-ours')))
})
