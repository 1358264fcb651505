// Keys that are nearly right, and how fast one may ask.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSecret } from '../service/src/domain/ids.ts'
import { formatKey, parseBearer } from '../service/src/domain/key.ts'
import { bearer, pairOf, type TestApi, testApi } from './support/api.ts'
import { type Random, seeded } from './support/random.ts'

const ASK = '{ listWorkspaces { ok } }'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A key with one to four small changes, never the same key. */
function mutated(random: Random, key: string): string {
  let text = key
  for (let times = random.chance(0.7) ? 1 : random.between(2, 4); times > 0; times--) {
    const at = random.between(0, Math.max(0, text.length - 1))
    const here = text[at] ?? 'a'
    const letter = random.pick([...BASE62, '_', '-', '.', '=', '\u00e9'])
    const flipped = here === here.toUpperCase() ? here.toLowerCase() : here.toUpperCase()
    text = random.pick([
      () => text.slice(0, at) + letter + text.slice(at + 1),
      () => text.slice(0, at) + letter + text.slice(at + 1),
      () => text.slice(0, at) + flipped + text.slice(at + 1),
      () => text.slice(0, at) + (text[at + 1] ?? '') + here + text.slice(at + 2),
      () => text.slice(0, at) + text.slice(at + 1),
      () => text.slice(0, at) + letter + text.slice(at),
      () => text.slice(0, at),
      () => text.replace(/^[a-z]+_[a-z]+_/, random.pick(['ym_wsp_', 'ym_usr_', 'ym_key_', 'prdm_cmp_', 'ym_acc', ''])),
      () => text + letter,
    ])()
  }
  return text.trim() === key ? mutated(random, key) : text
}

test('of 10,000 mutated keys none is accepted, and hardly one is worth a statement', async () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  console.log(`seed ${seed}`)
  const random = seeded(seed)
  let statements = 0
  await using api = await testApi({ onStatement: () => statements++ })
  const keys = [
    (await api.t.key()).key,
    (await api.t.key({ kind: 'workspace' })).key,
    (await api.t.key({ kind: 'personal' })).key,
    (await api.t.key({ client: 'paradime' })).key,
  ]
  for (const key of keys) assert.equal((await api.ask(ASK, { by: bearer(key) })).status, 200)
  // The four that were right, and when each was last used.
  const before = statements
  assert.ok(before >= 4)
  let accepted = 0
  for (let sent = 0; sent < 10_000; sent++) {
    const { status } = await api.ask(ASK, { by: bearer(mutated(random, random.pick(keys))) })
    if (status !== 401) accepted++
  }
  const asked = statements - before
  console.log(`10,000 mutated keys: ${accepted} accepted, ${asked} reached the database`)
  assert.equal(accepted, 0)
  assert.ok(asked <= 1, `${asked} reached the database`)
})

test('a right checksum over a wrong secret, or over the id of nobody, is refused by the database', async () => {
  let statements = 0
  await using api = await testApi({ onStatement: () => statements++ })
  const workspace = await api.t.workspace()
  const key = await api.t.key()
  const pair = await api.t.key({ kind: 'pair', workspace })
  const { publicId } = parseBearer(key.key)!
  const other = formatKey('pair', null, pair.key.slice(7, 19), newSecret())
  const wrong = [
    bearer(formatKey('account', null, publicId, newSecret()).key),
    bearer(formatKey('workspace', null, publicId, newSecret()).key),
    bearer(formatKey('account', null, 'A'.repeat(12), newSecret()).key),
    // The id and secret of a pair as one key, and the other way round.
    bearer(formatKey('workspace', null, pair.key.slice(7, 19), pair.secret.slice(7, 50)).key),
    pairOf(formatKey('pair', null, publicId, parseBearer(key.key)!.secret)),
    pairOf(other),
  ]
  for (const [at, by] of wrong.entries()) {
    const reply = await api.ask(ASK, { by })
    assert.deepEqual([reply.status, reply.code], [401, 'UNAUTHENTICATED'], String(at))
    // Nothing tells an id that exists from one that does not.
    assert.match(reply.message, /^These credentials are not known\./)
  }
  assert.equal(statements, wrong.length)
})

const USUAL = {
  YARDMASTER_REQUESTS_PER_SECOND: '50',
  YARDMASTER_REQUEST_BURST: '200',
  YARDMASTER_BAD_CREDENTIALS_PER_MINUTE: '10',
}

const wrongSecret = (key: string): string => formatKey('account', null, parseBearer(key)!.publicId, newSecret()).key

test('wrong credentials are limited per address, and a good key from the same address goes on at once', async () => {
  await using api = await testApi({ env: USUAL })
  const good = (await api.t.key()).key
  const address = '192.0.2.1'
  const ways = [() => bearer('nonsense'), () => bearer(formatKey('account', null, 'B'.repeat(12), newSecret()).key)]
  for (let at = 0; at < 10; at++) {
    assert.equal((await api.ask(ASK, { by: ways[at % 2]!(), address })).status, 401)
  }
  for (let at = 0; at < 5; at++) {
    const reply = await api.ask(ASK, { by: ways[at % 2]!(), address })
    assert.deepEqual([reply.status, reply.code], [429, 'RATE_LIMITED'])
    const seconds = Number(reply.headers['retry-after'])
    assert.ok(seconds >= 1 && seconds <= 60, String(seconds))
    assert.equal((await api.ask(ASK, { by: bearer(good), address })).status, 200)
  }
  assert.equal((await api.ask('{ apiKeyIdentity { isValid } }', { by: bearer('x'), address })).status, 429)
  // No credentials are not wrong ones, and another address is not this one.
  assert.equal((await api.ask(ASK, { address })).status, 401)
  assert.equal((await api.ask(ASK, { by: bearer('nonsense'), address: '192.0.2.2' })).status, 401)
  // All of one network's IPv6 addresses are one.
  for (let at = 0; at < 10; at++) await api.ask(ASK, { by: bearer('x'), address: `2001:db8::${at + 1}` })
  assert.equal((await api.ask(ASK, { by: bearer('x'), address: '2001:db8::ffff' })).status, 429)
  assert.equal((await api.ask(ASK, { by: bearer('x'), address: '2001:db8:0:1::1' })).status, 401)
})

