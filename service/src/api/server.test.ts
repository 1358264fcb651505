import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { selfSigned } from '../../test/support/certificate.ts'
import { replyOf, type TestEdge, testEdge } from '../../test/support/edge.ts'
import { invalidInput } from '../domain/errors.ts'
import { stopServer } from './server.ts'

const QUERY = JSON.stringify({ query: '{ listWorkspaces { ok } }' })

/** Sends bytes to a listening server and gives what comes back until the connection ends. */
async function raw(edge: TestEdge, t: TestContext, ...parts: string[]): Promise<string> {
  const socket = await open(edge, t)
  for (const part of parts) socket.write(part)
  return text(socket)
}

async function open(edge: TestEdge, t: TestContext): Promise<Socket> {
  if (!edge.app.server.listening) {
    await edge.app.listen({ host: '127.0.0.1', port: 0 })
    t.after(() => stopServer(edge.app, 1_000))
  }
  const socket = connect((edge.app.server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return socket
}

function parse(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, json: JSON.parse(body) }
}

const post = (headers: string, body = ''): string => `POST /graphql HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`

test('only POST with application/json executes anything', async () => {
  const edge = await testEdge()
  const rows: [method: string, type: string | null, status: number][] = [
    ['POST', 'application/json', 200],
    ['POST', 'application/json; charset=utf-8', 200],
    ['POST', 'Application/JSON;charset="UTF-8"', 200],
    ['POST', 'text/plain', 415],
    ['POST', 'text/plain; application/json', 415],
    ['POST', 'application/json, text/plain', 415],
    ['POST', 'application/json; charset=utf-16', 415],
    ['POST', 'application/jsonp', 415],
    ['POST', 'application/json+x', 415],
    ['POST', 'application/graphql', 415],
    ['POST', 'application/x-www-form-urlencoded', 415],
    ['POST', 'multipart/form-data; boundary=x', 415],
    ['POST', '', 415],
    ['POST', null, 415],
    ['GET', null, 405],
    ['HEAD', null, 405],
    ['PUT', 'application/json', 405],
    ['PATCH', 'application/json', 405],
    ['DELETE', 'application/json', 405],
    ['OPTIONS', null, 405],
    ['QUERY', 'application/json', 405],
    ['PROPFIND', 'application/json', 405],
    ['TRACE', null, 405],
  ]
  for (const [method, type, status] of rows) {
    edge.calls.length = 0
    const response = await edge.app.inject({
      method: method as 'GET',
      url: `/graphql?query=${encodeURIComponent('{ listWorkspaces { ok } }')}`,
      headers: { authorization: 'Bearer full', ...(type !== null && { 'content-type': type }) },
      ...(method !== 'GET' && method !== 'HEAD' && { payload: QUERY }),
    })
    const what = `${method} ${type}`
    assert.equal(response.statusCode, status, what)
    assert.equal(edge.calls.length, status === 200 ? 1 : 0, what)
    assert.equal(response.headers['access-control-allow-origin'], undefined)
    if (status === 405) assert.equal(response.headers.allow, 'POST', what)
    if (method === 'HEAD') continue
    const reply = replyOf(response)
    if (status === 415) assert.equal(reply.json.errors[0].extensions.code, 'UNSUPPORTED_MEDIA_TYPE', what)
    if (status === 405) assert.equal(reply.json.errors[0].extensions.code, 'METHOD_NOT_ALLOWED', what)
  }
})

test('a foreign page cannot act with the cookie, and one of ours can', async () => {
  const edge = await testEdge()
  const cookie = 'yardmaster_session=ana'
  const query = '{ me { ok } }'
  const own = { cookie, 'x-yardmaster-console': '1', origin: 'http://localhost:4400' }
  assert.equal((await edge.ask(query, { key: null, headers: own })).status, 200)
  assert.equal((await edge.ask(query, { key: null, headers: { cookie } })).status, 401)
  assert.equal((await edge.ask(query, { key: null, headers: { ...own, origin: 'https://evil.example' } })).status, 401)
  // A key wins, also when it is a bad one.
  assert.equal((await edge.ask(query, { key: 'wrong', headers: own })).status, 401)
  assert.deepEqual(
    edge.seen.map(({ kind }) => kind),
    ['session', 'none', 'none', 'bearer'],
  )
})

test('every answer has its request id, which is ours, and headers that close it', async () => {
  const edge = await testEdge()
  edge.app.get('/boom', { config: { access: 'public' } }, () => {
    throw new Error('a secret of ours')
  })
  edge.app.get('/refused', { config: { access: 'public' } }, () => {
    throw invalidInput('not like this')
  })
  const rows: [method: 'GET' | 'POST', url: string, status: number, code: string | null][] = [
    ['GET', '/nowhere', 404, 'NOT_FOUND'],
    ['POST', '/nowhere', 404, 'NOT_FOUND'],
    ['GET', '/graphql/', 404, 'NOT_FOUND'],
    ['GET', '/graphql', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/v1/x/graphql', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/api/v1/x/y/graphql', 404, 'NOT_FOUND'],
    ['GET', '/%', 400, 'BAD_REQUEST'],
    ['GET', '/boom', 500, 'INTERNAL'],
    ['GET', '/refused', 400, 'INVALID_INPUT'],
    ['POST', '/graphql', 200, null],
  ]
  const ids = new Set<string>()
  for (const [method, url, status, code] of rows) {
    const response = await edge.app.inject({
      method,
      url,
      headers: {
        'content-type': 'application/json',
        authorization: 'Bearer full',
        'x-request-id': 'mine',
        'request-id': 'mine',
      },
      ...(method === 'POST' && { payload: QUERY }),
    })
    assert.equal(response.statusCode, status, url)
    const { headers, json, text: body } = replyOf(response)
    const id = String(headers['x-request-id'])
    assert.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/)
    ids.add(id)
    assert.equal(headers['x-content-type-options'], 'nosniff', url)
    assert.equal(headers['cache-control'], 'no-store', url)
    assert.equal(headers['referrer-policy'], 'same-origin', url)
    assert.equal(headers['content-security-policy'], "default-src 'none'; frame-ancestors 'none'", url)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8', url)
    assert.doesNotMatch(body, /secret of ours/)
    if (code === null) continue
    assert.equal(json.errors[0].extensions.code, code, url)
    assert.equal(json.errors[0].extensions.requestId, id, url)
  }
  assert.equal(ids.size, rows.length)
})

