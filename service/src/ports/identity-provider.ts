// Somebody else who vouches for people: an OpenID Connect provider. It says who somebody is and never what they may do.

/** What has to come back, or be known, at the end of a sign-in. Kept by the visitor, sealed, for some minutes. */
export interface SignInSecrets {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export interface ProviderClaims {
  readonly issuer: string
  readonly email: string
  readonly emailVerified: boolean
  readonly name: string
}

export interface IdentityProvider {
  /** What people call it: "Sign in with <name>". */
  readonly name: string
  /**
   * Where to send the visitor. Rejects with an AppError: UNAVAILABLE while the provider does not answer; a later call
   * tries again.
   */
  begin(redirectUri: string): Promise<{ readonly url: string; readonly secrets: SignInSecrets }>
  /**
   * What the provider says of the visitor who came back to `callbackUrl`. Rejects with an AppError: UNAVAILABLE while
   * the provider does not answer, UNAUTHENTICATED where what came back does not belong to the secrets, was used before
   * or is a refusal.
   */
  finish(callbackUrl: string, secrets: SignInSecrets): Promise<ProviderClaims>
}
