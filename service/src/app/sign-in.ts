// How a person gets in: a password, a one-time link, an invitation, a vouching identity provider. Each ends in a
// session, and each way in or refusal is on record. Answers never tell whether an address is known.
import type { PersonIdentity } from '../domain/actor.ts'
import { AppError, conflict } from '../domain/errors.ts'
import { newSecret, newUid } from '../domain/ids.ts'
import { formatToken, isToken } from '../domain/key.ts'
import { hashPassword, parsePassword, verifyPassword } from '../domain/password.ts'
import { parseEmail, parseName } from '../domain/text.ts'
import type { OpenInvitation, Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import type { App, Context, RequestInfo } from './context.ts'
import { queueMail } from './mail.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'
import type { RefusalRecorder } from './refusals.ts'

export interface Visitor extends RequestInfo {
  readonly userAgent: string
}

export interface SignedIn {
  /** Goes into the session cookie; only its hash is stored. */
  readonly token: string
  readonly person: Person
}

const RESET_MINUTES = 60

function visitorContext(app: App, visitor: Visitor, person: Person | null): Context {
  const identity: PersonIdentity | null = person && {
    id: person.id,
    email: person.email,
    name: person.name,
    memberships: [],
    runsAccount: false,
  }
  return {
    ...app,
    actor: identity === null ? { kind: 'anonymous' } : { kind: 'person', person: identity, sessionId: 0 },
    workspace: null,
    visible: [],
    request: visitor,
    idempotency: null,
  }
}

async function openSession(app: App, unit: Unit, visitor: Visitor, person: Person, how: string): Promise<SignedIn> {
  const token = formatToken(newSecret())
  await sessions.insert(unit.db, {
    personId: person.id,
    tokenHash: app.vault.hashSecret(token),
    address: visitor.address,
    userAgent: visitor.userAgent.slice(0, 200),
    hours: app.settings.sessionHours,
  })
  unit.record('signed_in', { how, address: visitor.address }, 'account')
  return { token, person }
}

async function refuse(
  refusals: RefusalRecorder,
  visitor: Visitor,
  metadata: Record<string, unknown>,
  message: string,
): Promise<never> {
  const { address } = visitor
  await refusals.record({ actor: { kind: 'anonymous' }, address, event: 'sign_in_refused', metadata, at: 'account' })
  throw new AppError('UNAUTHENTICATED', message)
}

const hasWorkspace = async (app: App, person: Person): Promise<boolean> =>
  (await people.memberships(app.db, person.id)).length > 0

export async function signInWithPassword(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  input: { email: string; password: string },
): Promise<SignedIn> {
  const person = await people.findByEmail(app.db, input.email.trim())
  const right = await verifyPassword(input.password.slice(0, 1000), person?.passwordHash ?? null)
  if (person === null || !right || !(await hasWorkspace(app, person))) {
    // The address that was typed is not kept: people type passwords into that field.
    return await refuse(refusals, visitor, { how: 'password' }, 'The e-mail address or the password is not right.')
  }
  return await mutate(visitorContext(app, visitor, person), (unit) =>
    openSession(app, unit, visitor, person, 'password'),
  )
}

// --- one-time links

const badLink = () => new AppError('NOT_FOUND', 'This link was used, has expired, or is not whole. Ask for a new one.')

export async function findLinkedPerson(app: App, purpose: people.LinkPurpose, token: string): Promise<Person | null> {
  if (!isToken(token)) return null
  const link = await people.findLink(app.db, purpose, app.vault.hashesOf(token))
  return link === null ? null : await people.findById(app.db, link.personId)
}

export async function signInWithLink(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  token: string,
): Promise<SignedIn> {
  const link = isToken(token) ? await people.findLink(app.db, 'sign_in', app.vault.hashesOf(token)) : null
  const person = link && (await people.findById(app.db, link.personId))
  if (link === null || person === null || !(await hasWorkspace(app, person))) {
    return await refuse(refusals, visitor, { how: 'link' }, badLink().message)
  }
  return await mutate(visitorContext(app, visitor, person), async (unit) => {
    if (!(await people.useLink(unit.db, link.id))) throw badLink()
    return await openSession(app, unit, visitor, person, 'link')
  })
}

/** A link for the command line and the first start; whoever holds it is signed in, once. */
export async function createSignInLink(ctx: Context, person: Person, minutes: number): Promise<string> {
  const token = formatToken(newSecret())
  await mutate(ctx, async (unit) => {
    const tokenHash = ctx.vault.hashSecret(token)
    await people.insertLink(unit.db, { personId: person.id, purpose: 'sign_in', tokenHash, minutes })
    unit.record('password_reset_requested', { email: person.email, how: 'sign-in link' }, 'account')
  })
  return `${ctx.settings.publicUrl}/welcome/${token}`
}

// --- passwords

export async function changePassword(ctx: Context, personId: number, password: string): Promise<void> {
  const passwordHash = await hashPassword(parsePassword(password))
  await mutate(ctx, async (unit) => {
    await people.setPassword(unit.db, personId, passwordHash)
    await people.voidLinks(unit.db, personId)
    unit.record('password_changed', {}, 'account')
  })
}

/** Says nothing: whether the address is known shows in the mailbox only. */
export async function requestPasswordReset(app: App, visitor: Visitor, email: string): Promise<void> {
  const person = await people.findByEmail(app.db, parseEmail(email))
  if (person === null || !(await hasWorkspace(app, person))) return
  await sendPasswordReset(visitorContext(app, visitor, null), person)
}

/** The link is given back for the command line, which shows it. */
export async function sendPasswordReset(ctx: Context, person: Person): Promise<string> {
  const token = formatToken(newSecret())
  const link = `${ctx.settings.publicUrl}/reset/${token}`
  await mutate(ctx, async (unit) => {
    const tokenHash = ctx.vault.hashSecret(token)
    await people.insertLink(unit.db, {
      personId: person.id,
      purpose: 'password_reset',
      tokenHash,
      minutes: RESET_MINUTES,
    })
    await queueMail(ctx, unit.db, {
      to: person.email,
      subject: 'A new password for Yardmaster',
      text:
        `Somebody, probably you, asked for a new password. This link sets it; it works once, for an hour:\n\n${link}\n\n` +
        'If it was not you, do nothing: your password stays as it is.\n',
    })
    unit.record('password_reset_requested', { email: person.email }, 'account')
  })
  return link
}

/** Ends every session of the person: whoever knew the old password is out. */
export async function resetPassword(app: App, visitor: Visitor, token: string, password: string): Promise<SignedIn> {
  const link = isToken(token) ? await people.findLink(app.db, 'password_reset', app.vault.hashesOf(token)) : null
  const person = link && (await people.findById(app.db, link.personId))
  if (link === null || person === null || !(await hasWorkspace(app, person))) throw badLink()
  const passwordHash = await hashPassword(parsePassword(password))
  return await mutate(visitorContext(app, visitor, person), async (unit) => {
    if (!(await people.useLink(unit.db, link.id))) throw badLink()
    await people.setPassword(unit.db, person.id, passwordHash)
    await people.voidLinks(unit.db, person.id)
    await sessions.endAll(unit.db, person.id)
    unit.record('password_changed', { how: 'reset' }, 'account')
    return await openSession(app, unit, visitor, person, 'reset')
  })
}

// --- invitations

export interface InvitationView extends OpenInvitation {
  /** An existing person proves who they are by the password they have; only a new one chooses one. */
  readonly knownPerson: boolean
}

export async function findInvitation(app: App, token: string): Promise<InvitationView | null> {
  const invitation = isToken(token) ? await people.findInvitation(app.db, app.vault.hashesOf(token)) : null
  if (invitation === null) return null
  const person = await people.findByEmail(app.db, invitation.email)
  return { ...invitation, knownPerson: person !== null && person.passwordHash !== null }
}

export async function acceptInvitation(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  input: { token: string; name: string; password: string },
): Promise<SignedIn> {
  const invitation = await findInvitation(app, input.token)
  if (invitation === null) throw badLink()
  const person = await people.findByEmail(app.db, invitation.email)
  if (invitation.knownPerson) {
    if (person === null || !(await verifyPassword(input.password, person.passwordHash))) {
      return await refuse(refusals, visitor, { how: 'invitation' }, 'The password is not right.')
    }
    return await mutate(visitorContext(app, visitor, person), async (unit) => {
      await takeInvitation(unit, invitation, person)
      return await openSession(app, unit, visitor, person, 'invitation')
    })
  }
  const name = parseName(input.name)
  const passwordHash = await hashPassword(parsePassword(input.password))
  return await mutate(visitorContext(app, visitor, person), async (unit) => {
    const known = await people.findByEmail(unit.db, invitation.email)
    if (known !== null && known.passwordHash !== null)
      throw conflict('You have a password by now: open the link again and use it.')
    const joined =
      known ?? (await people.insert(unit.db, { uid: newUid(), email: invitation.email, name, passwordHash }))
    if (known !== null) {
      await people.setPassword(unit.db, known.id, passwordHash)
      await people.setName(unit.db, known.id, name)
    }
    await takeInvitation(unit, invitation, joined)
    return await openSession(app, unit, visitor, joined, 'invitation')
  })
}

async function takeInvitation(unit: Unit, invitation: OpenInvitation, person: Person): Promise<void> {
  if (!(await people.acceptInvitation(unit.db, invitation.id))) throw badLink()
  await people.join(unit.db, invitation.workspaceId, person.id, invitation.accountType)
  unit.record(
    'invitation_accepted',
    { email: invitation.email, uid: person.uid, account_type: invitation.accountType },
    { id: invitation.workspaceId, name: invitation.workspaceName },
  )
}

// --- single sign-on: the provider vouches for an address; being a user, or invited, is still ours to say

export async function signInWithProvider(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  claims: { email: string; emailVerified: boolean; name: string; issuer: string },
): Promise<SignedIn> {
  const metadata = { how: 'sso', issuer: claims.issuer }
  if (!claims.emailVerified) {
    return await refuse(refusals, visitor, metadata, 'The identity provider has not verified your e-mail address.')
  }
  const email = parseEmail(claims.email)
  const known = await people.findByEmail(app.db, email)
  const invitations = await people.findInvitationsOf(app.db, email)
  if (invitations.length === 0 && (known === null || !(await hasWorkspace(app, known)))) {
    return await refuse(refusals, visitor, metadata, 'You are not a user here. Ask an administrator to invite you.')
  }
  return await mutate(visitorContext(app, visitor, known), async (unit) => {
    const name = claims.name.trim().slice(0, 128) || email
    const person = known ?? (await people.insert(unit.db, { uid: newUid(), email, name, passwordHash: null }))
    for (const invitation of invitations) await takeInvitation(unit, invitation, person)
    return await openSession(app, unit, visitor, person, 'sso')
  })
}
