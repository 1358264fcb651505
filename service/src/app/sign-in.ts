// How a person gets in by what they know or were sent: a password, a one-time link, a new password. (Invitations and
// single sign-on have files of their own.) Each ends in a session, and each way in or refusal is on record. Answers
// never tell whether an address is known.
import { AppError } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatToken, isToken } from '../domain/key.ts'
import { parsePassword } from '../domain/password.ts'
import { parseEmail } from '../domain/text.ts'
import type { Person } from '../store/people.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import type { App, Context } from './context.ts'
import { selfOf } from './context.ts'
import { queueMail } from './mail.ts'
import { mutate } from './mutate.ts'
import { hashInTurn, verifyInTurn } from './password-work.ts'
import type { RefusalRecorder } from './refusals.ts'
import type { SignedIn, Visitor } from './visitor.ts'
import { actorOf, hasWorkspace, openSession, recordRefusal, refuse, visitorContext } from './visitor.ts'

const RESET_MINUTES = 60

export async function signInWithPassword(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  input: { email: string; password: string },
): Promise<SignedIn> {
  const person = await findTyped(app, input.email)
  const right = await verifyInTurn(input.password, person?.passwordHash ?? null)
  if (person === null || !right || !(await hasWorkspace(app, person))) {
    // The address that was typed is not kept: people type passwords into that field.
    const wrong = new AppError('UNAUTHENTICATED', 'The e-mail address or the password is not right.')
    return await refuse(refusals, visitor, { how: 'password' }, wrong)
  }
  return await mutate(visitorContext(app, visitor, person), (unit) =>
    openSession(app, unit, visitor, person, 'password'),
  )
}

/** Nobody has an address that is none, and the database would not even be able to look for some. */
async function findTyped(app: App, email: string): Promise<Person | null> {
  const typed = email.trim()
  return typed.length > 254 || typed.includes('\0') ? null : await people.findByEmail(app.db, typed)
}

// --- one-time links

export const badLink = (): AppError =>
  new AppError('NOT_FOUND', 'This link was used, has expired, or is not whole. Ask for a new one.')

interface Linked {
  readonly linkId: number
  readonly person: Person
}

async function findLinked(app: App, purpose: people.LinkPurpose, token: string): Promise<Linked | null> {
  const link = isToken(token) ? await people.findLink(app.db, purpose, app.vault.hashesOf(token)) : null
  const person = link && (await people.findById(app.db, link.personId))
  return link === null || person === null ? null : { linkId: link.id, person }
}

/** For the page that a link opens. Looking uses nothing up: link previews look too. */
export async function findLinkedPerson(app: App, purpose: people.LinkPurpose, token: string): Promise<Person | null> {
  return (await findLinked(app, purpose, token))?.person ?? null
}

export async function signInWithLink(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  token: string,
): Promise<SignedIn> {
  const linked = await findLinked(app, 'sign_in', token)
  const signedIn =
    linked === null || !(await hasWorkspace(app, linked.person))
      ? null
      : await mutate(visitorContext(app, visitor, linked.person), async (unit) => {
          if (!(await people.useLink(unit.db, linked.linkId))) return null
          return await openSession(app, unit, visitor, linked.person, 'link')
        })
  return signedIn ?? (await refuse(refusals, visitor, { how: 'link' }, badLink()))
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

export async function hasPassword(ctx: Context): Promise<boolean> {
  const person = await people.findById(ctx.db, selfOf(ctx).id)
  return person !== null && person.passwordHash !== null
}

/**
 * Of the signed-in person themselves, who shows the password they have, if they have one: a session that was left
 * open must not be worth the account. Every other session ends, as does every link.
 */
export async function changePassword(
  ctx: Context,
  refusals: RefusalRecorder,
  input: { current: string; password: string },
): Promise<void> {
  const { actor } = ctx
  if (actor.kind !== 'person') throw new Error('a password is changed by the person, signed in')
  const password = parsePassword(input.password)
  const person = await people.findById(ctx.db, actor.person.id)
  if (person === null) throw new Error('a signed-in person is gone')
  if (person.passwordHash !== null && !(await verifyInTurn(input.current, person.passwordHash))) {
    await recordRefusal(refusals, ctx.request, { how: 'password change' }, actor)
    throw new AppError('UNAUTHENTICATED', 'The current password is not right.')
  }
  const passwordHash = await hashInTurn(password)
  await mutate(ctx, async (unit) => {
    await people.setPassword(unit.db, person.id, passwordHash)
    await people.voidLinks(unit.db, person.id)
    await sessions.endOthers(unit.db, person.id, actor.sessionId)
    unit.record('password_changed', { how: person.passwordHash === null ? 'first' : 'changed' }, 'account')
  })
}

/**
 * Says nothing: whether the address is known shows in the mailbox only. The caller must not make its answer wait for
 * this either, because writing takes longer than finding nobody.
 */
export async function requestPasswordReset(app: App, visitor: Visitor, email: string): Promise<void> {
  const person = await people.findByEmail(app.db, parseEmail(email))
  if (person === null || !(await maySetPassword(app, person))) return
  await sendPasswordReset(visitorContext(app, visitor, null), person)
}

/** Also somebody who is only invited (again): the invitation asks for the password that they may have forgotten. */
const maySetPassword = async (app: App, person: Person): Promise<boolean> =>
  (await hasWorkspace(app, person)) || (await people.findInvitationsOf(app.db, person.email)).length > 0

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

/**
 * Ends every session of the person: whoever knew the old password is out. Null instead of a session for somebody who
 * has a password now, and an invitation to use it for, but no workspace yet.
 */
export async function resetPassword(
  app: App,
  refusals: RefusalRecorder,
  visitor: Visitor,
  input: { token: string; password: string },
): Promise<SignedIn | null> {
  const metadata = { how: 'reset' }
  const linked = await findLinked(app, 'password_reset', input.token)
  if (linked === null || !(await maySetPassword(app, linked.person))) {
    return await refuse(refusals, visitor, metadata, badLink())
  }
  const { linkId, person } = linked
  const passwordHash = await hashInTurn(parsePassword(input.password))
  const within = await hasWorkspace(app, person)
  const done = await mutate(visitorContext(app, visitor, person), async (unit) => {
    if (!(await people.useLink(unit.db, linkId))) return null
    await people.setPassword(unit.db, person.id, passwordHash)
    await people.voidLinks(unit.db, person.id)
    await sessions.endAll(unit.db, person.id)
    unit.record('password_changed', metadata, 'account', actorOf(person))
    return { session: within ? await openSession(app, unit, visitor, person, 'reset') : null }
  })
  if (done === null) return await refuse(refusals, visitor, metadata, badLink())
  return done.session
}
