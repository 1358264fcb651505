import assert from 'node:assert/strict'
import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { MissingMasterKey, type Sealed, Vault } from './vault.ts'

const OLD = randomBytes(32)
const NEW = randomBytes(32)
const CONTEXT = ['secret', 1, 2, 'variable', 'DB_PASSWORD', 3] as const

test('what is sealed opens in its place, whatever bytes it has', () => {
  const vault = new Vault([OLD])
  for (const plain of ['', 'x', 'pässwörd 🦖', '\u0000', 'y'.repeat(100_000)]) {
    assert.equal(vault.open(vault.seal(plain, CONTEXT), CONTEXT).toString(), plain)
  }
  const bytes = randomBytes(1000)
  assert.deepEqual(vault.open(vault.seal(bytes, CONTEXT), CONTEXT), bytes)
})

test('the same value is sealed differently each time, and nothing of it can be read', () => {
  const vault = new Vault([OLD])
  const plain = 'a value that is easy to find'
  const all = Array.from({ length: 100 }, () => vault.seal(plain, CONTEXT))
  assert.equal(new Set(all.map((one) => one.sealed.toString('hex'))).size, 100)
  assert.equal(new Set(all.map((one) => one.wrappedKey.toString('hex'))).size, 100)
  for (const { sealed, wrappedKey } of all) assert.ok(!sealed.includes(plain) && !wrappedKey.includes(plain))
})

test('in any other place it does not open', () => {
  const vault = new Vault([OLD])
  const sealed = vault.seal('value', CONTEXT)
  const others = [
    ['secret', 2, 2, 'variable', 'DB_PASSWORD', 3],
    ['secret', 1, 1, 'variable', 'DB_PASSWORD', 3],
    ['secret', 1, 2, 'file', 'DB_PASSWORD', 3],
    ['secret', 1, 2, 'variable', 'DB_PASSWORD2', 3],
    ['secret', 1, 2, 'variable', 'DB_PASSWORD', 2],
    ['answer', 1, 2, 'variable', 'DB_PASSWORD', 3],
    ['secret', 12, 'variable', 'DB_PASSWORD', 3],
    ['secret', '1', 2, 'variable', 'DB_PASSWORD', 3],
    [],
  ]
  for (const place of others) assert.throws(() => vault.open(sealed, place), /authenticate/, JSON.stringify(place))
})

test('with one changed bit, cut short or made longer it does not open', () => {
  const vault = new Vault([OLD])
  const good = vault.seal('a value', CONTEXT)
  for (const part of ['wrappedKey', 'sealed'] as const) {
    for (let bit = 0; bit < good[part].length * 8; bit++) {
      const bytes = Buffer.from(good[part])
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      assert.throws(() => vault.open({ ...good, [part]: bytes }, CONTEXT))
    }
    for (const length of [0, 1, 12, 27, good[part].length - 1]) {
      assert.throws(() => vault.open({ ...good, [part]: good[part].subarray(0, length) }, CONTEXT))
    }
    assert.throws(() => vault.open({ ...good, [part]: Buffer.concat([good[part], Buffer.alloc(1)]) }, CONTEXT))
  }
})

test('two sealed values cannot lend each other their keys or bytes', () => {
  const vault = new Vault([OLD])
  const [one, two] = [vault.seal('one', CONTEXT), vault.seal('two', CONTEXT)]
  assert.throws(() => vault.open({ ...one, wrappedKey: two.wrappedKey }, CONTEXT))
  assert.throws(() => vault.open({ ...one, sealed: two.sealed }, CONTEXT))
  // The two halves of one value are no use in each other's place either.
  assert.throws(() => vault.open({ ...one, wrappedKey: one.sealed }, CONTEXT))
})

test('after a rotation the ring opens old values and seals new ones under the new key', () => {
  const old = new Vault([OLD]).seal('value', CONTEXT)
  const ring = new Vault([NEW, OLD])
  assert.equal(ring.open(old, CONTEXT).toString(), 'value')
  assert.equal(ring.kid, new Vault([NEW]).kid)
  assert.equal(ring.seal('value', CONTEXT).kid, ring.kid)
  assert.deepEqual(ring.kids, [new Vault([NEW]).kid, new Vault([OLD]).kid])
})

test('re-wrapping changes the key around a value and not the value, and only where it lies', () => {
  const old = new Vault([OLD]).seal('value', CONTEXT)
  const ring = new Vault([NEW, OLD])
  const wrapped = ring.rewrap(old, CONTEXT)
  assert.equal(wrapped.kid, ring.kid)
  assert.deepEqual(wrapped.sealed, old.sealed)
  assert.equal(new Vault([NEW]).open(wrapped, CONTEXT).toString(), 'value')
  assert.throws(() => ring.rewrap(old, ['secret', 2]))
  assert.throws(() => ring.rewrap({ ...old, wrappedKey: randomBytes(60) }, CONTEXT))
})

test('without the key that sealed it, the error says which one is missing and where it belongs', () => {
  const old: Sealed = new Vault([OLD]).seal('value', CONTEXT)
  const stranger = new Vault([NEW])
  for (const work of [() => stranger.open(old, CONTEXT), () => stranger.rewrap(old, CONTEXT)]) {
    assert.throws(work, (error) => error instanceof MissingMasterKey && error.message.includes(old.kid))
    assert.throws(work, /YARDMASTER_MASTER_KEY/)
  }
})

test('a key id is a fingerprint that does not give the key away', () => {
  const { kid } = new Vault([OLD])
  assert.match(kid, /^[0-9a-f]{16}$/)
  assert.ok(!OLD.toString('hex').includes(kid))
})

test('a ring needs a key, and a key has 32 bytes', () => {
  assert.throws(() => new Vault([]), /At least one/)
  for (const length of [0, 16, 31, 33]) assert.throws(() => new Vault([Buffer.alloc(length)]), /32 bytes/)
})

test('the hash of a secret is an HMAC under a key made for that alone', () => {
  const vault = new Vault([OLD])
  const pepper = Buffer.from(hkdfSync('sha256', OLD, Buffer.alloc(0), 'yardmaster pepper v1', 32))
  assert.deepEqual(vault.hashSecret('secret'), createHmac('sha256', pepper).update('secret').digest())
  assert.notDeepEqual(vault.hashSecret('secret'), vault.auditMac('secret'))
})

test('a secret matches its hash under the key it was made with, as long as that is in the ring', () => {
  const old = new Vault([OLD])
  const hash = old.hashSecret('secret')
  const ring = new Vault([NEW, OLD])
  assert.ok(ring.matches('secret', old.kid, hash))
  assert.ok(!ring.matches('secreT', old.kid, hash))
  assert.ok(!ring.matches('secret', ring.kid, hash))
  assert.ok(!ring.matches('secret', old.kid, Buffer.alloc(0)))
  assert.ok(!ring.matches('secret', old.kid, Buffer.concat([hash, hash])))
  assert.ok(!new Vault([NEW]).matches('secret', old.kid, hash))
  assert.deepEqual(ring.hashesOf('token'), [ring.hashSecret('token'), old.hashSecret('token')])
})

test('a record can be checked under the key that it names', () => {
  const [old, ring] = [new Vault([OLD]), new Vault([NEW, OLD])]
  assert.deepEqual(ring.auditMac('text', old.kid), old.auditMac('text'))
  assert.notDeepEqual(ring.auditMac('text'), old.auditMac('text'))
  assert.throws(() => old.auditMac('text', ring.kid), MissingMasterKey)
})
