import assert from 'node:assert/strict'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { addMasterKey, makeMasterKey, masterKeyPath, readMasterKeys } from './master-key-file.ts'

describe('the file of the master keys', () => {
  let folder: string
  let path: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'yardmaster-key-'))
    path = masterKeyPath(folder)
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('that is not there is no key, and is told from one that cannot be read', async () => {
    assert.equal(await readMasterKeys(path), null)
    await assert.rejects(readMasterKeys(join(folder, 'x\u0000')))
  })

  test('is made with 32 random bytes, for its owner alone', async () => {
    const keys = await makeMasterKey(path)
    assert.deepEqual([keys.length, keys[0]?.length], [1, 32])
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await readMasterKeys(path), keys)
    assert.deepEqual(await readdir(folder), ['master.key'])
  })

  test('is made once when many make it at once, and all have the same key', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeMasterKey(path)))
    for (const keys of made) assert.deepEqual(keys, made[0])
    assert.deepEqual(await readMasterKeys(path), made[0])
    assert.deepEqual(await readdir(folder), ['master.key'])
  })

  test('is never made over one that is there', async () => {
    const [first, second] = [await makeMasterKey(path), await makeMasterKey(path)]
    assert.deepEqual(second, first)
  })

  test('is refused when others can read or write it, with what to do about it', async () => {
    await makeMasterKey(path)
    for (const mode of [0o640, 0o604, 0o660, 0o644, 0o620, 0o601, 0o777]) {
      await chmod(path, mode)
      await assert.rejects(readMasterKeys(path), /Others can read the master key: chmod 600/, mode.toString(8))
    }
    for (const mode of [0o600, 0o400]) {
      await chmod(path, mode)
      assert.equal((await readMasterKeys(path))?.length, 1)
    }
  })

  test('that holds something else is refused rather than replaced', async () => {
    const key = Buffer.alloc(32, 7).toString('base64')
    for (const text of [
      '',
      '\n',
      'hello',
      key.slice(0, 40),
      `${key}\nshort`,
      `${Buffer.alloc(33).toString('base64')}`,
    ]) {
      await writeFile(path, text, { mode: 0o600 })
      await assert.rejects(readMasterKeys(path), /does not hold master keys/)
    }
    await writeFile(path, `\n${key},${key}\r\n  ${key}\n`)
    assert.equal((await readMasterKeys(path))?.length, 3)
  })

  test('gets a new current key in front, and the old ones stay behind it', async () => {
    const [old] = await makeMasterKey(path)
    await addMasterKey(path)
    await addMasterKey(path)
    const ring = (await readMasterKeys(path))!
    assert.equal(ring.length, 3)
    assert.deepEqual(ring[2], old)
    assert.equal(new Set(ring.map((one) => one.toString('hex'))).size, 3)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(folder), ['master.key'])
  })

  test('loses no key when two are added at once: one is added, or both, and nothing is written over', async () => {
    const [old] = await makeMasterKey(path)
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => addMasterKey(path)))
    const added = outcomes.filter((one) => one.status === 'fulfilled').length
    const ring = (await readMasterKeys(path))!
    assert.ok(added >= 1)
    assert.equal(ring.length, 1 + added)
    assert.deepEqual(ring.at(-1), old)
    for (const one of outcomes) if (one.status === 'rejected') assert.match(String(one.reason), /Another rotation/)
  })

  test('is left as it is when a key cannot be added', async () => {
    await assert.rejects(addMasterKey(path), { code: 'ENOENT' })
    assert.deepEqual(await readdir(folder), [])
    await makeMasterKey(path)
    const before = await readFile(path, 'utf8')
    await writeFile(`${path}.new`, 'of a rotation that was cut short', { mode: 0o644 })
    await assert.rejects(addMasterKey(path), /remove .*master\.key\.new and try again/)
    assert.equal(await readFile(path, 'utf8'), before)
  })
})