test('one line for each request: no query, no token, no body', async () => {
  const edge = await testEdge()
  edge.app.get('/invitation/:token', { config: { access: 'one-time-link' } }, (_request, reply) => {
    void reply.send({})
  })
  const secret = 'ymk_0123456789abcdefghij'
  await edge.app.inject({ url: `/invitation/${secret}?token=${secret}` })
  await edge.app.inject({ url: `/nowhere/${secret}/x?token=${secret}` })
  await edge.ask(`{ ${secret} }`, { key: secret, headers: { 'idempotency-key': secret } })
  const lines = edge.lines.filter(({ fields }) => 'status' in fields)
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields.method, fields.path, fields.status]),
    [
      ['debug', 'GET', '/invitation/:token', 200],
      ['info', 'GET', '/nowhere/[masked]/x', 404],
      ['info', 'POST', '/graphql', 401],
    ],
  )
  assert.ok(lines.every(({ fields }) => typeof fields.requestId === 'string' && typeof fields.ms === 'number'))
  assert.doesNotMatch(JSON.stringify(edge.lines), new RegExp(secret))
})

test('a route that does not say who may use it stops the start', async () => {
  const edge = await testEdge()
  assert.throws(() => edge.app.get('/open', () => 'x'), /GET \/open does not say who may use it/)
  await edge.app.ready()
  assert.deepEqual(edge.app.routeTable, [
    { method: 'POST', url: '/graphql', access: 'graphql' },
    { method: 'POST', url: '/api/v1/:any/graphql', access: 'graphql' },
  ])
})

