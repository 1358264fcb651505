import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { AppError } from './errors.ts'
import { hashPassword, parsePassword, verifyPassword } from './password.ts'

test("Node's argon2id gives the tag of the test vector in RFC 9106", () => {
  const tag = argon2Sync('argon2id', {
    message: Buffer.alloc(32, 1),
    nonce: Buffer.alloc(16, 2),
    secret: Buffer.alloc(8, 3),
    associatedData: Buffer.alloc(12, 4),
    parallelism: 4,
    tagLength: 32,
    memory: 32,
    passes: 3,
  })
  assert.equal(tag.toString('hex'), '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659')
})

test('the right password opens its hash, a wrong one and nothing do not', async () => {
  const hash = await hashPassword('correct horse')
  assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.equal(await verifyPassword('correct horse', hash), true)
  assert.equal(await verifyPassword('correct horsf', hash), false)
  assert.equal(await verifyPassword('', hash), false)
})

test('the same password has another hash each time', async () => {
  const [one, two] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')])
  assert.notEqual(one, two)
})

test('two ways of typing the same letters are the same password', async () => {
  const hash = await hashPassword('caf\u00e9 caf\u00e9')
  assert.equal(await verifyPassword('cafe\u0301 cafe\u0301', hash), true)
})

test('a hash of other parameters still verifies, so that they can be raised', async () => {
  const nonce = Buffer.alloc(16, 7)
  const tag = argon2Sync('argon2id', {
    message: Buffer.from('an old password'),
    nonce,
    parallelism: 2,
    tagLength: 24,
    memory: 64,
    passes: 1,
  })
  const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const stored = `$argon2id$v=19$m=64,t=1,p=2$${plain(nonce)}$${plain(tag)}`
  assert.equal(await verifyPassword('an old password', stored), true)
  assert.equal(await verifyPassword('another password', stored), false)
})

test('where there is no hash every password is wrong, after the same work', async () => {
  const nobody = await Promise.all(['', 'anything at all', '\u0000'].map((one) => verifyPassword(one, null)))
  assert.deepEqual(nobody, [false, false, false])
  assert.equal(await verifyPassword('x', 'plain text instead of a hash'), false)
})

test('a password has 10 to 1,000 characters', () => {
  assert.equal(parsePassword('x'.repeat(10)), 'x'.repeat(10))
  for (const password of ['', 'x'.repeat(9), 'x'.repeat(1001)]) assert.throws(() => parsePassword(password), AppError)
})
