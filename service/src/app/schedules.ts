import type { Actor } from '../domain/actor.ts'
import { personOf } from '../domain/actor.ts'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import type { Notification } from '../domain/schedule.ts'
import {
  isReanchored,
  nextDue,
  ownerWarning,
  parseScheduleRef,
  refuseFromFile,
  timetableOf,
} from '../domain/schedule.ts'
import type { ScheduleInput } from '../domain/schedule-input.ts'
import { parseNewSchedule, parseScheduleInput, parseTiming } from '../domain/schedule-input.ts'
import { mintSlug } from '../domain/slug.ts'
import { parseName, quoted } from '../domain/text.ts'
import type { Db } from '../store/database.ts'
import * as due from '../store/due-schedules.ts'
import * as templates from '../store/message-templates.ts'
import * as references from '../store/schedule-references.ts'
import * as variables from '../store/schedule-variables.ts'
import type { Schedule, ScheduleFilter, ScheduleName, ScheduleValues } from '../store/schedules.ts'
import * as schedules from '../store/schedules.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'
import { actorName, cancelWaiting } from './runs.ts'
import { addsReferences, findEnvironment, resolveReferences } from './schedule-references.ts'
import { merged, newValues, recordUnfired, valuesOf } from './schedule-values.ts'

export type { ScheduleInput } from '../domain/schedule-input.ts'
export type { Schedule, ScheduleName } from '../store/schedules.ts'

/** `slug` and `scheduleName` mean the same; exactly one must be given. */
export interface ScheduleArgument {
  readonly slug?: string | null
  readonly scheduleName?: string | null
}

export interface ListedSchedule extends Schedule {
  readonly warnings: readonly string[]
  /** Of the message templates that its notifications name, as far as they are there, by slug. */
  readonly templateNames: ReadonlyMap<string, string>
}

const MOST_LISTED = 10_000

export async function listSchedules(
  ctx: Context,
  input: ScheduleFilter & { readonly offset: number; readonly limit: number },
): Promise<{ schedules: ListedSchedule[]; totalCount: number }> {
  const { id } = workspaceOf(ctx)
  const { offset, limit } = input
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
    throw invalidInput(`limit: from 1 to ${MOST_LISTED}, not ${limit}.`)
  if (!Number.isInteger(offset) || offset < 0) throw invalidInput(`offset: 0 or more, not ${offset}.`)
  const [listed, totalCount] = await Promise.all([
    schedules.list(ctx.db, id, input, { offset, limit }),
    schedules.count(ctx.db, id, input),
  ])
  return { schedules: await withTold(ctx, listed), totalCount }
}

export async function listAllScheduleNames(ctx: Context): Promise<ScheduleName[]> {
  return await schedules.listNames(ctx.db, ctx.visible)
}

/** One schedule with everything in it; deleted ones are told apart by `active`. */
export async function getSchedule(ctx: Context, input: ScheduleArgument): Promise<ListedSchedule> {
  const slug = parseScheduleRef(input)
  const found = await schedules.find(ctx.db, workspaceOf(ctx).id, slug, 'any')
  if (found === null) throw noSuchSchedule(slug)
  return (await withTold(ctx, [found]))[0]!
}

export async function getScheduleSummary(ctx: Context, input: ScheduleArgument): Promise<ListedSchedule> {
  const slug = parseScheduleRef(input)
  const found = await schedules.find(ctx.db, workspaceOf(ctx).id, slug)
  if (found === null) throw noSuchSchedule(slug)
  return (await withTold(ctx, [found]))[0]!
}

const noSuchSchedule = (slug: string) =>
  notFound(`No schedule ${quoted(slug)} in this workspace. listBoltSchedules shows them.`)

const warningsOf = (schedule: Schedule): string[] => (schedule.ownerIsKnown ? [] : [ownerWarning(schedule.ownerEmail)])

async function withTold(ctx: Context, listed: readonly Schedule[]): Promise<ListedSchedule[]> {
  const slugs = new Set(
    listed.flatMap(({ notifications: { slack, email, teams } }) => templateSlugs(slack, email, teams)),
  )
  const templateNames = await templates.namesOf(ctx.db, workspaceOf(ctx).id, [...slugs])
  return listed.map((schedule) => ({ ...schedule, warnings: warningsOf(schedule), templateNames }))
}

