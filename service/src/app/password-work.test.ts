import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../domain/errors.ts'
import { createTurnstile, hashInTurn, verifyInTurn } from './password-work.ts'

test('a few work at once, some wait in the order in which they came, the rest are sent away', async () => {
  const turnstile = createTurnstile(2, 3)
  const gates: (() => void)[] = []
  const began: number[] = []
  let most = 0
  let inside = 0
  const outcomes = Array.from({ length: 8 }, (_, index) =>
    turnstile(async () => {
      began.push(index)
      most = Math.max(most, ++inside)
      await new Promise<void>((open) => gates.push(open))
      inside--
      return index
    }),
  )
  const settled = Promise.allSettled(outcomes)
  // Three are refused at once, while two are inside and three wait.
  for (const refused of outcomes.slice(5)) {
    await assert.rejects(
      refused,
      (error) => error instanceof AppError && error.code === 'UNAVAILABLE' && error.retryAfterSeconds === 2,
    )
  }
  assert.deepEqual(began, [0, 1])
  while (began.length < 5 || gates.length > 0) {
    gates.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual(began, [0, 1, 2, 3, 4])
  assert.equal(most, 2)
  assert.deepEqual(
    (await settled).map((one) => one.status),
    [...Array(5).fill('fulfilled'), ...Array(3).fill('rejected')],
  )
})

test('work that fails gives its place back', async () => {
  const turnstile = createTurnstile(1, 1)
  const fail = () => turnstile(() => Promise.reject(new Error('no')))
  await assert.rejects(fail(), /no/)
  const [first, second] = await Promise.allSettled([fail(), turnstile(async () => 'yes')])
  assert.equal(first.status, 'rejected')
  assert.deepEqual(second, { status: 'fulfilled', value: 'yes' })
})

test('a hash made in turn is verified in turn', async () => {
  const hash = await hashInTurn('correct horse battery')
  assert.equal(await verifyInTurn('correct horse battery', hash), true)
  assert.equal(await verifyInTurn('correct horse', hash), false)
  assert.equal(await verifyInTurn('correct horse battery', null), false)
})

test('a crowd with wrong passwords is partly sent away, and does not take the memory', async () => {
  const hash = await hashInTurn('correct horse battery')
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 5)
  const outcomes = await Promise.allSettled(Array.from({ length: 60 }, () => verifyInTurn('wrong', hash)))
  clearInterval(watch)
  const away = outcomes.filter((one) => one.status === 'rejected')
  assert.equal(away.length, 60 - 3 - 40)
  // Sixty at once would be 1,140 MiB.
  assert.ok(peak - before < 200 * 1024 * 1024, `${Math.round((peak - before) / 1024 / 1024)} MiB`)
})
