// What a page elsewhere, or a curious visitor, gets: CSRF, CORS, introspection.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, printSchema } from 'graphql'
import type { WorkspaceRef } from '../service/src/domain/actor.ts'
import type { Person } from '../service/src/store/people.ts'
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
import { schema } from './support/arguments.ts'

let api: TestApi
let a: WorkspaceRef
let ana: Person
let token: string

before(async () => {
  api = await testApi()
  a = await api.t.workspace('A')
  ana = await api.t.member(a, 'ADMIN', { email: 'ana@example.com', password: 'correct horse battery' })
  token = await api.session(ana)
})
after(() => api.close())

const MUTATION = 'mutation { createWorkspace(name: "Forged") { ok } }'
const JSON_BODY = JSON.stringify({ query: MUTATION })
const FORM_BODY = `query=${encodeURIComponent(MUTATION)}`

const workspaces = async () => (await api.t.app.db.selectFrom('workspace').select('id').execute()).length

/** Everything else is right: the session, our header, our origin. */
const request = (change: Partial<InjectOptions> & { headers?: RequestHeaders }): InjectOptions => ({
  method: 'POST',
  url: '/graphql',
  payload: JSON_BODY,
  ...change,
  headers: { ...sessionOf(token), 'content-type': 'application/json', ...change.headers },
})

test('only a POST with application/json executes: of other types and methods none does', async () => {
  const type = (value: string, payload: string = JSON_BODY) => request({ headers: { 'content-type': value }, payload })
  const multipart = `--x\r\ncontent-disposition: form-data; name="query"\r\n\r\n${MUTATION}\r\n--x--`
  const tries: [string, InjectOptions][] = [
    ['GET with a query string', request({ method: 'GET', url: `/graphql?${FORM_BODY}`, payload: undefined })],
    ['GET with a body', request({ method: 'GET' })],
    ['HEAD', request({ method: 'HEAD', url: `/graphql?${FORM_BODY}`, payload: undefined })],
    ['PUT', request({ method: 'PUT' })],
    ['PATCH', request({ method: 'PATCH' })],
    ['DELETE', request({ method: 'DELETE' })],
    ['OPTIONS', request({ method: 'OPTIONS' })],
    ['POST text/plain', type('text/plain')],
    ['POST text/plain that names JSON', type('text/plain; application/json')],
    ['POST form', type('application/x-www-form-urlencoded', FORM_BODY)],
    ['POST multipart', type('multipart/form-data; boundary=x', multipart)],
    ['POST application/graphql', type('application/graphql', MUTATION)],
    ['POST application/json in another charset', type('application/json; charset=utf-7')],
    ['POST without a type', type('')],
    ['POST JSON as a list', request({ payload: `[${JSON_BODY}]` })],
    ['POST with the query in the address', request({ url: `/graphql?${FORM_BODY}`, payload: '{}' })],
  ]
  const before = await workspaces()
  for (const [name, options] of tries) {
    const { statusCode } = await api.node.inject(options)
    assert.ok([400, 405, 415].includes(statusCode), `${name}: ${statusCode}`)
  }
  assert.equal(await workspaces(), before)
  const right = replyOf(await api.node.inject(request({})))
  // The one that is right gets as far as the gate: an ADMIN of every workspace may.
  assert.deepEqual([right.status, right.code], [200, ''])
  assert.equal(await workspaces(), before + 1)
})

test('the session cookie counts only with our header and an Origin of our own; without them the request is anonymous', async () => {
  const cookie = cookieOf(token)
  const header = { 'x-yardmaster-console': '1' }
  const origin = { origin: PUBLIC_URL }
  const anonymous: [string, RequestHeaders][] = [
    ['the cookie alone', cookie],
    ['without the header', { ...cookie, ...origin }],
    ['without an origin', { ...cookie, ...header }],
    ['another value of the header', { ...cookie, ...origin, 'x-yardmaster-console': 'true' }],
    ['an empty header', { ...cookie, ...origin, 'x-yardmaster-console': '' }],
    ['a foreign origin', { ...cookie, ...header, origin: 'https://elsewhere.example' }],
    ['the origin null', { ...cookie, ...header, origin: 'null' }],
    ['our host with another port', { ...cookie, ...header, origin: 'http://127.0.0.1:4401' }],
    ['our host with another scheme', { ...cookie, ...header, origin: 'https://127.0.0.1:4400' }],
    ['our origin as the start of a longer one', { ...cookie, ...header, origin: `${PUBLIC_URL}.elsewhere.example` }],
    ['our origin with a path', { ...cookie, ...header, origin: `${PUBLIC_URL}/` }],
    ['a Referer for an Origin', { ...cookie, ...header, referer: `${PUBLIC_URL}/graphiql` }],
    ['no cookie', { ...header, ...origin }],
    ['two cookies of the name', { ...header, ...origin, cookie: `yardmaster_session=${token}; yardmaster_session=x` }],
  ]
  for (const [name, by] of anonymous) {
    assert.equal((await api.ask('{ me { email } }', { by })).status, 401, name)
    const identity = await api.ask('{ apiKeyIdentity { isValid } }', { by })
    assert.equal(identity.json.data.apiKeyIdentity.isValid, false, name)
  }
  for (const own of [PUBLIC_URL, 'http://localhost:4400', 'http://[::1]:4400']) {
    const reply = await api.ask('{ me { email } }', { by: { ...cookie, ...header, origin: own } })
    assert.equal(reply.json.data?.me.email, 'ana@example.com', own)
  }
})

