import type { Context } from '../../../app/context.ts'
import * as sync from '../../../app/schedule-sync.ts'
import { presentTime } from '../present/schedule.ts'
import { presentScheduleFiles } from '../present/schedule-files.ts'
import type { BoltScheduleFiles, SyncBoltScheduleFiles } from '../wire-types.ts'

export const scheduleFileResolvers = {
  async boltScheduleFiles(ctx: Context): Promise<BoltScheduleFiles> {
    return presentScheduleFiles(await sync.getScheduleFiles(ctx))
  },
  async syncBoltScheduleFiles(ctx: Context): Promise<SyncBoltScheduleFiles> {
    const { requestedAt } = await sync.requestScheduleSync(ctx)
    return { ok: true, requestedAt: presentTime(new Date(requestedAt)) }
  },
}
