import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { PASSWORD, testPages } from '../../test/support/pages.ts'
import { createSignInLink } from '../app/sign-in.ts'
import { AppError } from '../domain/errors.ts'
import { createSignInLimiter, type SignInLimiter } from './sign-in-limit.ts'

function limiter(signInsPerMinute = 10): { limits: SignInLimiter; tick(seconds: number): void } {
  let now = 0
  const limits = createSignInLimiter({ signInsPerMinute }, () => now)
  return {
    limits,
    tick: (seconds) => {
      now += seconds * 1000
    },
  }
}

/** How many of the tries passed, and what the first that did not was told. */
function count(tries: number, attempt: (index: number) => void): { passed: number; retryAfter: number | undefined } {
  let passed = 0
  let retryAfter: number | undefined
  for (let index = 0; index < tries; index++) {
    try {
      attempt(index)
      passed++
    } catch (error) {
      assert.ok(error instanceof AppError && error.code === 'RATE_LIMITED')
      retryAfter ??= error.retryAfterSeconds
    }
  }
  return { passed, retryAfter }
}

describe('tries to sign in', () => {
  test('are limited for an address, whoever is tried, and come back with time', () => {
    const { limits, tick } = limiter()
    const spray = (index: number) => limits.tryPassword(`person-${index}@example.com`, '192.0.2.1')
    assert.deepEqual(count(50, spray), { passed: 10, retryAfter: 6 })
    // Another address is not held up by it.
    limits.tryPassword('person-1@example.com', '192.0.2.2')
    tick(6)
    assert.equal(count(5, spray).passed, 1)
    tick(60)
    assert.equal(count(50, spray).passed, 10)
  })

  test('are limited for a person over all addresses, widely, in the hour', () => {
    const { limits, tick } = limiter()
    const guess = (index: number) => limits.tryPassword(' Ana@example.com', `192.0.${index >> 8}.${index & 255}`)
    const { passed, retryAfter } = count(500, guess)
    assert.equal(passed, 100)
    assert.equal(retryAfter, 36)
    limits.tryPassword('ben@example.com', '192.0.2.1')
    tick(3600)
    assert.equal(count(500, (index) => guess(index + 1000)).passed, 100)
  })

  test('take an IPv6 network for one address', () => {
    const { limits } = limiter()
    const { passed } = count(50, (index) => limits.tryPassword(`p${index}@example.com`, `2001:db8::${index}`))
    assert.equal(passed, 10)
  })

  test('that are refused for their address use nothing up of the person', () => {
    const { limits } = limiter()
    count(1000, () => limits.tryPassword('ana@example.com', '192.0.2.1'))
    assert.equal(count(200, (index) => limits.tryPassword('ana@example.com', `198.51.100.${index}`)).passed, 90)
  })
})

test('links that do not hold are limited for an address', () => {
  const { limits } = limiter()
  assert.equal(count(30, () => limits.missed('192.0.2.1')).passed, 10)
  limits.missed('192.0.2.2')
})

test('mails that strangers can cause are few for a person', () => {
  const { limits, tick } = limiter()
  const ask = (index: number) => limits.askForReset('ana@example.com', `192.0.2.${index}`)
  assert.deepEqual(count(20, ask), { passed: 5, retryAfter: 720 })
  tick(720)
  assert.equal(count(20, ask).passed, 1)
})

describe('on the pages', () => {
  test('too many tries are told when to come back, and no password is looked at', async () => {
    await using t = await testPages({ signInsPerMinute: 3 })
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor('192.0.2.1')
    for (let time = 0; time < 3; time++) assert.equal((await visitor.signIn(ana.email, 'wrong password')).status, 401)
    const limited = await visitor.signIn(ana.email, PASSWORD)
    assert.equal(limited.status, 429)
    assert.equal(limited.headers['retry-after'], '20')
    assert.match(limited.text, /Too many tries\. Wait 20 seconds, then try again\./)
    assert.deepEqual(limited.cookies, [])
    // Somebody else elsewhere gets in meanwhile.
    assert.equal((await t.visitor('192.0.2.2').signIn(ana.email, PASSWORD)).status, 303)
    t.tick(20_000)
    assert.equal((await visitor.signIn(ana.email, PASSWORD)).status, 303)
    assert.equal((await visitor.signIn(ana.email, PASSWORD)).status, 429)
    // All of the refusals of the address, these included, are in one record.
    assert.equal((await t.records('sign_in_refused')).length, 1)
    const [row] = await t.app.db.selectFrom('audit_refusal').select('count').execute()
    assert.equal(row?.count, 5)
  })

  test('guessed links are refused more and more, and a good one still works', async () => {
    await using t = await testPages({ signInsPerMinute: 3 })
    const visitor = t.visitor()
    const statuses: number[] = []
    for (let time = 0; time < 5; time++) statuses.push((await visitor.get(`/reset/ymt_${'b'.repeat(43)}`)).status)
    assert.deepEqual(statuses, [404, 404, 404, 429, 429])
    const ana = await t.member(await t.workspace(), 'ADMIN')
    const path = new URL(await createSignInLink(t.system, ana, 5)).pathname
    assert.equal((await visitor.get(path)).status, 200)
    assert.equal((await visitor.post(path)).status, 303)
  })

  test('the password before a change, that of an invitation and mails for a reset are limited too', async () => {
    await using t = await testPages({ signInsPerMinute: 2 })
    const ana = await t.member(await t.workspace(), 'ADMIN', { password: PASSWORD })
    const visitor = t.visitor()
    await visitor.signIn(ana.email, PASSWORD)
    const change = () => visitor.post('/account/password', { current: 'wrong', password: PASSWORD, again: PASSWORD })
    assert.equal((await change()).status, 401)
    assert.equal((await change()).status, 429)
    assert.equal((await visitor.post('/reset', { email: ana.email })).status, 429)
    assert.equal((await t.visitor('192.0.2.99').post('/reset', { email: ana.email })).status, 200)
  })
})
