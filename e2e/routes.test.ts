import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newSecret } from '../service/src/domain/ids.ts'
import { formatToken } from '../service/src/domain/key.ts'
import { ROUTE_COLUMNS, ROUTES, type RouteColumn } from './matrix/routes.ts'
import {
  bearer,
  cookieOf,
  PUBLIC_URL,
  type RequestHeaders,
  replyOf,
  sessionOf,
  type TestApi,
  testApi,
} from './support/api.ts'

interface Sender {
  readonly headers: RequestHeaders
  readonly address: string
}

let api: TestApi
let senders: Readonly<Record<RouteColumn, () => Promise<Sender>>>
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
type Method = (typeof METHODS)[number]

before(async () => {
  api = await testApi()
  const { t } = api
  const workspace = await t.workspace('A')
  const ana = await t.member(workspace, 'ADMIN', { password: 'correct horse battery' })
  const key = await t.key()
  const ended = await api.session(ana)
  const owner = t.database.owner.kysely
  const hash = t.app.vault.hashSecret(ended)
  await owner.updateTable('session').set({ ended_at: '2020-01-01Z' }).where('token_hash', '=', hash).execute()
  const from =
    (headers: RequestHeaders, address = '127.0.0.1') =>
    async (): Promise<Sender> => ({ headers, address })
  // A session for each request: some of them end it.
  const signedIn = (make: (token: string) => RequestHeaders) => async (): Promise<Sender> => ({
    headers: make(await api.session(ana)),
    address: '127.0.0.1',
  })
  senders = {
    nobody: from({}),
    'nobody, elsewhere': from({}, '192.0.2.1'),
    'nobody, own form': from({ origin: PUBLIC_URL }),
    'account key': from(bearer(key.key)),
    session: signedIn(sessionOf),
    'cookie alone': signedIn(cookieOf),
    'cookie, foreign page': signedIn((token) => ({ ...sessionOf(token), origin: 'https://elsewhere.example' })),
    'ended session': from(sessionOf(ended)),
  }
})
after(() => api.close())

interface Row {
  readonly method: Method
  readonly url: string
  readonly statuses: readonly number[]
}

const rows: readonly Row[] = ROUTES.split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method, url, ...statuses] = line.split(/ +/)
    return { method: method as Method, url: url!, statuses: statuses.map(Number) }
  })

async function send(row: Row, column: RouteColumn) {
  const { headers, address } = await senders[column]()
  const graphql = row.url.endsWith('graphql')
  const type = graphql ? 'application/json' : 'application/x-www-form-urlencoded'
  return await api.node.inject({
    method: row.method,
    url: row.url.replace(':token', formatToken(newSecret())).replace(':any', 'x'),
    remoteAddress: address,
    headers: { ...(row.method === 'POST' && { 'content-type': type }), ...headers },
    ...(row.method === 'POST' && { payload: graphql ? '{"query":"{ listWorkspaces { ok } }"}' : '' }),
  })
}

test('every route that is served has its row in the table, and every row is served', () => {
  // What answers GET answers HEAD, by the same handler.
  const served = api.node.routeTable.filter((one) => one.method !== 'HEAD').map((one) => `${one.method} ${one.url}`)
  assert.deepEqual(rows.map((row) => `${row.method} ${row.url}`).sort(), [...served].sort())
  for (const row of rows) assert.equal(row.statuses.length, ROUTE_COLUMNS.length, row.url)
  const heads = api.node.routeTable.filter((one) => one.method === 'HEAD').map((one) => one.url)
  assert.deepEqual(
    heads.sort(),
    rows
      .filter((row) => row.method === 'GET')
      .map((row) => row.url)
      .sort(),
  )
})

test('every route gives everybody what the table says', async () => {
  const wrong: string[] = []
  for (const row of rows) {
    for (const [at, column] of ROUTE_COLUMNS.entries()) {
      for (const method of row.method === 'GET' ? (['GET', 'HEAD'] as const) : [row.method]) {
        const { statusCode } = await send({ ...row, method }, column)
        if (statusCode !== row.statuses[at]) {
          wrong.push(`${method} ${row.url} × ${column}: expected ${row.statuses[at]}, got ${statusCode}`)
        }
      }
    }
  }
  assert.deepEqual(wrong, [])
})

test('every other method of a path is 405 and says which it answers; every other path is 404', async () => {
  for (const url of new Set(rows.map((row) => row.url))) {
    const answered = new Set<string>(rows.filter((row) => row.url === url).map((row) => row.method))
    if (answered.has('GET')) answered.add('HEAD')
    for (const method of METHODS.filter((one) => !answered.has(one))) {
      const response = await send({ method, url, statuses: [] }, 'account key')
      assert.equal(response.statusCode, 405, `${method} ${url}`)
      assert.deepEqual(new Set(String(response.headers.allow).split(', ')), answered, `${method} ${url}`)
    }
  }
  for (const url of ['/nothing', '/graphql/x', '/healthz/', '/.git/config', '/signin/sso', '/graphiql/assets/x.js']) {
    const reply = replyOf(await api.node.inject({ method: 'GET', url }))
    assert.deepEqual([reply.status, reply.code], [404, 'NOT_FOUND'], url)
  }
})

test('with a token, metrics are served to whoever sends it, and to nobody else on any machine', async () => {
  const token = 'a-token-of-24-characters'
  await using tokened = await testApi({ env: { YARDMASTER_METRICS_TOKEN: token } })
  const key = (await tokened.t.key()).key
  const get = async (headers: RequestHeaders, remoteAddress: string) =>
    (await tokened.node.inject({ url: '/metrics', headers, remoteAddress })).statusCode
  assert.equal(await get(bearer(token), '192.0.2.1'), 200)
  for (const address of ['127.0.0.1', '192.0.2.1']) {
    for (const headers of [{}, bearer(key), bearer(`${token}x`), bearer('')])
      assert.equal(await get(headers, address), 401)
  }
  // A proxy on this machine speaks for anyone.
  const proxied = await api.node.inject({ url: '/metrics', headers: { 'x-forwarded-for': '192.0.2.1' } })
  assert.equal(proxied.statusCode, 401)
})

test('a process without the role api serves health and metrics alone', async () => {
  await using worker = await testApi({ env: { YARDMASTER_ROLES: 'worker' } })
  const served = new Set(worker.node.routeTable.map((one) => one.url))
  assert.deepEqual(served, new Set(['/healthz', '/readyz', '/metrics']))
})
