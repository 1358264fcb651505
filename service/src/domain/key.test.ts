import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { newPublicKeyId, newSecret } from './ids.ts'
import { formatKey, formatToken, isToken, keyStart, parseBearer, parsePair } from './key.ts'

const ID = 'AbCdEf123456'
const SECRET = 'S3cret'.repeat(8).slice(0, 43)
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-. é\u0000'

test('a key of every kind is read back as the id and the secret that it was made of', () => {
  for (const kind of ['account', 'workspace', 'personal'] as const) {
    for (const client of [null, 'paradime'] as const) {
      const { key, secret } = formatKey(kind, client, ID, SECRET)
      assert.deepEqual(parseBearer(key), { publicId: ID, secret: SECRET })
      assert.equal(secret, '')
    }
  }
  const pair = formatKey('pair', null, ID, SECRET)
  assert.deepEqual(parsePair(pair.key, pair.secret), { publicId: ID, secret: SECRET })
})

test('a key begins with the words by which clients and scanners know it', () => {
  const start = (kind: 'account' | 'workspace' | 'personal', client: 'paradime' | null) =>
    formatKey(kind, client, ID, SECRET).key.slice(0, -(12 + 43 + 6))
  assert.equal(start('account', null), 'ym_acc_')
  assert.equal(start('workspace', null), 'ym_wsp_')
  assert.equal(start('personal', null), 'ym_usr_')
  assert.equal(start('account', 'paradime'), 'prdm_cmp_')
  assert.equal(start('workspace', 'paradime'), 'prdm_wsp_')
  const pair = formatKey('pair', null, ID, SECRET)
  assert.match(pair.key, /^ym_key_[A-Za-z0-9]{18}$/)
  assert.match(pair.secret, /^ym_sec_[A-Za-z0-9]{49}$/)
})

test('the checksum is the CRC-32 of what stands before it, six digits of base 62', () => {
  // Computed by hand with another program (Python: binascii.crc32), so that the form never changes unnoticed.
  assert.equal(formatKey('account', null, 'A'.repeat(12), 'B'.repeat(43)).key.slice(-6), '0laxC1')
})

test('what a list shows of a key has none of its secret', () => {
  for (const kind of ['account', 'workspace', 'pair', 'personal'] as const) {
    const start = keyStart(kind, null, ID)
    assert.ok(formatKey(kind, null, ID, SECRET).key.startsWith(start))
    assert.equal(start.length, 'ym_acc_'.length + 6)
  }
})

test('of ten thousand changed keys none is taken, before the database is asked', () => {
  let tried = 0
  while (tried < 10_000) {
    const { key } = formatKey('account', tried % 2 ? 'paradime' : null, newPublicKeyId(), newSecret())
    const changed = mutate(key)
    if (changed === key) continue
    tried++
    assert.equal(parseBearer(changed), null, changed)
  }
})

test('of changed pairs none is taken, whichever half was changed', () => {
  let tried = 0
  while (tried < 2_000) {
    const pair = formatKey('pair', null, newPublicKeyId(), newSecret())
    const which = tried % 2 ? 'key' : 'secret'
    const changed = { ...pair, [which]: mutate(pair[which]) }
    if (changed[which] === pair[which]) continue
    tried++
    assert.equal(parsePair(changed.key, changed.secret), null)
  }
})

test('the halves of a pair are no bearer keys, and a bearer key is no half of a pair', () => {
  const pair = formatKey('pair', null, ID, SECRET)
  const { key } = formatKey('workspace', null, ID, SECRET)
  assert.equal(parseBearer(pair.key), null)
  assert.equal(parseBearer(pair.secret), null)
  assert.equal(parsePair(key, pair.secret), null)
  assert.equal(parsePair(pair.key, key), null)
  assert.equal(parsePair(pair.secret, pair.key), null)
})

test('nothing, spaces and very long texts are no keys', () => {
  const { key } = formatKey('account', null, ID, SECRET)
  for (const text of ['', ' ', `${key} `, ` ${key}`, key + key, 'ym_acc_', 'ym_acc_'.repeat(20_000), '\u0000'])
    assert.equal(parseBearer(text), null)
})

test('a token is told from other texts by its form alone', () => {
  const token = formatToken(newSecret())
  assert.ok(isToken(token))
  for (const text of [
    '',
    'ymt_',
    token.slice(0, -1),
    `${token}a`,
    token.replace('ymt_', 'ymt-'),
    `${token.slice(0, -1)}\n`,
  ])
    assert.ok(!isToken(text), text)
})

/** One small change: a letter replaced, swapped with the next, doubled, left out, or in the other case. */
function mutate(text: string): string {
  const at = randomInt(text.length)
  const [before, here, after] = [text.slice(0, at), text[at]!, text.slice(at + 1)]
  switch (randomInt(5)) {
    case 0:
      return before + LETTERS[randomInt(LETTERS.length)] + after
    case 1:
      return before + after.slice(0, 1) + here + after.slice(1)
    case 2:
      return before + here + here + after
    case 3:
      return before + after
    default:
      return before + (here === here.toLowerCase() ? here.toUpperCase() : here.toLowerCase()) + after
  }
}
