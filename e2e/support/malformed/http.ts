// Requests that are wrong before anybody reads their body.
import { http } from '../raw-http.ts'
import { type Family, GOOD_DOCUMENTS, goodHeaders, type HeaderList, randomBytesOf } from './facts.ts'

const BODY = JSON.stringify({ query: '{ listUsers { ok } }' })

export const contentTypes: Family = (random, facts) => {
  const type = random.pick<string | Buffer>([
    ...[
      'text/plain',
      'application/graphql',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'x',
      '',
    ],
    ...[
      'application/json; charset=latin1',
      'application/json; charset=utf-16',
      'application/json;;;',
      'application/json, text/plain',
    ],
    ...[
      'APPLICATION/JSON',
      'application/json; charset="utf-8"',
      'application/vnd.api+json',
      'application/json\tx',
      '*/*',
      'a'.repeat(5_000),
    ],
    Buffer.from([0xff, 0x2f, 0xfe]),
  ])
  const headers = goodHeaders(facts).filter(([name]) => name !== 'Content-Type')
  if (random.chance(0.9)) headers.push(['Content-Type', type])
  if (random.chance(0.1)) headers.push(['Content-Type', 'application/json'])
  if (random.chance(0.2)) headers.push(['Content-Encoding', random.pick(['gzip', 'br', 'identity', 'x'])])
  return { bytes: http({ headers, body: BODY }), mayBeSilent: true }
}

export const truncated: Family = (random, facts) => {
  const whole = http({ headers: goodHeaders(facts), body: BODY })
  return { bytes: whole.subarray(0, random.between(0, whole.length - 1)), end: true, mayBeSilent: true }
}

export const lengths: Family = (random, facts) => {
  const values = random.pick([
    ...[
      ['-1'],
      ['x'],
      ['1e3'],
      ['0x10'],
      [''],
      ['+20'],
      ['20, 20'],
      ['20', '21'],
      ['99999999999999999999'],
      ['4294967296'],
    ],
    ...[['0'], ['1'], [String(BODY.length - 1)], [String(BODY.length + 1)], ['1048577'], ['2147483648'], [' 5 5']],
  ])
  const headers: HeaderList = [...goodHeaders(facts), ...values.map((value) => ['Content-Length', value] as const)]
  if (random.chance(0.15)) headers.push(['Transfer-Encoding', 'chunked'])
  return { bytes: http({ headers, body: BODY }), end: true, mayBeSilent: true }
}

export const chunks: Family = (random, facts) => {
  const size = BODY.length.toString(16)
  const body = random.pick<string | Buffer>([
    `${size}\r\n${BODY}\r\n0\r\n\r\n`,
    `${size};ext="${'x'.repeat(20_000)}"\r\n${BODY}\r\n0\r\n\r\n`,
    `zz\r\n${BODY}\r\n0\r\n\r\n`,
    `ffffffffffffffff\r\n${BODY}`,
    `-1\r\n${BODY}\r\n0\r\n\r\n`,
    `1\r\n${BODY}`,
    `${size}\n${BODY}\n0\n\n`,
    `${size}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\nAuthorization: x\r\n\r\n`,
    `${size}\r\n${BODY}\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n`,
    Array.from(BODY, (one) => `1\r\n${one}\r\n`).join('') + '0\r\n\r\n',
    randomBytesOf(random, 60),
  ])
  const encoding = random.pick([
    'chunked',
    'chunked',
    'gzip, chunked',
    'chunked, identity',
    'identity',
    'xchunked',
    'Chunked ',
  ])
  return {
    bytes: http({ headers: [...goodHeaders(facts), ['Transfer-Encoding', encoding]], body }),
    end: true,
    mayBeSilent: true,
  }
}

export const headerBombs: Family = (random, facts) => {
  const good = goodHeaders(facts)
  const headers = random.pick<() => HeaderList>([
    () => [...good, ['X-Bomb', 'x'.repeat(random.pick([8_000, 15_000, 17_000, 70_000]))]],
    () => [...good, ...Array.from({ length: random.pick([90, 150, 2_000]) }, (_, at) => [`X-${at}`, 'y'] as const)],
    () => [...good, ['Cookie', Array.from({ length: 600 }, (_, at) => `yardmaster_session=${at}`).join('; ')]],
    () => [...good, ['X Bad', 'y']],
    () => [...good, ['', 'y']],
    () => [...good, ['X-Fold', 'a\r\n b']],
    () => [...good, ['X-Control', Buffer.from([0x61, 0x00, 0x62])]],
    () => [...good, ['X-High', Buffer.from([0xff, 0xfe])]],
    () => [...good, ['X-Split', 'a\r\nSet-Cookie: b=c']],
    () => [...good, ['Host', 'elsewhere.example']],
    () => [...good, ['Host', '127.0.0.1'], ['Host', 'second']],
    () => [...good, ['Expect', random.pick(['100-continue', 'nonsense'])]],
    () => [...good, ['Connection', random.pick(['upgrade', 'keep-alive, close', 'x'])] as const, ['Upgrade', 'h2c']],
    () => [...good, ['X-Forwarded-For', random.pick(['1.2.3.4', 'x'.repeat(900), '::1, ::1', ''])]],
  ])()
  return { bytes: http({ headers, body: BODY }), mayBeSilent: true, end: true }
}

