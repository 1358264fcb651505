import { invalidInput } from '../domain/errors.ts'
import type { Healing } from '../store/healing.ts'
import * as healing from '../store/healing.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

export type { Healing } from '../store/healing.ts'

const MOST = 1_000
const SOME = 100

/** Newest first. */
export async function listHealingRequests(ctx: Context, limit: number | null): Promise<readonly Healing[]> {
  const count = limit ?? SOME
  if (count < 1 || count > MOST) throw invalidInput(`limit: 1 to ${MOST}, not ${count}.`)
  return await healing.list(ctx.db, workspaceOf(ctx).id, count)
}
