import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { TestApp } from '../../test/support/app.ts'
import { testApp } from '../../test/support/app.ts'
import { type HeldRun, heldRun } from '../../test/support/commands.ts'
import { openFilesystemBlobs } from '../adapters/blob/filesystem.ts'
import { AppError } from '../domain/errors.ts'
import { linkName } from '../domain/signed-link.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import { inTransaction } from '../store/database.ts'
import { Vault } from '../store/vault.ts'
import { keepFile, listArtifacts, openSignedFile, resourceUrl } from './artifacts.ts'

let t: TestApp
let run: HeldRun
let blobs: BlobStore
let folder: string
before(async () => {
  t = await testApp()
  run = await heldRun(t)
  folder = await mkdtemp(join(tmpdir(), 'yardmaster-artifacts-'))
  blobs = await openFilesystemBlobs(join(folder, 'blobs'))
})
after(async () => {
  await t.close()
  await rm(folder, { recursive: true })
})

const unhurried = new AbortController().signal
const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code

async function kept(of: HeldRun, path: string, content: string, listed = true): Promise<number> {
  const commandId = await of.command()
  const open = async () => Readable.from([Buffer.from(content)])
  const result = await keepFile(t.app.db, blobs, of.owner(commandId), { path, listed, open }, unhurried)
  assert.ok(typeof result === 'object')
  return result.id
}

const address = (url: string): string => url.slice(t.app.settings.publicUrl.length)
const read = async (url: string): Promise<string> =>
  (await buffer(await (await openSignedFile(t.app, blobs, address(url))).open())).toString()

test('a file is listed under its command and its run, and its link gives its bytes', async () => {
  const of = await heldRun(t)
  const id = await kept(of, 'target/run_results.json', '{"a":1}')
  const files = await listArtifacts(of.ctx, { runId: of.runId })
  assert.deepEqual(
    files.map(({ path, size }) => ({ path, size })),
    [{ path: 'target/run_results.json', size: 7 }],
  )
  assert.deepEqual(await listArtifacts(of.ctx, { commandId: files[0]!.commandId }), files)
  const url = await resourceUrl(of.ctx, id)
  assert.match(url, /^http:\/\/127\.0\.0\.1:4400\/files\/\d+\/run_results\.json\?w=/)
  assert.equal(await read(url), '{"a":1}')
})

test('what is kept for a retry alone is shown to nobody', async () => {
  const of = await heldRun(t)
  const id = await kept(of, 'target/run_results.json', '{}', false)
  assert.deepEqual(await listArtifacts(of.ctx, { runId: of.runId }), [])
  await assert.rejects(resourceUrl(of.ctx, id), refused('NOT_FOUND'))
})

test('an unknown file, one of another workspace and a removed one read the same', async () => {
  const id = await kept(run, 'mine', 'x')
  const other = await heldRun(t)
  const gone = await kept(run, 'gone', 'y')
  const url = await resourceUrl(run.ctx, gone)
  await sql`update artifact set removed_at = now() where id = ${gone}`.execute(t.app.db)
  for (const [ctx, wanted] of [
    [run.ctx, 2_000_000_000],
    [other.ctx, id],
    [run.ctx, gone],
  ] as const) {
    await assert.rejects(
      resourceUrl(ctx, wanted),
      (error) => refused('NOT_FOUND')(error) && (error as Error).message === `No resource ${wanted} in this workspace.`,
    )
  }
  await assert.rejects(read(url), refused('NOT_FOUND'))
})

test('every single-bit change of a link is refused', async () => {
  const id = await kept(run, 'a/b/ünïcode name.csv', 'bytes')
  await kept(run, 'another', 'SECRET')
  let tried = 0
  for (let round = 0; round < 12; round++) {
    t.clock.advance(1_000)
    const url = address(await resourceUrl(run.ctx, id))
    await openSignedFile(t.app, blobs, url)
    const bytes = Buffer.from(url)
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes)
      altered[bit >> 3]! ^= 1 << (bit & 7)
      tried++
      await assert.rejects(
        openSignedFile(t.app, blobs, altered.toString('latin1')),
        refused('FORBIDDEN'),
        altered.toString('latin1'),
      )
    }
  }
  assert.ok(tried > 10_000)
})