export const credentials: Family = (random, facts) => {
  const { key, workspaceUid } = facts
  const value = random.pick<string | Buffer>([
    ...[
      'Bearer',
      'Bearer ',
      `Bearer ${key}x`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key} ${key}`,
      `Basic ${key}`,
      key,
    ],
    ...[
      `bearer\t${key}`,
      `Bearer ${'x'.repeat(8_000)}`,
      'Bearer null',
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key}, Bearer ${key}`,
    ],
    Buffer.concat([Buffer.from('Bearer '), Buffer.from([0xff, 0x80])]),
  ])
  const uid = random.pick<string | Buffer>([
    ...[
      workspaceUid,
      '',
      ' ',
      `${workspaceUid},${workspaceUid}`,
      `${workspaceUid},other`,
      ',,,',
      '*',
      "'",
      'x'.repeat(9_000),
    ],
    ...['%00', 'null', '../..', workspaceUid.toUpperCase()],
    Buffer.from([0xc3, 0x28]),
  ])
  const headers: HeaderList = [
    ['Content-Type', 'application/json'],
    ['Authorization', value],
    ['X-Service-Workspace', uid],
  ]
  if (random.chance(0.2)) headers.push(['X-Paradime-Workspace', workspaceUid])
  if (random.chance(0.3)) headers.push(['X-API-KEY', random.pick(['', 'x', key, 'x'.repeat(5_000)])])
  if (random.chance(0.3)) headers.push(['X-API-SECRET', random.pick(['', 'x', key])])
  if (random.chance(0.3))
    headers.push([
      'Cookie',
      random.pick(['yardmaster_session=', 'yardmaster_session=ymt_x; yardmaster_session=y', '=;;=', 'x']),
    ])
  return {
    bytes: http({ headers, body: JSON.stringify({ query: random.pick(GOOD_DOCUMENTS) }) }),
    end: true,
    mayBeSilent: true,
  }
}

export const methods: Family = (random, facts) => {
  const method = random.pick([
    ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'LINK', 'PURGE', 'BREW'],
    ...['get', 'post', 'PoSt', '', 'X'.repeat(300), 'POST\u0000', 'PRI', 'QUERY', 'M-SEARCH', 'SOURCE'],
  ])
  const version = random.pick([
    'HTTP/1.1',
    'HTTP/1.1',
    'HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
    'HTTP/0.9',
    'HTTP/9.9',
    'http/1.1',
    'X',
    '',
  ])
  const path = random.pick([
    '/graphql',
    '/graphql',
    '*',
    '/healthz',
    '/signin',
    'http://elsewhere.example/graphql',
    'elsewhere:443',
  ])
  return {
    bytes: http({ method, version, path, headers: goodHeaders(facts), body: BODY }),
    end: true,
    mayBeSilent: true,
  }
}

export const paths: Family = (random, facts) => {
  const path = random.pick([
    ...[
      '/graphql%00',
      '/graphql?query={__typename}',
      '/graphql?__proto__=1',
      '/graphql#x',
      '//graphql',
      '/graphql/',
      '/GRAPHQL',
    ],
    ...[
      '/%',
      '/%zz',
      '/%c0%ae%c0%ae/',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/../../etc/passwd',
      '/api/v1//graphql',
      '/api/v1/%2f/graphql',
    ],
    ...[
      `/api/v1/${'x'.repeat(5_000)}/graphql`,
      `/${'a/'.repeat(4_000)}`,
      `/${'x'.repeat(20_000)}`,
      '/api/v1/\u00ff/graphql',
      '\\graphql',
    ],
    ...[
      '/graphiql/assets/../../package.json',
      '/graphiql/assets/%2e%2e%2fpage.js',
      '/welcome/',
      '/constructor',
      '/__proto__',
    ],
    ...['/metrics?x', '/readyz;x', '/ graphql', '/graphql HTTP/1.1', '?', ''],
  ])
  const method = random.pick(['GET', 'POST'])
  return {
    bytes: http({ method, path, headers: goodHeaders(facts), body: method === 'POST' ? BODY : '' }),
    end: true,
    mayBeSilent: true,
  }
}

export const noise: Family = (random) => {
  const bytes = random.pick([
    () => randomBytesOf(random, random.between(1, 600)),
    () => Buffer.from('\r\n'.repeat(random.between(1, 500))),
    () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    () => Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
    () => Buffer.from('SSH-2.0-x\r\n'),
    () => Buffer.from('{"query":"{ __typename }"}\r\n\r\n'),
    () => Buffer.from(`POST /graphql HTTP/1.1\r\n${'\u0000'.repeat(50)}`),
  ])()
  return { bytes, end: true, mayBeSilent: true }
}
