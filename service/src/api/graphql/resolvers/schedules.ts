import type { Context } from '../../../app/context.ts'
import * as schedules from '../../../app/schedules.ts'
import { parseShowInactive } from '../present/client.ts'
import { presentSchedule, presentSummary, presentTime } from '../present/schedule.ts'
import type {
  AllScheduleNames,
  BoltScheduleDetail,
  BoltScheduleSummary,
  BoltSchedules,
  CreateBoltSchedule,
  MutationCreateBoltScheduleArgs,
  MutationCreateScheduleSlugsArgs,
  MutationDeleteBoltScheduleArgs,
  MutationSuspendBoltScheduleArgs,
  MutationUpdateBoltScheduleArgs,
  NextFireTimes,
  Ok,
  QueryBoltScheduleArgs,
  QueryBoltScheduleNameArgs,
  QueryListBoltSchedulesArgs,
  QueryNextFireTimesArgs,
  ScheduleSlugs,
  UpdateBoltSchedule,
} from '../wire-types.ts'

export const scheduleResolvers = {
  async listBoltSchedules(ctx: Context, args: QueryListBoltSchedulesArgs): Promise<BoltSchedules> {
    const listed = await schedules.listSchedules(ctx, {
      offset: args.offset,
      limit: args.limit,
      inactive: parseShowInactive(ctx.actor, args.showInactive),
      suspended: args.filter?.suspended ?? null,
    })
    return { schedules: listed.schedules.map(presentSchedule), totalCount: listed.totalCount }
  },
  async listAllScheduleNames(ctx: Context): Promise<AllScheduleNames> {
    return { ok: true, schedules: await schedules.listAllScheduleNames(ctx) }
  },
  async boltScheduleName(ctx: Context, args: QueryBoltScheduleNameArgs): Promise<BoltScheduleSummary> {
    return presentSummary(await schedules.getScheduleSummary(ctx, args))
  },
  async boltSchedule(ctx: Context, args: QueryBoltScheduleArgs): Promise<BoltScheduleDetail> {
    return { ok: true, schedule: presentSchedule(await schedules.getSchedule(ctx, args)) }
  },
  async nextFireTimes(ctx: Context, args: QueryNextFireTimesArgs): Promise<NextFireTimes> {
    return { ok: true, times: (await schedules.nextFireTimes(ctx, args)).map(presentTime) }
  },
  async createBoltSchedule(ctx: Context, args: MutationCreateBoltScheduleArgs): Promise<CreateBoltSchedule> {
    const { slug, name } = await schedules.createSchedule(ctx, args.schedule)
    return { ok: true, slug, name }
  },
  async updateBoltSchedule(ctx: Context, args: MutationUpdateBoltScheduleArgs): Promise<UpdateBoltSchedule> {
    const { slug, name } = await schedules.updateSchedule(ctx, args)
    return { ok: true, slug, name }
  },
  async createScheduleSlugs(ctx: Context, args: MutationCreateScheduleSlugsArgs): Promise<ScheduleSlugs> {
    return { ok: true, slugs: await schedules.createScheduleSlugs(ctx, args) }
  },
  async deleteBoltSchedule(ctx: Context, args: MutationDeleteBoltScheduleArgs): Promise<Ok> {
    await schedules.deleteSchedule(ctx, args)
    return { ok: true }
  },
  async suspendBoltSchedule(ctx: Context, args: MutationSuspendBoltScheduleArgs): Promise<Ok> {
    await schedules.suspendSchedule(ctx, { ...args, suspend: args.suspend ?? true })
    return { ok: true }
  },
}
