// OpenID Connect: authorization code with PKCE, state and nonce. The provider's own description of itself is read when
// it is first needed and again until that works, so that a provider that is down does not keep the service down.
import * as client from 'openid-client'
import { AppError } from '../domain/errors.ts'
import type { IdentityProvider, ProviderClaims } from '../ports/identity-provider.ts'

export interface OidcOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** On the button. */
  readonly name: string
  /** For each request to the provider. */
  readonly timeoutSeconds?: number
}

const TIMEOUT_SECONDS = 10
const SCOPE = 'openid email profile'

export function oidcProvider(options: OidcOptions): IdentityProvider {
  const issuer = new URL(options.issuer)
  let described: Promise<client.Configuration> | null = null

  const describe = (): Promise<client.Configuration> => {
    described ??= client
      .discovery(issuer, options.clientId, undefined, clientSecret(options.clientSecret), {
        timeout: options.timeoutSeconds ?? TIMEOUT_SECONDS,
        // The configuration allows http:// for this machine alone.
        execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [],
      })
      .catch((error: unknown) => {
        described = null
        throw unavailable(error)
      })
    return described
  }

  return {
    name: options.name,
    begin: async (redirectUri) => {
      const config = await describe()
      const secrets = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, secrets }
    },
    finish: async (callbackUrl, { state, nonce, verifier }) => {
      const config = await describe()
      try {
        const tokens = await client.authorizationCodeGrant(config, new URL(callbackUrl), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()!
        // Many providers give the address out only when asked for it by itself.
        const more =
          claims.email === undefined ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {}
        return claimsOf({ ...more, ...claims })
      } catch (error) {
        throw isOutage(error) ? unavailable(error) : refused(error)
      }
    },
  }
}

/** In the way that the provider says it takes; `client_secret_basic` is what the standard means by saying nothing. */
function clientSecret(secret: string): client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const choose = supported.includes('client_secret_basic') ? basic : post
    choose(server, ...rest)
  }
}

function claimsOf(claims: Readonly<Record<string, unknown>>): ProviderClaims {
  const text = (name: string): string => (typeof claims[name] === 'string' ? claims[name] : '')
  return {
    issuer: text('iss'),
    email: text('email'),
    // Some providers write it as a text.
    emailVerified: claims.email_verified === true || claims.email_verified === 'true',
    name: text('name'),
  }
}

const unavailable = (cause: unknown): AppError =>
  new AppError('UNAVAILABLE', 'The identity provider does not answer. Try again in a moment.', {
    cause,
    retryAfterSeconds: 5,
  })

const refused = (cause: unknown): AppError =>
  new AppError('UNAUTHENTICATED', 'The identity provider did not confirm this sign-in. Start again.', { cause })

/** No answer, or an answer that says "not now"; anything else is about this sign-in. */
function isOutage(error: unknown): boolean {
  if (error instanceof client.ResponseBodyError) return error.status >= 500
  if (error instanceof client.AuthorizationResponseError) {
    return error.error === 'temporarily_unavailable' || error.error === 'server_error'
  }
  if (!(error instanceof Error)) return false
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return true
  const { code, cause } = error as Error & { code?: string }
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true
  if (code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' && cause instanceof Response) return cause.status >= 500
  // fetch says this, and puts the reason behind it.
  return error instanceof TypeError && error.message === 'fetch failed'
}
