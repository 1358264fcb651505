import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actor } from '../domain/actor.ts'
import { addressScope, createRateLimiter, TokenBuckets } from './rate-limit.ts'

const keyActor = (id: number): Actor => ({
  kind: 'key',
  key: {
    id,
    kind: 'account',
    name: '',
    client: null,
    capabilities: [],
    workspaceId: null,
    makerId: null,
    makerEmail: '',
  },
})

function limiter(limits = {}) {
  const clock = { ms: 0 }
  const made = createRateLimiter(
    { requestsPerSecond: 50, requestBurst: 200, badCredentialsPerMinute: 10, ...limits },
    () => clock.ms,
  )
  return { clock, ...made }
}

const passed = (work: () => void): boolean => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

test('a bucket gives its burst at once and its rate after that', () => {
  const clock = { ms: 0 }
  const buckets = new TokenBuckets({ perSecond: 50, burst: 200, now: () => clock.ms })
  let granted = 0
  for (let at = 0; at < 300; at++) if (buckets.take('a', 1) === 0) granted++
  assert.equal(granted, 200)
  assert.equal(buckets.take('a', 1), 20)
  assert.equal(buckets.take('b', 1), 0)
  for (clock.ms = 20; clock.ms <= 10_000; clock.ms += 20) assert.equal(buckets.take('a', 1), 0)
  clock.ms += 3_600_000
  granted = 0
  for (let at = 0; at < 300; at++) if (buckets.take('a', 1) === 0) granted++
  assert.equal(granted, 200)
})

test('what costs more than a full bucket empties it, and passes', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 3, now: () => 0 })
  assert.equal(buckets.take('a', 10), 0)
  assert.equal(buckets.take('a', 1), 1_000)
})

test('memory is bounded: the least recently used bucket goes first', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1, now: () => 0, capacity: 3 })
  for (const name of ['a', 'b', 'c']) buckets.take(name, 1)
  assert.notEqual(buckets.take('a', 1), 0)
  buckets.take('d', 1)
  assert.equal(buckets.size, 3)
  assert.notEqual(buckets.take('a', 1), 0)
  assert.equal(buckets.take('b', 1), 0)
})

test('one key has used up its share, another has not, and the refusal says when to come back', () => {
  const { charge, clock } = limiter()
  for (let at = 0; at < 200; at++) charge(keyActor(1), '10.0.0.1', 1)
  assert.throws(() => charge(keyActor(1), '10.0.0.2', 1), { code: 'RATE_LIMITED', retryAfterSeconds: 1 })
  charge(keyActor(2), '10.0.0.1', 1)
  clock.ms += 1_000
  for (let at = 0; at < 50; at++) charge(keyActor(1), '10.0.0.1', 1)
  assert.throws(() => charge(keyActor(1), '10.0.0.1', 1), { code: 'RATE_LIMITED' })
})

test('ten fields cost ten', () => {
  const { charge } = limiter()
  for (let at = 0; at < 20; at++) charge(keyActor(1), '10.0.0.1', 10)
  assert.throws(() => charge(keyActor(1), '10.0.0.1', 1), { code: 'RATE_LIMITED' })
})

test('the anonymous share an address, IPv6 by its first 64 bits', () => {
  const { charge } = limiter({ requestBurst: 2 })
  const nobody: Actor = { kind: 'anonymous' }
  charge(nobody, '2001:db8::1', 1)
  charge(nobody, '2001:db8::ffff:2', 1)
  assert.throws(() => charge(nobody, '2001:db8:0:0:a:b:c:d', 1), { code: 'RATE_LIMITED' })
  charge(nobody, '2001:db8:0:1::1', 1)
  // A flood of addresses does not touch what a key has used.
  charge(keyActor(1), '2001:db8::1', 1)
})

test('wrong credentials are counted by address and by key id, and never against a good key', () => {
  const { charge, chargeRejected, clock } = limiter()
  const unknown = (keyId: string | null) => ({ reason: 'unknown' as const, keyId })
  const tries = (keyId: (at: number) => string | null, address: (at: number) => string): number => {
    let count = 0
    for (let at = 0; at < 50; at++) if (passed(() => chargeRejected(unknown(keyId(at)), address(at)))) count++
    return count
  }
  assert.equal(
    tries(
      (at) => `key${at}`,
      () => '10.0.0.1',
    ),
    10,
  )
  assert.equal(
    tries(
      () => 'one-key',
      (at) => `10.1.0.${at}`,
    ),
    10,
  )
  assert.equal(
    tries(
      () => null,
      (at) => `10.2.0.${at}`,
    ),
    50,
  )
  charge(keyActor(1), '10.0.0.1', 1)
  assert.throws(() => chargeRejected(unknown(null), '10.0.0.1'), { code: 'RATE_LIMITED', retryAfterSeconds: 6 })
  clock.ms += 6_000
  chargeRejected(unknown(null), '10.0.0.1')
})

test('an address is taken as far as its owner cannot change it', () => {
  const rows: [address: string, scope: string][] = [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['2001:0db8:0000:0001:0002::3', '2001:db8:0:1::/64'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['not an address', 'not an address'],
  ]
  for (const [address, scope] of rows) assert.equal(addressScope(address), scope, address)
})
