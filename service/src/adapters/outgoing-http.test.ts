import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { createServer as createPlainServer } from 'node:net'
import { test } from 'node:test'
import { ADDRESS_FORMS, formUrl, listenEverywhere } from '../../test/support/address-forms.ts'
import { selfSigned } from '../../test/support/certificate.ts'
import type { OutgoingRequest } from '../ports/outgoing-http.ts'
import { OutgoingFault } from '../ports/outgoing-http.ts'
import { type OutgoingHttpOptions, outgoingHttp } from './outgoing-http.ts'

const EVERYTHING = ['0.0.0.0/0', '::/0']
const never = new AbortController().signal

const caller = (options: Partial<OutgoingHttpOptions> = {}) => {
  const http = outgoingHttp({ allow: [], allowHttp: false, timeoutMs: 2000, ...options })
  return (url: string, more: Partial<OutgoingRequest> = {}, signal: AbortSignal = never) =>
    http.call({ method: 'POST', url, headers: {}, body: '{}', ...more }, signal)
}

async function faultOf(call: Promise<unknown>): Promise<OutgoingFault> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof OutgoingFault, `no fault but ${String(error)}`)
  return error
}

async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

async function serve(handle: RequestListener) {
  const server = createServer(handle)
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}/`,
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('of all the ways to write an address of this machine or a private network, none reaches a listener', async () => {
  assert.ok(ADDRESS_FORMS.length >= 60)
  await using listeners = await listenEverywhere()
  const call = caller({ allowHttp: true })
  for (const form of ADDRESS_FORMS) {
    const fault = await faultOf(call(formUrl(form, listeners.port)))
    assert.equal(fault.refused, true, `${form.url}: ${fault.message}`)
  }
  assert.equal(listeners.accepted, 0)
})

test('with everything allowed the same forms of loopback do reach it, so the test above can fail', async () => {
  await using listeners = await listenEverywhere()
  const call = caller({ allow: EVERYTHING, allowHttp: true })
  const loopback = ADDRESS_FORMS.filter((form) => form.place === 'loopback')
  for (const form of loopback) {
    const before = listeners.accepted
    assert.equal((await call(formUrl(form, listeners.port))).body, 'reached', form.url)
    assert.equal(listeners.accepted, before + 1)
  }
  for (const form of ADDRESS_FORMS.filter((one) => one.place === 'nowhere')) {
    assert.equal((await faultOf(call(formUrl(form, listeners.port)))).refused, true, form.url)
  }
  assert.equal(listeners.accepted, loopback.length)
})

test('a name is resolved once, and one that leads inside is refused, also beside one that leads outside', async () => {
  await using listeners = await listenEverywhere()
  const asked: string[] = []
  // The first answer is good, the next one is not: whoever asks twice is led astray.
  const resolve = async (host: string): Promise<string[]> => {
    asked.push(host)
    if (host === 'inside.example') return ['127.0.0.1', '::1', '::ffff:10.0.0.1']
    return asked.filter((one) => one === host).length === 1 ? ['192.0.1.1', '127.0.0.1'] : ['127.0.0.1']
  }
  const call = caller({ allowHttp: true, resolve, timeoutMs: 150 })
  assert.equal((await faultOf(call(`http://inside.example:${listeners.port}/`))).refused, true)
  // What is out there does not matter, and there may be nothing: only that nobody asks again.
  await call(`http://turning.example:${listeners.port}/`).catch(() => {})
  assert.deepEqual(asked, ['inside.example', 'turning.example'])
  assert.equal(listeners.accepted, 0)
})

test('a refusal tells nothing of the network behind a name', async () => {
  const call = caller({ resolve: async () => ['10.77.66.55'] })
  const { message } = await faultOf(call('https://db.internal.example/'))
  assert.ok(message.includes('db.internal.example') && !message.includes('10.77'), message)
})

test('a redirect is an answer, and nobody goes where it points', async () => {
  await using inside = await listenEverywhere()
  for (const status of [301, 302, 303, 307, 308]) {
    await using outside = await serve((_request, response) => {
      response.writeHead(status, { location: `http://[::1]:${inside.port}/` }).end('moved')
    })
    const answer = await caller({ allow: ['127.0.0.1'] })(outside.url)
    assert.deepEqual([answer.status, answer.body], [status, 'moved'])
  }
  assert.equal(inside.accepted, 0)
})

