// Schedules that were made by hand, in the form of a file that takes them over.
import type { WritableSchedule } from '../domain/schedule-file-write.ts'
import type { Schedule } from '../store/schedules.ts'
import * as schedules from '../store/schedules.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

const ACTIVE = { inactive: 'exclude', suspended: null } as const
const MOST = 1_000_000

/** Active ones that no file made, by name. Values of variables stay where they are. */
export async function exportSchedules(ctx: Context): Promise<WritableSchedule[]> {
  const { id } = workspaceOf(ctx)
  const rows = await schedules.list(ctx.db, id, ACTIVE, { offset: 0, limit: MOST })
  const slugs = new Map(rows.map((row) => [row.id, row.slug]))
  return rows.filter((row) => row.source === 'ui').map((row) => writable(row, slugs))
}

function writable(row: Schedule, slugs: ReadonlyMap<number, string>): WritableSchedule {
  const {
    slug,
    ownBranch,
    envVarNames,
    turboCi,
    deferredSchedule,
    scheduleTrigger,
    selfHealing,
    integrations,
    ...rest
  } = row
  return {
    slug,
    parentSlug: slugs.get(scheduleTrigger?.parentId ?? 0) ?? null,
    hiddenVariables: envVarNames,
    fields: {
      ...rest,
      gitBranch: ownBranch,
      ...(turboCi && { turboCi }),
      ...(deferredSchedule && { deferredSchedule }),
      ...(scheduleTrigger && { scheduleTrigger }),
      ...(selfHealing && { selfHealing }),
      ...(integrations && { integrations }),
    },
  }
}
