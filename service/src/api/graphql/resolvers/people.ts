import type { Context } from '../../../app/context.ts'
import { endSession, listSessions, me } from '../../../app/people.ts'
import { CAPABILITY_LABELS } from '../../../domain/capability.ts'
import type { Me, MutationEndSessionArgs, Ok, Sessions } from '../wire-types.ts'

export const peopleResolvers = {
  async me(ctx: Context): Promise<Me> {
    const { person, workspaces } = await me(ctx)
    return {
      ok: true,
      uid: person.uid,
      email: person.email,
      name: person.name,
      workspaces: workspaces.map(({ workspace, accountType, capabilities }) => ({
        uid: workspace.uid,
        name: workspace.name,
        accountType,
        capabilities: capabilities.map((one) => CAPABILITY_LABELS[one]),
      })),
    }
  },
  async listSessions(ctx: Context): Promise<Sessions> {
    const { sessions, current } = await listSessions(ctx)
    return {
      ok: true,
      sessions: sessions.map((one) => ({
        id: one.id,
        current: one.id === current,
        address: one.address,
        userAgent: one.userAgent,
        createdDttm: one.createdAt,
        lastSeenDttm: one.lastSeenAt,
        expiresDttm: one.expiresAt,
      })),
    }
  },
  async endSession(ctx: Context, args: MutationEndSessionArgs): Promise<Ok> {
    await endSession(ctx, args.id)
    return { ok: true }
  },
}
