import type { Invitation, Member } from '../../../app/users.ts'
import type { Users } from '../wire-types.ts'

export function presentUsers(active: readonly Member[], invited: readonly Invitation[]): Users {
  return {
    ok: true,
    activeUsers: active.map(({ uid, email, name, accountType }) => ({ uid, email, name, accountType })),
    invitedUsers: invited.map(({ email, accountType, expired }) => ({
      email,
      accountType,
      inviteStatus: expired ? 'EXPIRED' : 'ACTIVE',
    })),
  }
}
