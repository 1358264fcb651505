import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { type LogLine, logInto, replyOf, testEdge } from '../../../test/support/edge.ts'
import { AppError } from '../../domain/errors.ts'
import { registerHealth } from './health.ts'

async function health(ready: () => Promise<void>) {
  const { app } = await testEdge()
  const clock = { ms: 0 }
  const state = { draining: false }
  const lines: LogLine[] = []
  registerHealth(app, { ready, draining: () => state.draining, now: () => clock.ms, log: logInto(lines) })
  const get = async (url: string) => replyOf(await app.inject({ url }))
  return { app, clock, state, lines, get }
}

test('alive is alive, whatever else is wrong', async () => {
  const { get, state, app } = await health(() => Promise.reject(new Error('no database')))
  state.draining = true
  const reply = await get('/healthz')
  assert.deepEqual([reply.status, reply.json], [200, { status: 'ok' }])
  assert.deepEqual(
    app.routeTable.filter(({ access }) => access === 'public').map(({ method, url }) => `${method} ${url}`),
    ['GET /healthz', 'HEAD /healthz', 'GET /readyz', 'HEAD /readyz'],
  )
})

test('ready is looked up once a second for however many ask', async () => {
  let looks = 0
  const { get, clock } = await health(async () => {
    looks++
  })
  const replies = await Promise.all(Array.from({ length: 20 }, () => get('/readyz')))
  assert.ok(replies.every(({ status }) => status === 200))
  assert.equal(looks, 1)
  clock.ms = 999
  await get('/readyz')
  assert.equal(looks, 1)
  clock.ms = 1_000
  await get('/readyz')
  assert.equal(looks, 2)
})

test('not ready says why, without details of ours, and says it to the log once', async () => {
  let wrong: Error | null = new Error('connect ECONNREFUSED 10.0.0.1')
  const { get, clock, lines } = await health(() => (wrong ? Promise.reject(wrong) : Promise.resolve()))
  for (const ms of [0, 1_000, 2_000]) {
    clock.ms = ms
    const reply = await get('/readyz')
    assert.equal(reply.status, 503)
    assert.equal(reply.headers['retry-after'], '2')
    assert.equal(reply.json.errors[0].message, 'The database does not answer or takes no writes: the log says why.')
  }
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['not ready'],
  )
  wrong = new AppError('UNAVAILABLE', 'The database does not answer.')
  clock.ms = 3_000
  assert.equal((await get('/readyz')).json.errors[0].message, 'The database does not answer.')
  wrong = null
  clock.ms = 4_000
  assert.equal((await get('/readyz')).status, 200)
})

test('a service that stops is not ready, at once', async () => {
  const { get, state } = await health(async () => {})
  assert.equal((await get('/readyz')).status, 200)
  state.draining = true
  const reply = await get('/readyz')
  assert.deepEqual([reply.status, reply.json.errors[0].message], [503, 'Stopping.'])
})

test('a look that hangs is not ready after two seconds', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let looked = (): void => {}
    const look = new Promise<void>((resolve) => {
      looked = resolve
    })
    const { get } = await health(() => {
      looked()
      return new Promise(() => {})
    })
    const asked = get('/readyz')
    await look
    mock.timers.tick(2_000)
    assert.equal((await asked).status, 503)
  } finally {
    mock.timers.reset()
  }
})
