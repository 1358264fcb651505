// What only a real connection shows: requests that Node answers by itself, and clients that hang up.
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { newSecret } from '../service/src/domain/ids.ts'
import { formatToken } from '../service/src/domain/key.ts'
import { PUBLIC_URL, type TestApi, testApi } from './support/api.ts'
import { exchange, http } from './support/raw-http.ts'

async function listening(): Promise<{ api: TestApi; port: number } & AsyncDisposable> {
  const api = await testApi()
  await api.node.listen({ host: '127.0.0.1', port: 0 })
  const { port } = api.node.server.address() as AddressInfo
  return { api, port, [Symbol.asyncDispose]: () => api.close() }
}

test('what Node refuses before it is a request is JSON too, with a request id', async () => {
  await using s = await listening()
  const body = '{"query":"{ __typename }"}'
  const json = ['Content-Type', 'application/json'] as const
  const cases: [status: number, bytes: Buffer][] = [
    [417, http({ headers: [json, ['Expect', 'nonsense']], body })],
    [431, http({ headers: [json, ['X-Bomb', 'x'.repeat(20_000)]], body })],
    [400, http({ headers: [json, ['Content-Length', 'x']], body })],
    [400, http({ headers: [json, ['X Bad', 'y']], body })],
    [400, Buffer.from('nonsense\r\n\r\n')],
    [400, http({ version: 'HTTP/9.9', headers: [json], body })],
  ]
  for (const [status, bytes] of cases) {
    const answer = await exchange(s.port, { bytes })
    assert.equal(answer.status, status, answer.body)
    assert.match(answer.headers, /^content-type: application\/json/im)
    assert.match(answer.headers, /^x-request-id: [0-9a-f]{12}-/im)
    assert.equal(typeof JSON.parse(answer.body).errors[0].message, 'string')
  }
  const expected = await exchange(s.port, { bytes: http({ headers: [json, ['Expect', '100-continue']], body }) })
  assert.equal(expected.status, 401)
})

test('a client that hangs up behind its request is dealt with like any other, and by its address', async () => {
  await using s = await listening()
  const { t } = s.api
  const headers = [['Content-Type', 'application/x-www-form-urlencoded'] as const, ['Origin', PUBLIC_URL] as const]
  const hangUp = (bytes: Buffer): void => {
    const socket = connect({ port: s.port, host: '127.0.0.1' })
    socket.on('error', () => {})
    socket.write(bytes, () => socket.destroy())
  }
  const link = () => `/welcome/${formatToken(newSecret())}`
  hangUp(http({ path: link(), headers, body: '' }))
  // Here the address is asked for only when the link was looked up, and its client is gone by then.
  for (let times = 0; times < 20; times++) hangUp(http({ method: 'GET', path: link() }))
  const query = '{"query":"mutation { renameWorkspace(name: \\"x\\") { ok } }"}'
  hangUp(http({ headers: [['Content-Type', 'application/json']], body: query }))
  const seen = async () => new Set((await t.records()).map((one) => `${one.eventType} ${one.data.address}`))
  const wanted = ['sign_in_refused 127.0.0.1', 'mutation_denied 127.0.0.1']
  for (let tries = 0; tries < 500; tries++) {
    const found = await seen()
    if (wanted.every((one) => found.has(one))) break
    await pause(10)
  }
  assert.deepEqual([...(await seen())].filter((one) => /refused|denied/.test(one)).sort(), [...wanted].sort())
  await s.api.node.close()
  assert.deepEqual(
    t.lines.filter((line) => line.level === 'error'),
    [],
  )
})
