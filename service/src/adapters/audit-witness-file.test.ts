import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { fileWitness } from './audit-witness-file.ts'

describe('heads of the audit log in a file', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'yardmaster-witness-'))
    path = join(folder, 'audit-heads.jsonl')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const clock = { now: () => new Date('2026-03-02T09:00:00.000Z') }
  const head = (id: number) => ({ id, mac: Buffer.alloc(32, id) })

  test('are read back oldest first, with where and when each was seen', async () => {
    const witness = fileWitness(path, clock)
    assert.deepEqual(await witness.read(), [])
    await witness.append(head(1))
    await witness.append(head(2))
    const seen = await witness.read()
    assert.deepEqual(
      seen.map(({ id, mac }) => ({ id, mac })),
      [head(1), head(2)],
    )
    assert.match(seen[1]!.where, /audit-heads\.jsonl:2 \(2026-03-02T09:00:00\.000Z\)$/)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  test('pass over a line that a crash cut short, and go on behind it', async () => {
    const witness = fileWitness(path, clock)
    await witness.append(head(1))
    await appendFile(path, '{"at":"2026-03-02T09:00:00.000Z","id":2,"ma')
    assert.deepEqual(
      (await witness.read()).map(({ id }) => id),
      [1],
    )
    await witness.append(head(3))
    await witness.append(head(4))
    assert.deepEqual(
      (await witness.read()).map(({ id }) => id),
      [1, 3, 4],
    )
  })

  test('are thinned out when the file has grown large; the first and the last stay', async () => {
    const line = (id: number) => `${JSON.stringify({ at: '2026-03-02T09:00:00.000Z', id, mac: '00'.repeat(32) })}\n`
    const lines = Math.ceil((8.1 * 1024 * 1024) / line(100_000).length)
    await writeFile(path, Array.from({ length: lines }, (_, index) => line(100_000 + index)).join(''), { mode: 0o600 })
    const witness = fileWitness(path, clock)
    await witness.append(head(1))
    const text = await readFile(path, 'utf8')
    const ids = (await witness.read()).map(({ id }) => id)
    assert.ok(text.length < 5 * 1024 * 1024)
    assert.deepEqual([ids[0], ids.at(-2), ids.at(-1)], [100_000, 100_000 + lines - 1, 1])
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  test('that cannot be read are a fault, never "none were seen"', async () => {
    await assert.rejects(fileWitness(folder, clock).read(), { code: 'EISDIR' })
  })
})