const templateSlugs = (...entries: readonly (readonly Notification[])[]): string[] =>
  entries.flat().flatMap((one) => (one.templateSlug === null ? [] : [one.templateSlug]))

export interface SavedSchedule {
  readonly slug: string
  readonly name: string
  readonly warnings: readonly string[]
}

// Six hex digits behind the same 24 characters: the second try is rare, the tenth never comes.
const MOST_MINTS = 10

export async function createSchedule(ctx: Context, input: ScheduleInput): Promise<SavedSchedule> {
  const workspace = workspaceOf(ctx)
  const fields = parseNewSchedule(input)
  return await mutate(ctx, async (unit) => {
    if (addsReferences(fields)) await references.lockReferences(unit.db)
    const environment = await findEnvironment(unit.db, workspace.id, fields.environment)
    const resolved = await resolveReferences(ctx, unit.db, fields, { id: null, name: fields.name })
    const values = merged(newValues(fields, environment.id, ownerOf(ctx.actor)), resolved)
    const nextDueAt = nextDue(values, await due.now(unit.db))
    const { id, slug } = await insertMinted(unit.db, workspace.id, values, nextDueAt)
    if (fields.envVars !== undefined) {
      const place = { workspaceId: workspace.id, scheduleId: id }
      await variables.replaceAll(unit.db, ctx.vault, place, fields.envVars)
    }
    unit.record('schedule_created', { slug, name: values.name })
    return await saved(unit.db, workspace.id, slug)
  })
}

async function saved(db: Db, workspaceId: number, slug: string): Promise<SavedSchedule> {
  const schedule = (await schedules.find(db, workspaceId, slug))!
  return { slug, name: schedule.name, warnings: warningsOf(schedule) }
}

async function insertMinted(
  tx: Db,
  workspaceId: number,
  values: ScheduleValues,
  nextDueAt: Date | null,
): Promise<{ id: number; slug: string }> {
  for (let tries = 0; tries < MOST_MINTS; tries++) {
    const slug = mintSlug(values.name)
    const id = await schedules.insert(tx, { workspaceId, slug, nextDueAt }, values)
    if (id !== null) return { id, slug }
  }
  throw new Error('every minted slug was taken')
}

/** The person behind the key or session, else the key's maker. */
function ownerOf(actor: Actor): string {
  const person = personOf(actor)
  if (person !== null) return person.email
  return actor.kind === 'key' ? actor.key.makerEmail : ''
}

/** Only what is given changes. A change of when it fires holds from now on: no earlier time fires because of it. */
export async function updateSchedule(
  ctx: Context,
  input: ScheduleArgument & { readonly schedule: ScheduleInput },
): Promise<SavedSchedule> {
  const workspace = workspaceOf(ctx)
  const slug = parseScheduleRef(input)
  return await mutate(ctx, async (unit) => {
    if (addsReferences(input.schedule)) await references.lockReferences(unit.db)
    const old = await schedules.lock(unit.db, workspace.id, slug)
    if (old === null) throw noSuchSchedule(slug)
    refuseFromFile(old, 'changed')
    const fields = parseScheduleInput(input.schedule, old)
    const environmentId =
      fields.environment === undefined
        ? old.environmentId
        : (await findEnvironment(unit.db, workspace.id, fields.environment)).id
    const resolved = await resolveReferences(ctx, unit.db, fields, old)
    const values = merged({ ...valuesOf(old), environmentId }, resolved)
    const now = await due.now(unit.db)
    const reanchored = isReanchored(old, values)
    if (reanchored) await recordUnfired(unit.db, old, now, 'The schedule was changed before this time ran.')
    await schedules.update(unit.db, old.id, values, reanchored ? nextDue(values, now) : undefined)
    if (fields.envVars !== undefined) {
      const place = { workspaceId: workspace.id, scheduleId: old.id }
      await variables.replaceAll(unit.db, ctx.vault, place, fields.envVars)
    }
    unit.record('schedule_updated', { slug, name: values.name, fields: Object.keys(fields) })
    return await saved(unit.db, workspace.id, slug)
  })
}

