import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestOidc, testOidc } from '../../test/support/oidc.ts'
import { rudeServer } from '../../test/support/smtp.ts'
import { AppError, type ErrorCode } from '../domain/errors.ts'
import type { IdentityProvider } from '../ports/identity-provider.ts'
import { oidcProvider } from './oidc.ts'

const CALLBACK = 'http://127.0.0.1:4400/signin/sso/callback'

const providerOf = (oidc: TestOidc, timeoutSeconds = 5): IdentityProvider =>
  oidcProvider({ issuer: oidc.issuer, ...oidc.client, name: 'Test', timeoutSeconds })

const fails = (code: ErrorCode) => (error: unknown) => error instanceof AppError && error.code === code

test('a visitor who comes back is who the provider says, from the userinfo where the token is silent', async () => {
  await using oidc = await testOidc(CALLBACK)
  const provider = providerOf(oidc)
  oidc.user = { email: 'ana@example.com', email_verified: true, name: 'Ana' }
  const { url, secrets } = await provider.begin(CALLBACK)
  const asked = new URL(url).searchParams
  assert.equal(asked.get('response_type'), 'code')
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.equal(asked.get('state'), secrets.state)
  assert.ok(!url.includes(secrets.verifier))
  const claims = await provider.finish(await oidc.visit(url), secrets)
  assert.deepEqual(claims, { issuer: oidc.issuer, email: 'ana@example.com', emailVerified: true, name: 'Ana' })
})

test('an address that the provider does not call verified is not, and one that it does not tell is empty', async () => {
  await using oidc = await testOidc(CALLBACK)
  const provider = providerOf(oidc)
  const cases = [
    [{ email: 'ana@example.com', email_verified: false }, 'ana@example.com', false],
    [{ email: 'ana@example.com' }, 'ana@example.com', false],
    [{ email: 'ana@example.com', email_verified: 'true' }, 'ana@example.com', true],
    [{}, '', false],
  ] as const
  for (const [user, email, emailVerified] of cases) {
    oidc.user = user
    const { url, secrets } = await provider.begin(CALLBACK)
    const claims = await provider.finish(await oidc.visit(url), secrets)
    assert.deepEqual([claims.email, claims.emailVerified], [email, emailVerified])
  }
})

test('a code is good once, with the secrets it was asked for with, and unchanged', async () => {
  await using oidc = await testOidc(CALLBACK)
  const provider = providerOf(oidc)
  oidc.user = { email: 'ana@example.com', email_verified: true }
  const come = async () => {
    const { url, secrets } = await provider.begin(CALLBACK)
    return { secrets, back: await oidc.visit(url) }
  }
  const first = await come()
  await provider.finish(first.back, first.secrets)
  await assert.rejects(provider.finish(first.back, first.secrets), fails('UNAUTHENTICATED'), 'used twice')

  const other = await come()
  for (const [name, value] of [
    ['state', 'another'],
    ['nonce', 'another'],
    ['verifier', 'a'.repeat(43)],
  ] as const) {
    const { back, secrets } = await come()
    await assert.rejects(provider.finish(back, { ...secrets, [name]: value }), fails('UNAUTHENTICATED'), name)
  }
  await assert.rejects(provider.finish(first.back, other.secrets), fails('UNAUTHENTICATED'), "somebody else's code")
  const forged = new URL(other.back)
  forged.searchParams.set('code', 'made-up')
  await assert.rejects(provider.finish(forged.href, other.secrets), fails('UNAUTHENTICATED'), 'a made-up code')
  const foreign = new URL((await come()).back)
  foreign.searchParams.set('iss', 'https://evil.example')
  await assert.rejects(provider.finish(foreign.href, other.secrets), fails('UNAUTHENTICATED'), 'another issuer')
  const denied = `${CALLBACK}?error=access_denied&state=${other.secrets.state}&iss=${encodeURIComponent(oidc.issuer)}`
  await assert.rejects(provider.finish(denied, other.secrets), fails('UNAUTHENTICATED'), 'the visitor said no')
  await assert.rejects(provider.finish(CALLBACK, other.secrets), fails('UNAUTHENTICATED'), 'nothing came back')
})

test('a provider that is down, at the beginning or in the middle, is unavailable until it is back', async () => {
  await using oidc = await testOidc(CALLBACK)
  oidc.user = { email: 'ana@example.com', email_verified: true }
  const provider = providerOf(oidc)
  await oidc.stop()
  await assert.rejects(provider.begin(CALLBACK), fails('UNAVAILABLE'))
  await oidc.start()
  const { url, secrets } = await provider.begin(CALLBACK)
  const back = await oidc.visit(url)
  await oidc.stop()
  await assert.rejects(provider.finish(back, secrets), fails('UNAVAILABLE'))
  await oidc.start()
  oidc.broken = 503
  await assert.rejects(provider.finish(back, secrets), fails('UNAVAILABLE'))
  await assert.rejects(providerOf(oidc).begin(CALLBACK), fails('UNAVAILABLE'))
  oidc.broken = null
  assert.equal((await provider.finish(back, secrets)).email, 'ana@example.com')
})

test('a provider that takes the request and says nothing ends in the limit', async () => {
  await using silent = await rudeServer(() => {})
  const issuer = silent.url.replace('smtp:', 'http:')
  const provider = oidcProvider({ issuer, clientId: 'a', clientSecret: 'b', name: 'Silent', timeoutSeconds: 0.1 })
  await assert.rejects(provider.begin(CALLBACK), fails('UNAVAILABLE'))
})

test('a provider that describes itself as another one is not believed', async () => {
  await using oidc = await testOidc(CALLBACK)
  const issuer = oidc.issuer.replace('127.0.0.1', 'localhost')
  const provider = oidcProvider({ issuer, ...oidc.client, name: 'Test' })
  await assert.rejects(provider.begin(CALLBACK), fails('UNAVAILABLE'))
})
