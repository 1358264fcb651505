import type { AccountType } from '../domain/account-type.ts'
import { ADMINISTRATORS, RIGHTS } from '../domain/account-type.ts'
import type { Actor } from '../domain/actor.ts'
import { personOf } from '../domain/actor.ts'
import { conflict, forbidden, notFound } from '../domain/errors.ts'
import { newSecret } from '../domain/ids.ts'
import { formatToken } from '../domain/key.ts'
import { parseEmail } from '../domain/text.ts'
import type { Invitation, Member } from '../store/people.ts'
import * as people from '../store/people.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { queueMail } from './mail.ts'
import { mutate } from './mutate.ts'

export type { Invitation, Member } from '../store/people.ts'

export const INVITATION_DAYS = 7

export async function listUsers(ctx: Context): Promise<{ active: Member[]; invited: Invitation[] }> {
  const { id } = workspaceOf(ctx)
  const [active, invited] = await Promise.all([people.listMembers(ctx.db, id), people.listInvitations(ctx.db, id)])
  return { active, invited }
}

/** Which account types the caller may give and take in the workspace. A key with the capability gives any. */
function grantable(actor: Actor, members: readonly Member[]): readonly AccountType[] {
  const person = personOf(actor)
  if (person === null) return RIGHTS.ADMIN.grants
  const own = members.find((one) => one.id === person.id)
  return own === undefined ? [] : RIGHTS[own.accountType].grants
}

function requireGrant(allowed: readonly AccountType[], type: AccountType): void {
  if (allowed.includes(type)) return
  const may = allowed.length === 0 ? 'none' : allowed.join(', ')
  throw forbidden(`Your role does not let you give or take the account type ${type}. You may: ${may}.`)
}

/** The link is given back for the command line, which shows it; the API never does. */
export async function inviteUser(
  ctx: Context,
  input: { email: string; accountType: AccountType },
): Promise<{ link: string }> {
  const workspace = workspaceOf(ctx)
  const email = parseEmail(input.email)
  return await mutate(ctx, async (unit) => {
    const members = await people.lockMembers(unit.db, workspace.id)
    const allowed = grantable(ctx.actor, members)
    requireGrant(allowed, input.accountType)
    if (members.some((one) => one.email.toLowerCase() === email.toLowerCase())) {
      throw conflict(
        `${email} is an active user of this workspace already. Use updateUserAccountType to change the role.`,
      )
    }
    const open = (await people.listInvitations(unit.db, workspace.id)).find(
      (one) => one.email.toLowerCase() === email.toLowerCase(),
    )
    if (open !== undefined) requireGrant(allowed, open.accountType)
    const token = formatToken(newSecret())
    const link = `${ctx.settings.publicUrl}/invitation/${token}`
    await people.invite(unit.db, {
      workspaceId: workspace.id,
      email,
      accountType: input.accountType,
      tokenHash: ctx.vault.hashSecret(token),
      days: INVITATION_DAYS,
    })
    await queueMail(ctx, unit.db, {
      to: email,
      subject: `Invitation to ${workspace.name} on Yardmaster`,
      text:
        `You are invited to the workspace ${workspace.name} as ${input.accountType}.\n\n` +
        `Open this link to accept; it works once, for ${INVITATION_DAYS} days:\n\n${link}\n`,
    })
    unit.record('user_invited', { email, account_type: input.accountType, renewed: open !== undefined })
    return { link }
  })
}

function findMember(members: readonly Member[], uid: string): Member {
  const member = members.find((one) => one.uid === uid)
  if (member === undefined) throw notFound('No active user with this uid in the workspace. listUsers shows them.')
  return member
}

function requireAnAdministratorLeft(members: readonly Member[], leaving: Member): void {
  const others = members.filter((one) => one.id !== leaving.id && ADMINISTRATORS.includes(one.accountType))
  if (others.length === 0) {
    throw conflict(
      `${leaving.email} is the last administrator of this workspace: make another user ${ADMINISTRATORS.join(' or ')} first.`,
    )
  }
}

export async function updateUserAccountType(
  ctx: Context,
  input: { uid: string; accountType: AccountType },
): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const members = await people.lockMembers(unit.db, workspace.id)
    const member = findMember(members, input.uid)
    const allowed = grantable(ctx.actor, members)
    requireGrant(allowed, member.accountType)
    requireGrant(allowed, input.accountType)
    if (ADMINISTRATORS.includes(member.accountType) && !ADMINISTRATORS.includes(input.accountType)) {
      requireAnAdministratorLeft(members, member)
    }
    if (member.accountType === input.accountType) return
    await people.setAccountType(unit.db, workspace.id, member.id, input.accountType)
    unit.record('user_account_type_updated', {
      uid: member.uid,
      email: member.email,
      from: member.accountType,
      to: input.accountType,
    })
  })
}

/** Out of this workspace only. What they hold here ends with the membership: roles are read on every request. */
export async function disableUser(ctx: Context, input: { uid: string }): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const members = await people.lockMembers(unit.db, workspace.id)
    const member = findMember(members, input.uid)
    requireGrant(grantable(ctx.actor, members), member.accountType)
    if (ADMINISTRATORS.includes(member.accountType)) requireAnAdministratorLeft(members, member)
    await people.disable(unit.db, workspace.id, member.id)
    await people.revokeInvitations(unit.db, workspace.id, member.email)
    unit.record('user_disabled', { uid: member.uid, email: member.email, account_type: member.accountType })
  })
}
