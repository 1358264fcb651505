import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base62, newPublicKeyId, newSecret, newUid } from './ids.ts'

test('a uid is 16 lower-case letters and digits, and every one of them occurs', () => {
  const uids = Array.from({ length: 2_000 }, newUid)
  for (const uid of uids) assert.match(uid, /^[a-z0-9]{16}$/)
  assert.equal(new Set(uids).size, uids.length)
  assert.equal(new Set(uids.join('')).size, 36)
})

test('a key id is 12 letters and digits', () => {
  const ids = Array.from({ length: 2_000 }, newPublicKeyId)
  for (const id of ids) assert.match(id, /^[A-Za-z0-9]{12}$/)
  assert.equal(new Set(ids).size, ids.length)
  assert.equal(new Set(ids.join('')).size, 62)
})

test('a secret holds all of its 256 bits: 43 letters are enough and none is left out', () => {
  const highest = 2n ** 256n - 1n
  assert.ok(62n ** 43n > highest)
  assert.notEqual(base62(highest, 43), base62(highest >> 1n, 43))
  const secrets = Array.from({ length: 2_000 }, newSecret)
  for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9]{43}$/)
  assert.equal(new Set(secrets).size, secrets.length)
})

test('base 62 counts in digits, capitals, small letters, with leading zeros', () => {
  assert.equal(base62(0n, 3), '000')
  assert.equal(base62(9n, 1), '9')
  assert.equal(base62(10n, 1), 'A')
  assert.equal(base62(36n, 1), 'a')
  assert.equal(base62(61n, 2), '0z')
  assert.equal(base62(62n, 2), '10')
})
