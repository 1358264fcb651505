// A real OpenID Connect provider on loopback, whose only user is whoever the test says, and a browser to go there with.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AdapterFactory, type AdapterPayload, Provider } from 'oidc-provider'

export interface TestOidc extends AsyncDisposable {
  readonly issuer: string
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  /** Who is signed in at the provider, from now on. */
  user: { email?: string; email_verified?: boolean | string; name?: string }
  /** Answer every request with this status instead, until null. */
  broken: number | null
  /** Goes where a browser would be sent and gives back the address at which it leaves the provider. */
  visit(url: string): Promise<string>
  stop(): Promise<void>
  /** On the same port again. */
  start(): Promise<void>
}

export async function testOidc(redirectUri: string): Promise<TestOidc> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const client = { clientId: 'yardmaster', clientSecret: 'a secret of some length' }
  const holder: { handle: ReturnType<Provider['callback']> | null } = { handle: null }
  const state: Pick<TestOidc, 'user' | 'broken'> = { user: {}, broken: null }
  const listener = (...[request, response]: Parameters<ReturnType<Provider['callback']>>) => {
    if (state.broken === null) return void holder.handle!(request, response)
    response.statusCode = state.broken
    response.end('broken')
  }
  let server: Server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    if (server.listening) await once(server, 'close')
  }

  const provider = new Provider(issuer, {
    adapter: memory(),
    clients: [{ client_id: client.clientId, client_secret: client.clientSecret, redirect_uris: [redirectUri] }],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
    cookies: { keys: ['not a secret'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...state.user }) }),
    // Nobody is asked whether we may know their address.
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({ accountId: ctx.oidc.session!.accountId!, clientId: client.clientId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
  })
  provider.use(async (ctx, next) => {
    if (!ctx.path.startsWith('/interaction/')) return await next()
    await provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: 'ana' } })
    ctx.respond = false
  })
  holder.handle = provider.callback()

  return Object.assign(state, {
    issuer,
    client,
    visit: (url: string) => visit(url, issuer),
    stop,
    start: async () => {
      server = createServer(listener)
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    [Symbol.asyncDispose]: stop,
  })
}

/** The provider's own store in memory writes a warning into the output of every test. */
function memory(): AdapterFactory {
  const kept = new Map<string, AdapterPayload>()
  return (model) => {
    const key = (id: string) => `${model}:${id}`
    return {
      upsert: async (id, payload) => void kept.set(key(id), payload),
      find: async (id) => kept.get(key(id)),
      findByUid: async (uid) => [...kept.values()].find((payload) => payload.uid === uid),
      findByUserCode: async () => undefined,
      consume: async (id) => void Object.assign(kept.get(key(id)) ?? {}, { consumed: Math.floor(Date.now() / 1000) }),
      destroy: async (id) => void kept.delete(key(id)),
      revokeByGrantId: async (grantId) => {
        for (const [name, payload] of kept) if (payload.grantId === grantId) kept.delete(name)
      },
    }
  }
}

async function visit(start: string, issuer: string): Promise<string> {
  const cookies = new Map<string, string>()
  let url = start
  for (let step = 0; step < 10; step++) {
    if (new URL(url).origin !== issuer) return url
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    await response.arrayBuffer()
    for (const one of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(one)!
      cookies.set(name!, value!)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`The provider stopped with ${response.status} at ${url}`)
    url = new URL(location, url).href
  }
  throw new Error('The provider goes round in circles')
}
