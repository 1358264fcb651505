// From what files want to what changes: the plan of domain/schedule-file-plan.ts against the rows as they stand, and the
// writing of it. A file says all of a schedule: what it leaves out is the default again.
import { isDeepStrictEqual } from 'node:util'
import type { EnvVar } from '../domain/schedule.ts'
import { isReanchored, nextDue } from '../domain/schedule.ts'
import type { FileReading } from '../domain/schedule-file.ts'
import type { KnownSchedule } from '../domain/schedule-file-links.ts'
import type { FilesPlan, WantedSchedule } from '../domain/schedule-file-plan.ts'
import { planFiles } from '../domain/schedule-file-plan.ts'
import type { Db } from '../store/database.ts'
import * as due from '../store/due-schedules.ts'
import * as environments from '../store/environments.ts'
import * as people from '../store/people.ts'
import * as files from '../store/schedule-files.ts'
import * as variables from '../store/schedule-variables.ts'
import type { Schedule, ScheduleValues } from '../store/schedules.ts'
import * as schedules from '../store/schedules.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { actorName, cancelWaiting } from './runs.ts'
import { merged, newValues, recordUnfired, valuesOf } from './schedule-values.ts'

interface Written {
  readonly wanted: WantedSchedule
  readonly values: ScheduleValues
  readonly envVars: readonly EnvVar[]
}

export interface ScheduleChanges {
  readonly plan: FilesPlan
  readonly created: readonly Written[]
  /** Gone from its file, or deleted, and back under the same slug. */
  readonly restored: readonly (Written & { readonly old: Schedule })[]
  readonly changed: readonly (Written & { readonly old: Schedule; readonly fields: readonly string[] })[]
  readonly removed: readonly Schedule[]
  readonly unchanged: number
}

const EVERYTHING = { inactive: 'include', suspended: null } as const
const MOST = 1_000_000

/** Reads only. For a sync under `lockReferences` and `lockMany`. */
export async function findChanges(ctx: Context, db: Db, readings: readonly FileReading[]): Promise<ScheduleChanges> {
  const workspace = workspaceOf(ctx)
  const rows = await schedules.list(db, workspace.id, EVERYTHING, { offset: 0, limit: MOST })
  const values = await variables.openAllOf(db, ctx.vault, workspace.id)
  const places = await environments.list(db, workspace.id)
  const members = await people.listMembers(db, workspace.id)
  const outside = await files.listOutside(db, workspace.id, namedWorkspaces(readings))
  const plan = planFiles(readings, {
    workspace,
    known: rows.map(known),
    outside,
    environments: places.filter((one) => one.type === 'scheduler'),
    people: new Set(members.map((one) => one.email.toLowerCase())),
  })
  const bySlug = new Map(rows.map((row) => [row.slug, row]))
  const gone = new Set(plan.removed.map((one) => one.id))
  const changes = {
    plan,
    created: [] as Written[],
    restored: [] as (Written & { old: Schedule })[],
    changed: [] as (Written & { old: Schedule; fields: string[] })[],
    removed: rows.filter((row) => gone.has(row.id)),
    unchanged: 0,
  }
  for (const wanted of plan.wanted) {
    const written = writtenOf(wanted, bySlug)
    const old = bySlug.get(wanted.slug)
    if (old === undefined) changes.created.push(written)
    else if (!old.active) changes.restored.push({ ...written, old })
    else {
      const fields = differences(written, old, values.get(old.id) ?? [])
      if (fields.length === 0) changes.unchanged++
      else changes.changed.push({ ...written, old, fields })
    }
  }
  return changes
}

const namedWorkspaces = (readings: readonly FileReading[]): string[] => [
  ...new Set(
    readings.flatMap((one) => one.schedules).flatMap(({ fields }) => fields.scheduleTrigger?.workspaceName ?? []),
  ),
]

const known = (row: Schedule): KnownSchedule => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  source: row.source,
  sourceFile: row.sourceFile,
  active: row.active,
  defersTo: [row.turboCi, row.deferredSchedule].flatMap((one) => (one?.enabled && one.slug !== null ? [one.slug] : [])),
  parentId: row.scheduleTrigger?.enabled ? row.scheduleTrigger.parentId : null,
})

function writtenOf(wanted: WantedSchedule, bySlug: ReadonlyMap<string, Schedule>): Written {
  const { fields, environmentId, parent } = wanted
  const base = merged(newValues(fields, environmentId, ''), fields)
  const parentId =
    parent === null ? null : parent.kind === 'outside' ? parent.id : (bySlug.get(parent.slug)?.id ?? null)
  const scheduleTrigger = base.scheduleTrigger && { ...base.scheduleTrigger, parentId }
  return { wanted, values: { ...base, scheduleTrigger }, envVars: fields.envVars ?? [] }
}

function differences({ wanted, values, envVars }: Written, old: Schedule, oldVars: readonly EnvVar[]): string[] {
  const before = valuesOf(old)
  const fields = (Object.keys(values) as (keyof ScheduleValues)[]).filter(
    (field) => !isDeepStrictEqual(values[field], before[field]),
  )
  const sorted = envVars.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return [
    ...fields,
    ...(isDeepStrictEqual(sorted, oldVars) ? [] : ['envVars']),
    ...(old.sourceFile === wanted.file ? [] : ['sourceFile']),
    // A parent that is only made now.
    ...(wanted.parent?.kind === 'own' &&
    values.scheduleTrigger?.parentId === null &&
    !fields.includes('scheduleTrigger')
      ? ['scheduleTrigger']
      : []),
  ]
}

export async function applyChanges(ctx: Context, unit: Unit, changes: ScheduleChanges): Promise<void> {
  const { id: workspaceId } = workspaceOf(ctx)
  const now = await due.now(unit.db)
  const row = ({ wanted, values }: Written) => ({
    slug: wanted.slug,
    sourceFile: wanted.file,
    values,
    nextDueAt: nextDue(values, now),
  })
  const ids = await files.insertMany(unit.db, workspaceId, changes.created.map(row))
  const existing = [...changes.restored, ...changes.changed].map((one) => ({
    ...row(one),
    id: one.old.id,
    reanchored: !one.old.active || isReanchored(one.old, one.values),
    old: one.old,
  }))
  for (const one of existing) {
    if (one.reanchored && one.old.active)
      await recordUnfired(unit.db, one.old, now, 'The schedule was changed before this time ran.')
  }
  await files.updateMany(unit.db, workspaceId, existing)
  const written = [...changes.created, ...changes.restored, ...changes.changed]
  const idOf = new Map([...ids, ...existing.map((one) => [one.slug, one.id] as const)])
  const parents = written.flatMap(({ wanted }) => {
    const parentId = wanted.parent?.kind === 'own' ? ids.get(wanted.parent.slug) : undefined
    return parentId === undefined ? [] : [{ id: idOf.get(wanted.slug)!, parentId }]
  })
  await files.setParents(unit.db, workspaceId, parents)
  const vars = written.filter(({ wanted, envVars }) => envVars.length > 0 || !ids.has(wanted.slug))
  const byId = new Map(vars.map((one) => [idOf.get(one.wanted.slug)!, one.envVars]))
  await variables.replaceMany(unit.db, ctx.vault, workspaceId, byId)
  for (const gone of changes.removed) {
    await recordUnfired(unit.db, gone, now, 'The schedule was removed from its file before this time ran.')
    await schedules.remove(unit.db, gone.id)
    await cancelWaiting(unit, gone.id, actorName(ctx.actor).name)
  }
}
