import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownOriginsOf, readCredentials, readSessionCookie, readWorkspace, workspaceHeaderNames } from './auth.ts'

const ownOrigins = ownOriginsOf('https://yard.example.com')
const read = (headers: Record<string, string | string[]>) => readCredentials({ headers }, { ownOrigins })

const BROWSER = {
  cookie: 'a=b; yardmaster_session=token; c=d',
  'x-yardmaster-console': '1',
  origin: 'https://yard.example.com',
}

test('credentials are read from headers, a bearer token before a pair before a cookie', () => {
  const rows: [name: string, headers: Record<string, string>, expected: unknown][] = [
    ['none', {}, { kind: 'none' }],
    ['bearer', { authorization: 'Bearer abc' }, { kind: 'bearer', token: 'abc' }],
    ['bearer in any case, with spaces', { authorization: 'bEARER   abc  ' }, { kind: 'bearer', token: 'abc' }],
    ['bearer without a token', { authorization: 'Bearer' }, { kind: 'bearer', token: '' }],
    ['bearer with two words', { authorization: 'Bearer a b' }, { kind: 'bearer', token: 'a b' }],
    ['another scheme', { authorization: 'Basic YTpi' }, { kind: 'none' }],
    [
      'another scheme beside a cookie',
      { authorization: 'Basic YTpi', ...BROWSER },
      { kind: 'session', token: 'token' },
    ],
    ['a scheme that begins alike', { authorization: 'Bearerabc' }, { kind: 'none' }],
    ['a pair', { 'x-api-key': 'k', 'x-api-secret': 's' }, { kind: 'pair', key: 'k', secret: 's' }],
    ['half a pair', { 'x-api-key': 'k' }, { kind: 'pair', key: 'k', secret: '' }],
    ['the other half', { 'x-api-secret': 's' }, { kind: 'pair', key: '', secret: 's' }],
    [
      'bearer and pair',
      { authorization: 'Bearer abc', 'x-api-key': 'k', 'x-api-secret': 's' },
      { kind: 'bearer', token: 'abc' },
    ],
    ['a key and a cookie', { authorization: 'Bearer abc', ...BROWSER }, { kind: 'bearer', token: 'abc' }],
    [
      'a pair and a cookie',
      { 'x-api-key': 'k', 'x-api-secret': 's', ...BROWSER },
      { kind: 'pair', key: 'k', secret: 's' },
    ],
    ['a cookie with all it needs', BROWSER, { kind: 'session', token: 'token' }],
  ]
  for (const [name, headers, expected] of rows) assert.deepEqual(read(headers), expected, name)
})

test('the cookie alone is nobody: it needs our header and an origin of our own', () => {
  const { cookie } = BROWSER
  const rows: Record<string, string>[] = [
    { cookie },
    { cookie, origin: BROWSER.origin },
    { cookie, 'x-yardmaster-console': '1' },
    { cookie, 'x-yardmaster-console': '', origin: BROWSER.origin },
    { cookie, 'x-yardmaster-console': 'true', origin: BROWSER.origin },
    { cookie, 'x-yardmaster-console': '1', origin: 'null' },
    { cookie, 'x-yardmaster-console': '1', origin: 'https://evil.example.com' },
    { cookie, 'x-yardmaster-console': '1', origin: 'http://yard.example.com' },
    { cookie, 'x-yardmaster-console': '1', origin: 'https://yard.example.com.evil.com' },
    { cookie, 'x-yardmaster-console': '1', origin: 'https://yard.example.com:8443' },
    { 'x-yardmaster-console': '1', origin: BROWSER.origin },
    { ...BROWSER, cookie: 'yardmaster_session=' },
    { ...BROWSER, cookie: 'yardmaster_session=one; yardmaster_session=two' },
    { ...BROWSER, cookie: 'xyardmaster_session=token' },
  ]
  for (const headers of rows) assert.deepEqual(read(headers), { kind: 'none' }, JSON.stringify(headers))
})

test('a page reads the session cookie without them', () => {
  assert.equal(readSessionCookie({ headers: { cookie: ' yardmaster_session = token ' } }), 'token')
  assert.equal(readSessionCookie({ headers: {} }), null)
})

test('on this machine the public address has three names', () => {
  assert.deepEqual(
    [...ownOriginsOf('http://127.0.0.1:4400')],
    ['http://localhost:4400', 'http://127.0.0.1:4400', 'http://[::1]:4400'],
  )
  assert.deepEqual([...ownOriginsOf('http://[::1]:80')], ['http://localhost', 'http://127.0.0.1', 'http://[::1]'])
  assert.deepEqual([...ownOriginsOf('https://yard.example.com/')], ['https://yard.example.com'])
})

test('the workspace comes from any of its headers, and from one value only', () => {
  const names = workspaceHeaderNames(['X-Paradime-Workspace', 'X-SERVICE-WORKSPACE'])
  const of = (headers: Record<string, string>) => readWorkspace({ headers }, names)
  assert.deepEqual(names, ['x-service-workspace', 'x-paradime-workspace'])
  assert.equal(of({}), null)
  assert.equal(of({ 'x-service-workspace': '' }), null)
  assert.equal(of({ 'x-service-workspace': ' one ' }), 'one')
  assert.equal(of({ 'x-paradime-workspace': 'one' }), 'one')
  assert.equal(of({ 'x-paradime-workspace': 'one', 'x-service-workspace': 'one' }), 'one')
  const two = { code: 'BAD_REQUEST', message: /two workspaces/ }
  assert.throws(() => of({ 'x-paradime-workspace': 'one', 'x-service-workspace': 'two' }), two)
  // Node joins a header that was sent twice.
  assert.throws(() => of({ 'x-service-workspace': 'one, two' }), two)
  assert.equal(of({ 'x-service-workspace': 'one, one' }), 'one')
})