test('a link cannot be stretched, moved, or signed with another key', async () => {
  const id = await kept(run, 'file', 'x')
  const other = await kept(run, 'file', 'y')
  const url = address(await resourceUrl(run.ctx, id))
  const changed = [
    url.replace(`/files/${id}/`, `/files/${other}/`),
    url.replace('/files/', '/files/0'),
    url.replace(/e=(\d+)/, (_, at) => `e=${Number(at) + 1}`),
    url.replace(/e=/, 'e=0'),
    `${url}&x=1`,
    `${url}#`,
    `/x/..${url}`,
    url.replace('&e=', '&w=aaaaaaaaaaaaaaaa&e='),
    url.replace(/w=.{16}/, 'w=aaaaaaaaaaaaaaaa'),
    url.replace(/&s=.*/, ''),
    url.replace(/&s=.*/, '&s='),
    url.replace('file?', 'fil%65?'),
    url.toUpperCase(),
    '',
    '/files/1/x',
  ]
  for (const one of changed) await assert.rejects(openSignedFile(t.app, blobs, one), refused('FORBIDDEN'), one)
  const stranger = { ...t.app, vault: new Vault([Buffer.alloc(32, 1)]) }
  await assert.rejects(openSignedFile(stranger, blobs, url), refused('FORBIDDEN'))
})

test('a link of an older master key works for as long as that key is in the ring', async () => {
  const [old, fresh] = [Buffer.alloc(32, 2), Buffer.alloc(32, 3)]
  const id = await kept(run, 'file', 'x')
  const url = address(await resourceUrl({ ...run.ctx, vault: new Vault([old]) }, id))
  await openSignedFile({ ...t.app, vault: new Vault([fresh, old]) }, blobs, url)
  await assert.rejects(openSignedFile({ ...t.app, vault: new Vault([fresh]) }, blobs, url), refused('FORBIDDEN'))
})

test('a link works for five minutes and not longer', async () => {
  const url = await resourceUrl(run.ctx, await kept(run, 'file', 'x'))
  t.clock.advance(299_000)
  assert.equal(await read(url), 'x')
  t.clock.advance(1_000)
  await assert.rejects(read(url), refused('FORBIDDEN'))
})

test('nothing is kept for a run that the worker does not hold any more', async () => {
  const of = await heldRun(t)
  const commandId = await of.command()
  const file = { path: 'late', listed: true, open: async () => Readable.from([Buffer.from('late')]) }
  assert.equal(await keepFile(t.app.db, blobs, { ...of.owner(commandId), attempt: 2 }, file, unhurried), 'lost')
  await of.end()
  assert.equal(await keepFile(t.app.db, blobs, of.owner(commandId), file, unhurried), 'lost')
  assert.deepEqual(await listArtifacts(of.ctx, { runId: of.runId }), [])
})

test('nothing is kept for a run that is being taken away at that moment', async () => {
  const of = await heldRun(t)
  const commandId = await of.command()
  const file = { path: 'late', listed: true, open: async () => Readable.from([Buffer.from('late')]) }
  let result: Promise<unknown> | undefined
  await inTransaction(t.app.db, async (tx) => {
    await sql`update run set attempt = attempt + 1 where id = ${of.runId}`.execute(tx)
    result = keepFile(t.app.db, blobs, of.owner(commandId), file, unhurried)
    const waits = async () =>
      (
        await sql`select 1 from pg_stat_activity where query like '/* artifact_insert */%' and wait_event_type = 'Lock'
        and datname = current_database()`.execute(t.app.db)
      ).rows.length > 0
    while (!(await waits())) await Promise.race([result, turn()])
  })
  assert.equal(await result, 'lost')
})

test('bytes that were taken away while their file was being kept are put there again', async () => {
  let taken = 0
  const racing: BlobStore = {
    ...blobs,
    has: async (uid, hash) => {
      if (taken++ === 0) await blobs.delete(uid, hash)
      return await blobs.has(uid, hash)
    },
  }
  const file = { path: 'race', listed: true, open: async () => Readable.from([Buffer.from('race')]) }
  const result = await keepFile(t.app.db, racing, run.owner(await run.command()), file, unhurried)
  assert.ok(typeof result === 'object')
  assert.equal(await read(await resourceUrl(run.ctx, result.id)), 'race')
})

test('the name in a link needs no escape', () => {
  for (const [path, name] of [
    ['a/b.json', 'b.json'],
    ['.env', '_.env'],
    ['..', '_..'],
    ['ü n.csv', '_n.csv'],
    ['a\nb', 'a_b'],
    ['x'.repeat(300), 'x'.repeat(99)],
    ['数据', '_'],
  ] as const) {
    assert.equal(linkName(path), name)
  }
})
