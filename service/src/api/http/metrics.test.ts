import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testEdge } from '../../../test/support/edge.ts'
import { createMetrics, registerMetrics } from './metrics.ts'

async function metered(token: string | null) {
  const metrics = createMetrics({
    operations: ['listUsers'],
    pool: () => ({ total: 5, idle: 3, waiting: 1 }),
  })
  const edge = await testEdge({ server: { onAnswered: metrics.answered } })
  registerMetrics(edge.app, metrics, { token })
  return { metrics, edge }
}

test('without a token this machine alone reads metrics, and no proxy on it', async () => {
  const { edge } = await metered(null)
  const get = async (remoteAddress: string, headers = {}) =>
    edge.app.inject({ url: '/metrics', remoteAddress, headers })
  for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) {
    assert.equal((await get(address)).statusCode, 200, address)
  }
  for (const address of ['10.0.0.1', '::ffff:10.0.0.1', '2001:db8::1', '::2']) {
    const refused = await get(address)
    assert.equal(refused.statusCode, 401, address)
    assert.match(refused.json().errors[0].message, /YARDMASTER_METRICS_TOKEN/)
  }
  assert.equal((await get('127.0.0.1', { 'x-forwarded-for': '127.0.0.1' })).statusCode, 401)
  assert.equal((await get('127.0.0.1', { forwarded: 'for=127.0.0.1' })).statusCode, 401)
})

test('with a token nobody reads them without it, this machine neither', async () => {
  const token = 'x'.repeat(32)
  const { edge } = await metered(token)
  const get = async (authorization?: string) =>
    edge.app.inject({ url: '/metrics', headers: authorization === undefined ? {} : { authorization } })
  for (const given of [undefined, '', 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`]) {
    assert.equal((await get(given)).statusCode, 401, given)
  }
  assert.equal((await get(`Bearer ${token}`)).statusCode, 200)
  const far = await edge.app.inject({
    url: '/metrics',
    remoteAddress: '10.0.0.1',
    headers: { authorization: `Bearer ${token}` },
  })
  assert.equal(far.statusCode, 200)
})

test('labels are what we serve, never what a client makes up', async () => {
  const { edge, metrics } = await metered(null)
  metrics.operation('listUsers', 'ok')
  metrics.operation('listUsers', 'denied')
  metrics.operation('made_up', 'denied')
  await edge.ask('{ listWorkspaces { ok } }', { path: '/api/v1/some-client/graphql' })
  await edge.app.inject({ url: '/nowhere/at/all' })
  const { body, headers } = await edge.app.inject({ url: '/metrics' })
  assert.match(String(headers['content-type']), /^text\/plain/)
  for (const line of [
    'yardmaster_http_requests_total{route="/api/v1/:any/graphql",status="2xx"} 1',
    'yardmaster_http_requests_total{route="none",status="4xx"} 1',
    'yardmaster_http_request_duration_seconds_count{route="none"} 1',
    'yardmaster_graphql_operations_total{operation="listUsers",outcome="ok"} 1',
    'yardmaster_graphql_operations_total{operation="listUsers",outcome="denied"} 1',
    'yardmaster_database_connections{state="busy"} 2',
    'yardmaster_database_connections{state="waiting"} 1',
  ]) {
    assert.ok(body.includes(`\n${line}\n`), line)
  }
  assert.match(body, /\nprocess_resident_memory_bytes \d+/)
  assert.doesNotMatch(body, /made_up|some-client|nowhere/)
})