test('keys come from headers only, and win over a cookie', async () => {
  const key = (await api.t.key({ capabilities: ['workspaces:read'] })).key
  const both = { ...sessionOf(token), ...bearer(key) }
  assert.equal((await api.ask('{ listWorkspaces { ok } }', { by: both })).status, 200)
  assert.equal((await api.ask('{ me { ok } }', { by: both })).status, 403)
  // A wrong key is a wrong key, whatever comes beside it.
  assert.equal((await api.ask('{ me { ok } }', { by: { ...sessionOf(token), ...bearer('x') } })).status, 401)
  assert.equal((await api.ask('{ me { ok } }', { by: { ...sessionOf(token), 'x-api-key': 'x' } })).status, 401)
  const query = '{ listWorkspaces { ok } }'
  for (const path of [
    `/graphql?access_token=${key}`,
    `/graphql?key=${key}`,
    `/graphql?authorization=Bearer%20${key}`,
  ]) {
    assert.equal((await api.ask(query, { path })).status, 401, path)
  }
  const payload = JSON.stringify({ query, key, authorization: `Bearer ${key}`, extensions: { key } })
  const headers = { 'content-type': 'application/json', cookie: `authorization=Bearer ${key}; key=${key}` }
  assert.equal((await api.node.inject({ method: 'POST', url: '/graphql', headers, payload })).statusCode, 401)
})

test('the cookie is http-only and SameSite=Strict, and Secure where the service is reached by https', async () => {
  const signIn = (at: TestApi, origin: string) =>
    at.node.inject({
      method: 'POST',
      url: '/signin',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin },
      payload: 'email=ana%40example.com&password=correct+horse+battery',
    })
  const plain = String((await signIn(api, PUBLIC_URL)).headers['set-cookie'])
  assert.match(plain, /^yardmaster_session=ymt_[A-Za-z0-9]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
  await using secure = await testApi({ settings: { publicUrl: 'https://yardmaster.example' } })
  await secure.t.member(await secure.t.workspace(), 'ADMIN', {
    email: 'ana@example.com',
    password: 'correct horse battery',
  })
  const cookie = String((await signIn(secure, 'https://yardmaster.example')).headers['set-cookie'])
  assert.match(cookie, /; HttpOnly; SameSite=Strict; Secure$/)
})

test('no answer opens the service to a page elsewhere', async () => {
  const preflight = {
    origin: 'https://elsewhere.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type, x-yardmaster-console',
  }
  const asks: InjectOptions[] = [
    { method: 'OPTIONS', url: '/graphql', headers: preflight },
    { method: 'OPTIONS', url: '/signin', headers: preflight },
    request({ headers: { origin: 'https://elsewhere.example' } }),
    { method: 'GET', url: '/signin', headers: { origin: 'https://elsewhere.example' } },
    { method: 'GET', url: '/healthz', headers: { origin: 'https://elsewhere.example' } },
  ]
  for (const options of asks) {
    const { headers } = await api.node.inject(options)
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith('access-control')),
      [],
    )
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
  }
})

test('introspection is refused to the anonymous and answered to a valid key, whole', async () => {
  const query = getIntrospectionQuery({ descriptions: true, inputValueDeprecation: true })
  assert.equal((await api.ask(query)).status, 401)
  assert.equal((await api.ask(query, { by: bearer('x') })).status, 401)
  const key = (await api.t.key({ capabilities: ['audit:read'] })).key
  const reply = await api.ask(query, { by: bearer(key) })
  assert.deepEqual([reply.status, reply.code], [200, ''])
  const told = printSchema(lexicographicSortSchema(buildClientSchema(reply.json.data)))
  assert.equal(told, printSchema(lexicographicSortSchema(schema)))
})

test('names are suggested to whoever has a key, and not to the anonymous', async () => {
  const misspelt = '{ apiKeyIdentity { isValit } }'
  const anonymous = await api.ask(misspelt)
  assert.deepEqual(
    [anonymous.status, anonymous.message],
    [400, 'Cannot query field "isValit" on type "ApiKeyIdentity".'],
  )
  assert.equal((await api.ask('{ listUsrs { ok } }')).status, 401)
  const reply = await api.ask(misspelt, { by: bearer((await api.t.key()).key) })
  assert.match(reply.message, /Did you mean "isValid"\?/)
})