/** The slugs that such names would get, in their order. Nothing is reserved; asked again under one key, the same again. */
export async function createScheduleSlugs(
  ctx: Context,
  input: { readonly displayNames: readonly string[] },
): Promise<string[]> {
  const { displayNames } = input
  if (displayNames.length > 1000) throw invalidInput(`displayNames: at most 1000, not ${displayNames.length}.`)
  const names = displayNames.map((name, index) => parseName(name, `displayNames[${index}]`))
  return await mutate(ctx, async () => {
    const minted = new Set<string>()
    for (const name of names) {
      let slug = mintSlug(name)
      while (minted.has(slug)) slug = mintSlug(name)
      minted.add(slug)
    }
    return [...minted]
  })
}

/** A schedule that is what was asked for already is left as it is. */
export async function suspendSchedule(
  ctx: Context,
  input: ScheduleArgument & { readonly suspend: boolean },
): Promise<void> {
  const workspace = workspaceOf(ctx)
  const slug = parseScheduleRef(input)
  const { suspend } = input
  await mutate(ctx, async (unit) => {
    const schedule = await schedules.lock(unit.db, workspace.id, slug)
    if (schedule === null) throw noSuchSchedule(slug)
    refuseFromFile(schedule, suspend ? 'suspended' : 'resumed')
    if (schedule.suspended === suspend) return
    const now = await due.now(unit.db)
    if (suspend) await recordUnfired(unit.db, schedule, now, 'The schedule was suspended before this time ran.')
    await schedules.suspend(unit.db, schedule.id, suspend, nextDue({ ...schedule, suspended: suspend }, now))
    unit.record(suspend ? 'schedule_suspended' : 'schedule_resumed', { slug, name: schedule.name })
  })
}

/** A going run ends by itself, what waits is canceled; the history stays readable. */
export async function deleteSchedule(ctx: Context, input: ScheduleArgument): Promise<void> {
  const workspace = workspaceOf(ctx)
  const slug = parseScheduleRef(input)
  await mutate(ctx, async (unit) => {
    await references.lockReferences(unit.db)
    const schedule = await schedules.lock(unit.db, workspace.id, slug)
    if (schedule === null) throw noSuchSchedule(slug)
    refuseFromFile(schedule, 'deleted')
    const referrers = await references.listReferrers(unit.db, schedule)
    if (referrers.length > 0) throw conflict(stillReferred(ctx, schedule, referrers))
    await recordUnfired(unit.db, schedule, await due.now(unit.db), 'The schedule was deleted before this time ran.')
    await schedules.remove(unit.db, schedule.id)
    const canceled = await cancelWaiting(unit, schedule.id, actorName(ctx.actor).name)
    unit.record('schedule_deleted', { slug, name: schedule.name, canceled_runs: canceled })
  })
}

function stillReferred(ctx: Context, schedule: Schedule, referrers: readonly references.Referrer[]): string {
  const own = workspaceOf(ctx).id
  const seen = (one: references.Referrer) => ctx.visible === 'all' || ctx.visible.includes(one.workspaceId)
  const named = referrers.filter(seen).map((one) => {
    const place = one.workspaceId === own ? '' : ` of the workspace ${one.workspaceName}`
    return `${quoted(one.name)}${place} (${one.how === 'waits' ? 'waits for it' : 'defers to it'})`
  })
  const hidden = referrers.length - named.length
  if (hidden > 0) named.push(`${hidden} of workspaces that you do not see`)
  return `${quoted(schedule.name)} is still needed by ${named.join(', ')}. Change or delete these first.`
}

const MOST_TIMES = 20

/** For any expression and zone, saved or not. Empty for OFF. */
export async function nextFireTimes(
  ctx: Context,
  input: { readonly schedule: string; readonly timezone?: string | null; readonly count?: number | null },
): Promise<Date[]> {
  const count = input.count ?? 5
  if (!Number.isInteger(count) || count < 1 || count > MOST_TIMES)
    throw invalidInput(`count: from 1 to ${MOST_TIMES}, not ${count}.`)
  const timetable = timetableOf(parseTiming(input.schedule, input.timezone ?? 'UTC'))
  if (timetable === null) return []
  const times: Date[] = []
  for (let at = timetable.next(await due.now(ctx.db)); at !== null && times.length < count; at = timetable.next(at))
    times.push(at)
  return times
}