test('http:// is for what the operator named; any other target needs https://', async () => {
  await using server = await serve((_request, response) => response.end('ok'))
  const resolve = async () => ['192.0.1.1']
  const refused = await faultOf(caller({ resolve })('http://hooks.example/'))
  assert.deepEqual([refused.refused, refused.message], [true, 'The address must begin with https://.'])
  assert.equal((await caller({ allow: ['127.0.0.0/8'] })(server.url)).status, 200)
  const named = caller({ allow: ['hooks.internal'], resolve: async () => ['127.0.0.1'] })
  assert.equal((await named(`http://hooks.internal:${server.port}/`)).status, 200)
  assert.equal((await faultOf(named(`http://other.internal:${server.port}/`))).refused, true)
})

test('method, headers, body and query arrive as given, under the name that was asked for', async () => {
  const seen: unknown[] = []
  await using server = await serve((request, response) => {
    const { method, url, headers } = request
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      seen.push([method, url, headers.host, headers['x-one'], headers['content-length'], body])
      response.writeHead(201, { 'retry-after': '7' }).end('took it')
    })
  })
  const call = caller({ allow: ['hooks.example'], resolve: async () => ['127.0.0.1'] })
  const url = `http://hooks.example:${server.port}/a?b=c#d`
  const answer = await call(url, { headers: { 'x-one': '1' }, body: 'größe' })
  assert.deepEqual(seen, [['POST', '/a?b=c', `hooks.example:${server.port}`, '1', '7', 'größe']])
  assert.deepEqual([answer.status, answer.headers['retry-after'], answer.body], [201, '7', 'took it'])
})

test('who does not answer, stops in the middle or never ends is left within the limit', async () => {
  const call = caller({ allow: ['127.0.0.1'], timeoutMs: 200 })
  await using silent = await serve(() => {})
  await using half = await serve((_request, response) => {
    response.writeHead(200)
    response.write('half')
  })
  for (const { url } of [silent, half]) {
    const fault = await faultOf(call(url))
    assert.deepEqual([fault.refused, fault.message], [false, 'No answer within 0.2 seconds.'])
  }
  await using endless = await serve((_request, response) => {
    response.writeHead(200)
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000))) {}
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  const answer = await caller({ allow: ['127.0.0.1'] })(endless.url)
  assert.deepEqual([answer.status, answer.body.length], [200, 64 * 1024])
})

test('a call can be given up', async () => {
  await using silent = await serve(() => {})
  const giveUp = new AbortController()
  const call = faultOf(caller({ allow: ['127.0.0.1'] })(silent.url, {}, giveUp.signal))
  giveUp.abort()
  assert.equal((await call).message, 'The call was given up.')
})

test('what is no HTTP, nobody there and a connection that is cut off are faults that may pass', async () => {
  const call = caller({ allow: ['127.0.0.1'] })
  const noise = createPlainServer((socket) => socket.end('no http at all\r\n\r\n'))
  const cut = createPlainServer((socket) => socket.destroy())
  try {
    const ports = [await listen(noise), await listen(cut)]
    const faults = await Promise.all([...ports, 1].map((port) => faultOf(call(`http://127.0.0.1:${port}/`))))
    assert.deepEqual(
      faults.map((fault) => fault.message),
      ['The answer is no HTTP.', 'The connection was cut off.', 'Nothing listens at that address.'],
    )
    assert.ok(faults.every((fault) => !fault.refused))
  } finally {
    noise.close()
    cut.close()
  }
})

test('a certificate is checked against the name, whatever the environment says', async () => {
  const { cert, key } = selfSigned()
  const server = createTlsServer({ cert, key }, (_request, response) => response.end('ok'))
  const port = await listen(server)
  const resolve = async () => ['127.0.0.1']
  try {
    const trusting = caller({ allow: ['127.0.0.1'], ca: cert, resolve })
    assert.equal((await trusting(`https://localhost:${port}/`)).body, 'ok')
    assert.equal((await trusting(`https://127.0.0.1:${port}/`)).body, 'ok')
    assert.match((await faultOf(trusting(`https://other.example:${port}/`))).message, /certificate/)
    assert.match((await faultOf(caller({ allow: ['127.0.0.1'] })(`https://127.0.0.1:${port}/`))).message, /certificate/)
  } finally {
    server.close()
  }
})
