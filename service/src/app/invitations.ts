// An invitation becomes a membership: for somebody new, who chooses a password, or for a person who is known already
// and shows the one they have.
import { AppError, conflict } from '../domain/errors.ts'
import { newUid } from '../domain/ids.ts'
import { isToken } from '../domain/key.ts'
import { parsePassword } from '../domain/password.ts'
import { parseName } from '../domain/text.ts'
import type { OpenInvitation, Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import type { App } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import { hashInTurn, verifyInTurn } from './password-work.ts'
import type { RefusalRecorder } from './refusals.ts'
import { badLink } from './sign-in.ts'
import type { SignedIn, Visitor } from './visitor.ts'
import { actorOf, openSession, refuse, visitorContext } from './visitor.ts'

export interface InvitationView extends OpenInvitation {
  /** An existing person proves who they are by the password they have; only a new one chooses one. */
  readonly knownPerson: boolean
}

interface Found {
  readonly invitation: OpenInvitation
  readonly person: Person | null
}

async function find(app: App, token: string): Promise<Found | null> {
  const invitation = isToken(token) ? await people.findInvitation(app.db, app.vault.hashesOf(token)) : null
  return invitation && { invitation, person: await people.findByEmail(app.db, invitation.email) }
}

export async function findInvitation(app: App, token: string): Promise<InvitationView | null> {
  const found = await find(app, token)
  return found && { ...found.invitation, knownPerson: found.person !== null && found.person.passwordHash !== null }
}

/** `name` is read for a new person only. */
export async function acceptInvitation(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  input: { token: string; name: string; password: string },
): Promise<SignedIn> {
  const metadata = { how: 'invitation' }
  const found = await find(app, input.token)
  if (found === null) return await refuse(refusals, visitor, metadata, badLink())
  const { invitation, person } = found
  const known = person !== null && person.passwordHash !== null
  if (known && !(await verifyInTurn(input.password, person.passwordHash))) {
    const wrong = new AppError('UNAUTHENTICATED', 'The password is not right.')
    return await refuse(refusals, visitor, metadata, wrong)
  }
  const fresh = known
    ? null
    : { name: parseName(input.name), passwordHash: await hashInTurn(parsePassword(input.password)) }
  const signedIn = await mutate(visitorContext(app, visitor, person), async (unit) => {
    // First of all: of two that hold the same link, the second waits here and finds it used.
    if (!(await people.acceptInvitation(unit.db, invitation))) return null
    const joined = fresh === null ? person! : await welcome(unit, invitation.email, person, fresh)
    await join(unit, invitation, joined)
    return await openSession(app, unit, visitor, joined, 'invitation')
  })
  return signedIn ?? (await refuse(refusals, visitor, metadata, badLink()))
}

/** Makes the person, or gives one who came in by single sign-on a name and a password of their own choice. */
async function welcome(
  unit: Unit,
  email: string,
  person: Person | null,
  fresh: { name: string; passwordHash: string },
): Promise<Person> {
  const again = () => conflict('Somebody with this address has come in meanwhile: open the link again.')
  if (person === null) {
    const made = await people.insertIfNew(unit.db, { uid: newUid(), email, ...fresh })
    if (made === null) throw again()
    return made
  }
  const now = await people.findById(unit.db, person.id)
  if (now === null || now.passwordHash !== null) throw again()
  await people.setPassword(unit.db, person.id, fresh.passwordHash)
  await people.setName(unit.db, person.id, fresh.name)
  unit.record('password_changed', { how: 'invitation' }, 'account', actorOf(person))
  return { ...now, name: fresh.name }
}

/** The invitation is taken already. */
export async function join(unit: Unit, invitation: OpenInvitation, person: Person): Promise<void> {
  // Somebody who was in no workspace comes back: what they held before they were taken out stays behind.
  if ((await people.memberships(unit.db, person.id)).length === 0) {
    await sessions.endAll(unit.db, person.id)
    await people.voidLinks(unit.db, person.id)
  }
  await people.join(unit.db, invitation.workspaceId, person.id, invitation.accountType)
  unit.record(
    'invitation_accepted',
    { email: invitation.email, uid: person.uid, account_type: invitation.accountType },
    { id: invitation.workspaceId, name: invitation.workspaceName },
    actorOf(person),
  )
}
