import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ADDRESS_FORMS, formUrl, listenEverywhere } from '../../test/support/address-forms.ts'
import { OutgoingFault } from '../ports/outgoing-http.ts'
import { idleLimit, type OutgoingFetchOptions, outgoingFetch } from './outgoing-fetch.ts'

const fetchWith = (options: Partial<OutgoingFetchOptions> = {}) =>
  outgoingFetch({ allow: ['127.0.0.1'], allowHttp: false, idleMs: 5000, ...options })

async function serve(handle: RequestListener) {
  const server = createServer(handle)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const isFault = (words: RegExp) => (error: unknown) => error instanceof OutgoingFault && words.test(error.message)

test('no way to write an address of this machine or a private network reaches a listener', async () => {
  await using listeners = await listenEverywhere()
  const fetch = fetchWith({ allow: [], allowHttp: true })
  for (const form of ADDRESS_FORMS) {
    await assert.rejects(
      fetch(formUrl(form, listeners.port)),
      (error) => error instanceof OutgoingFault && error.refused,
    )
  }
  assert.equal(listeners.accepted, 0)
})

test('an answer comes piece by piece, before it is whole', async () => {
  const second = Promise.withResolvers<void>()
  await using server = await serve((_, response) => {
    response.write('first')
    void second.promise.then(() => response.end('second'))
  })
  const response = await fetchWith()(server.url)
  const reader = response.body!.getReader()
  const text = async () => new TextDecoder().decode((await reader.read()).value)
  assert.equal(await text(), 'first')
  second.resolve()
  assert.equal(await text(), 'second')
  assert.equal((await reader.read()).done, true)
})

test('method, headers and body arrive; nothing is asked for compressed', async () => {
  await using server = await serve(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    response.writeHead(201, { 'x-from': 'there' }).end(JSON.stringify([request.method, request.headers, body]))
  })
  const headers = { authorization: 'Bearer x', 'accept-encoding': 'gzip' }
  const response = await fetchWith()(new URL(server.url), { method: 'POST', headers, body: '{"a":1}' })
  const [method, arrived, body] = (await response.json()) as [string, Record<string, string>, string]
  assert.deepEqual([response.status, response.headers.get('x-from'), method, body], [201, 'there', 'POST', '{"a":1}'])
  assert.equal(arrived.authorization, 'Bearer x')
  assert.equal(arrived['accept-encoding'], undefined)
  assert.equal(arrived['content-length'], '7')
})

test('a redirect is an answer, and nobody goes where it points', async () => {
  let asked = 0
  await using server = await serve((_, response) => {
    asked += 1
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  assert.equal((await fetchWith()(server.url)).status, 302)
  assert.equal(asked, 1)
})

test('one who falls silent is left, before the answer and in its middle', async () => {
  await using server = await serve((request, response) => {
    if (request.url !== '/head') response.write('a')
  })
  const fetch = fetchWith({ idleMs: 50 })
  for (const path of ['head', 'middle']) {
    const whole = async () => await (await fetch(`${server.url}${path}`)).text()
    await assert.rejects(whole(), isFault(/Nothing came for 0\.05 seconds/))
  }
})

test('the idle limit begins anew with every piece', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const idle = idleLimit(100)
  for (let piece = 0; piece < 5; piece++) {
    t.mock.timers.tick(99)
    idle.touch()
  }
  assert.equal(idle.signal.aborted, false)
  t.mock.timers.tick(100)
  assert.equal(idle.signal.aborted, true)
})

test('an answer that never ends is cut at its limit', async () => {
  await using server = await serve((_, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(1000)));
      response.once('drain', more)
    }
    more()
  })
  const response = await fetchWith({ largestAnswer: 100_000 })(server.url)
  await assert.rejects(response.text(), isFault(/too large/))
})

test('who gives up gets his reason, before the answer and in its middle, and the connection is closed', async () => {
  const closed: Promise<unknown>[] = []
  const arrived = Promise.withResolvers<void>()
  await using server = await serve((request, response) => {
    closed.push(once(request.socket, 'close'))
    if (request.url === '/head') arrived.resolve()
    else response.write('a')
  })
  const why = new Error('given up')
  const isWhy = (error: unknown) => error === why
  const first = new AbortController()
  const head = fetchWith()(`${server.url}head`, { signal: first.signal })
  await arrived.promise
  first.abort(why)
  await assert.rejects(head, isWhy)
  const second = new AbortController()
  const body = await fetchWith()(server.url, { signal: second.signal })
  second.abort(why)
  await assert.rejects(body.text(), isWhy)
  // And who only stops reading.
  const third = await fetchWith()(server.url)
  await third.body!.cancel()
  await Promise.all(closed)
  assert.equal(closed.length, 3)
})