test('wrong secrets are limited per key id over all addresses, and its right secret is never held up', async () => {
  await using api = await testApi({ env: USUAL })
  const good = (await api.t.key()).key
  const address = (at: number) => `198.51.100.${at}`
  for (let at = 0; at < 10; at++) {
    assert.equal((await api.ask(ASK, { by: bearer(wrongSecret(good)), address: address(at) })).status, 401)
  }
  for (let at = 10; at < 15; at++) {
    const reply = await api.ask(ASK, { by: bearer(wrongSecret(good)), address: address(at) })
    assert.equal(reply.status, 429)
    assert.ok(Number(reply.headers['retry-after']) >= 1)
    assert.equal((await api.ask(ASK, { by: bearer(good), address: address(at) })).status, 200)
  }
})

/** Asks without a pause until it is refused; how many root fields went through, and in which time. */
async function untilRefused(api: TestApi, by: Record<string, string>, fields: number) {
  const query = `{ ${Array.from({ length: fields }, (_, at) => `a${at}: apiKeyIdentity { isValid }`).join(' ')} }`
  const began = performance.now()
  for (let passed = 0; ; passed += fields) {
    const reply = await api.ask(query, { by, address: '192.0.2.9' })
    const seconds = (performance.now() - began) / 1_000
    if (reply.status === 200) continue
    assert.deepEqual([reply.status, reply.code], [429, 'RATE_LIMITED'])
    assert.ok(Number(reply.headers['retry-after']) >= 1)
    return { passed, seconds }
  }
}

test('50 requests a second with bursts of 200 for each key, counted by root fields', async () => {
  await using api = await testApi({ env: USUAL })
  for (const fields of [10, 4]) {
    const by = bearer((await api.t.key()).key)
    const other = bearer((await api.t.key()).key)
    const { passed, seconds } = await untilRefused(api, by, fields)
    // What came back meanwhile goes through as well; of a refused request one field may have been counted.
    assert.ok(passed >= 200 - fields, `${passed} fields`)
    assert.ok(passed <= 200 + 50 * seconds + fields, `${passed} fields in ${seconds} s`)
    // Another key, and the same one from elsewhere for that matter, is another count.
    assert.equal((await api.ask(ASK, { by: other, address: '192.0.2.9' })).status, 200)
  }
  const nobody = await untilRefused(api, {}, 10)
  assert.ok(nobody.passed <= 200 + 50 * nobody.seconds + 10)
})

test('many aliases do not make many tries out of one', async () => {
  await using api = await testApi({ env: USUAL })
  const fields = (count: number) =>
    `{ ${Array.from({ length: count }, (_, at) => `a${at}: apiKeyIdentity { isValid }`).join(' ')} }`
  const by = bearer((await api.t.key()).key)
  assert.equal((await api.ask(fields(11), { by })).status, 400)
  assert.equal((await api.ask(fields(1_000), { by })).status, 400)
  // Wrong ones are counted before the document is read at all.
  const address = '192.0.2.3'
  for (let at = 0; at < 10; at++) await api.ask(fields(1_000), { by: bearer('x'), address })
  assert.equal((await api.ask(fields(1), { by: bearer('x'), address })).status, 429)
})

test('how long a wrong secret takes does not tell where it is wrong (a figure to look at)', async () => {
  await using api = await testApi()
  const { vault } = api.t.app
  const secret = newSecret()
  const hash = vault.hashSecret(secret)
  const first = `${secret[0] === 'a' ? 'b' : 'a'}${secret.slice(1)}`
  const last = `${secret.slice(0, -1)}${secret.at(-1) === 'a' ? 'b' : 'a'}`
  const times = { first: [] as number[], last: [] as number[] }
  for (let at = 0; at < 20_000; at++) {
    for (const [name, text] of at % 2 === 0
      ? [['first', first] as const, ['last', last] as const]
      : [['last', last] as const, ['first', first] as const]) {
      const began = process.hrtime.bigint()
      const right = vault.matches(text, vault.kid, hash)
      times[name].push(Number(process.hrtime.bigint() - began))
      if (right) assert.fail('a wrong secret was accepted')
    }
  }
  const [a, b] = [trimmed(times.first), trimmed(times.last)]
  const error = Math.sqrt(a.variance / a.count + b.variance / b.count)
  const t = (a.mean - b.mean) / error
  console.log(
    `first character wrong ${a.mean.toFixed(0)} ns, last ${b.mean.toFixed(0)} ns, t = ${t.toFixed(2)} (noise below 2.6)`,
  )
})

/** Without the slowest twentieth, which is the machine's and not ours. */
function trimmed(all: readonly number[]): { mean: number; variance: number; count: number } {
  const kept = all.toSorted((one, other) => one - other).slice(0, Math.floor(all.length * 0.95))
  const mean = kept.reduce((sum, one) => sum + one, 0) / kept.length
  const variance = kept.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (kept.length - 1)
  return { mean, variance, count: kept.length }
}
