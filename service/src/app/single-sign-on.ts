// Single sign-on: the provider vouches for an address; being a user, or invited, is still ours to say.
//
// What must be the same at the end as at the beginning travels with the visitor, sealed: any node can finish what
// another began, and a sign-in that nobody finishes leaves nothing behind.
import { AppError, conflict, forbidden } from '../domain/errors.ts'
import { newUid } from '../domain/ids.ts'
import { parseEmail } from '../domain/text.ts'
import type { IdentityProvider, ProviderClaims, SignInSecrets } from '../ports/identity-provider.ts'
import * as people from '../store/people.ts'
import type { App } from './context.ts'
import { join } from './invitations.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import type { RefusalRecorder } from './refusals.ts'
import type { SignedIn, Visitor } from './visitor.ts'
import { hasWorkspace, openSession, refuse, visitorContext } from './visitor.ts'

export const SSO_MINUTES = 10
export const SSO_CALLBACK = '/signin/sso/callback'

interface Begun extends SignInSecrets {
  /** Where the visitor wanted to go. */
  readonly next: string
  readonly until: number
}

const PLACE = ['single sign-on']

export async function beginSingleSignOn(
  app: App,
  provider: IdentityProvider,
  next: string,
): Promise<{ url: string; sealed: string }> {
  const { url, secrets } = await provider.begin(app.settings.publicUrl + SSO_CALLBACK)
  const begun: Begun = { ...secrets, next, until: app.clock.now().getTime() + SSO_MINUTES * 60_000 }
  const { kid, wrappedKey, sealed } = app.vault.seal(JSON.stringify(begun), PLACE)
  return { url, sealed: [kid, wrappedKey.toString('base64url'), sealed.toString('base64url')].join('.') }
}

function unseal(app: App, text: string | null): Begun | null {
  const [kid, wrappedKey, sealed, ...rest] = (text ?? '').split('.')
  if (kid === undefined || wrappedKey === undefined || sealed === undefined || rest.length > 0) return null
  try {
    const parts = { kid, wrappedKey: Buffer.from(wrappedKey, 'base64url'), sealed: Buffer.from(sealed, 'base64url') }
    const begun = JSON.parse(app.vault.open(parts, PLACE).toString()) as Begun
    return begun.until > app.clock.now().getTime() ? begun : null
  } catch {
    // Not ours, changed, or sealed under a key that is gone.
    return null
  }
}

const startAgain = () =>
  new AppError('UNAUTHENTICATED', 'This sign-in took too long or was begun in another window. Start again.')

export async function finishSingleSignOn(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  provider: IdentityProvider,
  input: { sealed: string | null; query: string },
): Promise<{ signedIn: SignedIn; next: string }> {
  const begun = unseal(app, input.sealed)
  if (begun === null) return await refuse(refusals, visitor, { how: 'sso' }, startAgain())
  const { next, until: _, ...secrets } = begun
  let claims: ProviderClaims
  try {
    // The address is ours, whatever the request said of its host.
    claims = await provider.finish(`${app.settings.publicUrl}${SSO_CALLBACK}${input.query}`, secrets)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'UNAUTHENTICATED') throw error
    return await refuse(refusals, visitor, { how: 'sso' }, error)
  }
  return { signedIn: await signInWithProvider(app, refusals, visitor, claims), next }
}

export async function signInWithProvider(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  claims: ProviderClaims,
): Promise<SignedIn> {
  const metadata = { how: 'sso', issuer: claims.issuer }
  if (!claims.emailVerified || claims.email === '') {
    const unverified = forbidden('The identity provider has not verified your e-mail address.')
    return await refuse(refusals, visitor, metadata, unverified)
  }
  const email = parseEmail(claims.email)
  // In this order: whoever took the invitation before it is looked for has made the person before that one is.
  const invitations = await people.findInvitationsOf(app.db, email)
  const known = await people.findByEmail(app.db, email)
  const signedIn =
    invitations.length === 0 && (known === null || !(await hasWorkspace(app, known)))
      ? null
      : await mutate(visitorContext(app, visitor, known), async (unit) => {
          // Those that another request of the same person took first are theirs already.
          const taken: people.OpenInvitation[] = []
          for (const one of invitations) if (await people.acceptInvitation(unit.db, one)) taken.push(one)
          const person =
            (await people.findByEmail(unit.db, email)) ??
            (taken.length === 0 ? null : await makePerson(unit, email, displayName(claims.name, email)))
          if (person === null) return null
          for (const one of taken) await join(unit, one, person)
          if ((await people.memberships(unit.db, person.id)).length === 0) return null
          return await openSession(app, unit, visitor, person, 'sso')
        })
  const unknown = forbidden('You are not a user here. Ask an administrator to invite you.')
  return signedIn ?? (await refuse(refusals, visitor, metadata, unknown))
}

async function makePerson(unit: Unit, email: string, name: string): Promise<people.Person> {
  const made = await people.insertIfNew(unit.db, { uid: newUid(), email, name, passwordHash: null })
  if (made === null) throw conflict('Somebody with this address has come in meanwhile. Try again.')
  return made
}

/** A provider's words, made fit for a name of ours. */
function displayName(name: string, email: string): string {
  const plain = Array.from(name, (letter) => (letter < ' ' || letter === '\x7f' ? ' ' : letter)).join('')
  return (plain.trim() || email).slice(0, 128)
}
