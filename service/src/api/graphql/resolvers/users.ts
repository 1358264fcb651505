import type { Context } from '../../../app/context.ts'
import * as users from '../../../app/users.ts'
import { presentUsers } from '../present/user.ts'
import type {
  MutationDisableUserArgs,
  MutationInviteUserArgs,
  MutationUpdateUserAccountTypeArgs,
  Ok,
  Users,
} from '../wire-types.ts'

export const userResolvers = {
  async listUsers(ctx: Context): Promise<Users> {
    const { active, invited } = await users.listUsers(ctx)
    return presentUsers(active, invited)
  },
  async inviteUser(ctx: Context, args: MutationInviteUserArgs): Promise<Ok> {
    await users.inviteUser(ctx, args)
    return { ok: true }
  },
  async updateUserAccountType(ctx: Context, args: MutationUpdateUserAccountTypeArgs): Promise<Ok> {
    await users.updateUserAccountType(ctx, args)
    return { ok: true }
  },
  async disableUser(ctx: Context, args: MutationDisableUserArgs): Promise<Ok> {
    await users.disableUser(ctx, args)
    return { ok: true }
  },
}
