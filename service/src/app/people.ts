// What a signed-in person sees of themselves.
import type { AccountType } from '../domain/account-type.ts'
import type { WorkspaceRef } from '../domain/actor.ts'
import type { Capability } from '../domain/capability.ts'
import { notFound } from '../domain/errors.ts'
import * as people from '../store/people.ts'
import * as sessions from '../store/sessions.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { selfOf } from './context.ts'
import { heldIn } from './keys.ts'
import { mutate } from './mutate.ts'

export interface Me {
  readonly person: people.Person
  readonly workspaces: readonly {
    readonly workspace: WorkspaceRef
    readonly accountType: AccountType
    readonly capabilities: readonly Capability[]
  }[]
}

export async function me(ctx: Context): Promise<Me> {
  const { id, memberships } = selfOf(ctx)
  const person = await people.findById(ctx.db, id)
  if (person === null) throw new Error('a signed-in person is gone')
  const ids = memberships.map((one) => one.workspaceId)
  const mine = await workspaces.list(ctx.db, ids)
  return {
    person,
    workspaces: mine.flatMap((workspace) =>
      memberships
        .filter((one) => one.workspaceId === workspace.id)
        .map(({ accountType }) => ({ workspace, accountType, capabilities: heldIn(ctx.actor, workspace) })),
    ),
  }
}

export async function listSessions(ctx: Context): Promise<{ sessions: sessions.OpenSession[]; current: number }> {
  return {
    sessions: await sessions.list(ctx.db, selfOf(ctx).id),
    current: ctx.actor.kind === 'person' ? ctx.actor.sessionId : 0,
  }
}

export async function endSession(ctx: Context, id: number): Promise<void> {
  const { actor } = ctx
  const personId = selfOf(ctx).id
  await mutate(ctx, async (unit) => {
    if (!(await sessions.end(unit.db, id, personId))) throw notFound('No open session of yours with this id.')
    const own = actor.kind === 'person' && actor.sessionId === id
    unit.record(own ? 'signed_out' : 'session_ended', { session: id }, 'account')
  })
}