test('413: a body over 1 MiB, announced or not', async (t) => {
  const edge = await testEdge()
  const big = 'x'.repeat(1024 * 1024 + 1)
  const type = 'Content-Type: application/json\r\nConnection: close'
  const announced = parse(await raw(edge, t, post(`${type}\r\nContent-Length: ${big.length}`), big))
  const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`
  const chunked = parse(await raw(edge, t, post(`${type}\r\nTransfer-Encoding: chunked`), ...Array(17).fill(chunk)))
  for (const answer of [announced, chunked]) {
    assert.equal(answer.status, 413)
    assert.equal(answer.json.errors[0].extensions.code, 'PAYLOAD_TOO_LARGE')
  }
  const most = JSON.stringify({ query: '{ listWorkspaces { ok } }', variables: { pad: '' } })
  const reply = await edge.ask('{ listWorkspaces { ok } }', {
    variables: { pad: 'x'.repeat(1024 * 1024 - most.length) },
  })
  assert.equal(reply.status, 200)
})

test('what is not HTTP, or too much of it, is refused in JSON', async (t) => {
  const edge = await testEdge()
  const rows: [name: string, bytes: string, status: number, code: string][] = [
    ['nonsense', 'nonsense\r\n\r\n', 400, 'BAD_REQUEST'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'BAD_REQUEST'],
    ['a header of 20 kB', post(`X-Big: ${'x'.repeat(20_000)}`), 431, 'HEADERS_TOO_LARGE'],
    ['two lengths', post('Content-Length: 1\r\nContent-Length: 2', 'xx'), 400, 'BAD_REQUEST'],
    ['length and chunks', post('Content-Length: 1\r\nTransfer-Encoding: chunked', '0\r\n\r\n'), 400, 'BAD_REQUEST'],
    ['a bad header', post('Bad Header: x'), 400, 'BAD_REQUEST'],
    ['a NUL in a header', post('X: a\0b'), 400, 'BAD_REQUEST'],
    ['no host', 'POST /graphql HTTP/1.1\r\nContent-Length: 0\r\n\r\n', 400, 'BAD_REQUEST'],
  ]
  for (const [name, bytes, status, code] of rows) {
    const answer = await raw(edge, t, bytes)
    if (name === 'no host' && answer.endsWith('\r\n\r\n')) continue
    const { json, head, ...got } = parse(answer)
    assert.equal(got.status, status, `${name}: ${answer}`)
    assert.equal(json.errors[0].extensions.code, code, name)
    assert.match(head, /x-request-id: /i, name)
    assert.match(head, /connection: close/i, name)
  }
})

test('a slow client is cut off: before its headers, inside its body', async (t) => {
  const timeouts = { headersMs: 150, requestMs: 300, checkMs: 50 }
  const edge = await testEdge({ server: { timeouts } })
  const slowHead = parse(await raw(edge, t, 'POST /graphql HTTP/1.1\r\nHost: x\r\nX-Slow: '))
  assert.equal(slowHead.status, 408)
  assert.equal(slowHead.json.errors[0].extensions.code, 'REQUEST_TIMEOUT')
  const type = 'Content-Type: application/json\r\nContent-Length: 1000'
  const slowBody = parse(await raw(edge, t, post(type, '{"query":')))
  assert.equal(slowBody.status, 408)
  // The server goes on for others.
  assert.equal((await edge.ask('{ listWorkspaces { ok } }')).status, 200)
})

test('a body that ends too soon harms nobody', async (t) => {
  const edge = await testEdge()
  const socket = await open(edge, t)
  socket.end(post('Content-Type: application/json\r\nContent-Length: 1000', '{"query":'))
  await text(socket)
  assert.equal((await edge.ask('{ listWorkspaces { ok } }')).status, 200)
  assert.deepEqual(
    edge.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

test('connections past the cap are closed, and those inside it served', async (t) => {
  const edge = await testEdge({ server: { maxConnections: 3 } })
  const sockets = [await open(edge, t), await open(edge, t), await open(edge, t)]
  const fourth = await open(edge, t)
  assert.equal(await text(fourth), '')
  const body = `${post(`Content-Type: application/json\r\nAuthorization: Bearer full\r\nConnection: close\r\nContent-Length: ${QUERY.length}`, QUERY)}`
  sockets[0]!.write(body)
  assert.equal(parse(await text(sockets[0]!)).status, 200)
})

test('one connection serves many requests, and is given up after its answer while draining', async (t) => {
  let draining = false
  const edge = await testEdge({ server: { draining: () => draining } })
  const socket = await open(edge, t)
  const one = post(
    `Content-Type: application/json\r\nAuthorization: Bearer full\r\nContent-Length: ${QUERY.length}`,
    QUERY,
  )
  const answer = (): Promise<string> => new Promise((resolve) => socket.once('data', (data) => resolve(String(data))))
  for (let at = 0; at < 3; at++) {
    socket.write(one)
    assert.match(await answer(), /^HTTP\/1\.1 200 [\s\S]*connection: keep-alive/i)
  }
  draining = true
  socket.write(one)
  const last = await text(socket)
  assert.match(last, /^HTTP\/1\.1 200 [\s\S]*connection: close/i)
})

test('a stop answers what is going on, drops what is not, and waits for nobody past its deadline', async (t) => {
  let answer = (): void => {}
  let reached = (): void => {}
  const called = new Promise<void>((resolve) => {
    reached = resolve
  })
  const edge = await testEdge({
    resolvers: {
      listWorkspaces: () =>
        new Promise((resolve) => {
          answer = () => resolve({ ok: true })
          reached()
        }),
    },
  })
  const headers = `Content-Type: application/json\r\nAuthorization: Bearer full\r\nContent-Length: ${QUERY.length}`
  const unused = await open(edge, t)
  const half = await open(edge, t)
  half.write('POST /graphql HTTP/1.1\r\nHost: x\r\n')
  const slow = await open(edge, t)
  slow.write(post(headers, '{"query":'))
  const busy = await open(edge, t)
  busy.write(post(headers, QUERY))
  await called
  const stopped = stopServer(edge.app, 200)
  assert.deepEqual([await text(unused), await text(half)], ['', ''])
  answer()
  assert.match(await text(busy), /^HTTP\/1\.1 200 [\s\S]*connection: close/i)
  await stopped
  assert.equal(await text(slow), '')
})

test('an address comes from the connection, and from a proxy only when it is named', async () => {
  const from = { 'x-forwarded-for': '203.0.113.9' }
  const alone = await testEdge()
  await alone.ask('{ listWorkspaces { ok } }', { headers: from, address: '10.0.0.1' })
  assert.equal(alone.calls[0]?.request.address, '10.0.0.1')
  const behind = await testEdge({ server: { trustProxy: ['10.0.0.0/8'] } })
  await behind.ask('{ listWorkspaces { ok } }', { headers: from, address: '10.0.0.1' })
  await behind.ask('{ listWorkspaces { ok } }', { headers: from, address: '192.0.2.1' })
  assert.deepEqual(
    behind.calls.map(({ request }) => request.address),
    ['203.0.113.9', '192.0.2.1'],
  )
})

test('with a certificate it speaks TLS, and nothing older than 1.2', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'yardmaster-tls-'))
  t.after(() => rm(folder, { recursive: true }))
  const { cert, key } = selfSigned()
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
  await writeFile(tls.certFile, cert)
  await writeFile(tls.keyFile, key)
  const edge = await testEdge({ server: { tls } })
  await edge.app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => stopServer(edge.app, 1_000))
  const { port } = edge.app.server.address() as AddressInfo
  const ask = (more: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer full' }
      const options = {
        host: 'localhost',
        port,
        path: '/graphql',
        method: 'POST',
        ca: cert,
        headers,
        agent: false,
        ...more,
      }
      httpsRequest(options, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      })
        .on('error', reject)
        .end(QUERY)
    })
  assert.equal(await ask({}), 200)
  await assert.rejects(ask({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }))
})
