// What a schedule holds, put together from what is said and what stands already, and the times that a change passes over.
import { skipDue } from '../domain/due.ts'
import type { ScheduleFields } from '../domain/schedule.ts'
import { NO_NOTIFICATIONS, timetableOf } from '../domain/schedule.ts'
import type { Db } from '../store/database.ts'
import * as due from '../store/due-schedules.ts'
import type { Schedule, ScheduleValues } from '../store/schedules.ts'

/** A schedule of which nothing is said but what must be. */
export const newValues = (
  fields: { readonly name: string; readonly cron: string },
  environmentId: number,
  ownerEmail: string,
): ScheduleValues => ({
  environmentId,
  name: fields.name,
  cron: fields.cron,
  timezone: 'UTC',
  description: '',
  ownerEmail,
  suspended: false,
  commands: [],
  ownBranch: null,
  continueOnError: false,
  slaSeconds: null,
  timeLimitSeconds: null,
  triggerOnMerge: false,
  notifications: NO_NOTIFICATIONS,
  selfHealing: null,
  integrations: null,
  turboCi: null,
  deferredSchedule: null,
  scheduleTrigger: null,
  labels: [],
  overlap: 'queue_one',
  catchUp: 'latest',
  catchUpWindowSeconds: 3600,
})

/** The same with what was said. */
export function merged(old: ScheduleValues, fields: ScheduleFields): ScheduleValues {
  const { environment: _, envVars: __, gitBranch, ...rest } = fields
  return { ...old, ...rest, ...(gitBranch === undefined ? {} : { ownBranch: gitBranch }) }
}

/** The part of a stored schedule that is written back; everything else on it is known from elsewhere. */
export function valuesOf(schedule: Schedule): ScheduleValues {
  const template = newValues(schedule, schedule.environmentId, schedule.ownerEmail)
  const own = Object.keys(template) as (keyof ScheduleValues)[]
  return Object.fromEntries(own.map((name) => [name, schedule[name]])) as unknown as ScheduleValues
}

/** Times that came but were not fired yet are recorded, not forgotten. Under the schedule's lock. */
export async function recordUnfired(tx: Db, schedule: Schedule, now: Date, detail: string): Promise<void> {
  if (schedule.nextDueAt === null) return
  const first = new Date(`${schedule.nextDueAt.replace(' ', 'T')}Z`)
  const timetable = first > now ? null : timetableOf(schedule)
  if (timetable === null) return
  const place = { ...schedule, branch: schedule.gitBranch }
  await due.insertSkips(tx, [{ schedule: place, skips: skipDue(timetable, first, now, detail) }])
}
