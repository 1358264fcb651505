// What a schedule names: its environment, the schedules that it defers to, and its parent. Everything is looked up when
// it is said, so that a schedule never refers to nothing.
import { matchEnvironment } from '../domain/environment.ts'
import { invalidInput } from '../domain/errors.ts'
import type { Deferral, ScheduleFields, ScheduleTrigger } from '../domain/schedule.ts'
import { quoted } from '../domain/text.ts'
import type { Db } from '../store/database.ts'
import type { Environment } from '../store/environments.ts'
import * as environments from '../store/environments.ts'
import type { ScheduleRef } from '../store/schedule-references.ts'
import * as references from '../store/schedule-references.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'

interface Enabled {
  readonly enabled: boolean
}

/** Whether the lock over all references is needed. Also for what was sent and is not parsed yet. */
export const addsReferences = (fields: {
  readonly turboCi?: Enabled | null | undefined
  readonly deferredSchedule?: Enabled | null | undefined
  readonly scheduleTrigger?: Enabled | null | undefined
}): boolean => [fields.turboCi, fields.deferredSchedule, fields.scheduleTrigger].some((one) => one?.enabled === true)

/** By slug, else by the name that people see. */
export async function findEnvironment(db: Db, workspaceId: number, text: string): Promise<Environment> {
  const all = (await environments.list(db, workspaceId)).filter((one) => one.type === 'scheduler')
  const found = matchEnvironment(all, text)
  if (found === null) {
    const known = all.map((one) => one.slug).join(', ') || 'none yet'
    throw invalidInput(
      `environment: no environment ${quoted(text)} for schedules in this workspace. There are: ${known}.`,
    )
  }
  return found
}

/** The same fields with every reference found, under `lockReferences` where one is enabled. */
export async function resolveReferences(
  ctx: Context,
  tx: Db,
  fields: ScheduleFields,
  self: { readonly id: number | null; readonly name: string },
): Promise<ScheduleFields> {
  const { turboCi, deferredSchedule, scheduleTrigger } = fields
  return {
    ...fields,
    ...(turboCi && { turboCi: await resolveDeferral(ctx, tx, turboCi, 'turboCi') }),
    ...(deferredSchedule && { deferredSchedule: await resolveDeferral(ctx, tx, deferredSchedule, 'deferredSchedule') }),
    ...(scheduleTrigger && { scheduleTrigger: await resolveTrigger(ctx, tx, scheduleTrigger, self) }),
  }
}

async function resolveDeferral(ctx: Context, tx: Db, deferral: Deferral, field: string): Promise<Deferral> {
  if (!deferral.enabled || deferral.slug === null) return deferral
  const found = await findOne(tx, workspaceOf(ctx).id, deferral.slug, `${field}.deferredScheduleSlug`)
  return { ...deferral, slug: found.slug }
}

async function resolveTrigger(
  ctx: Context,
  tx: Db,
  trigger: ScheduleTrigger,
  self: { readonly id: number | null; readonly name: string },
): Promise<ScheduleTrigger> {
  if (!trigger.enabled || trigger.scheduleName === null) return trigger
  const field = 'scheduleTrigger.scheduleName'
  const own = workspaceOf(ctx).id
  const workspaceId = trigger.workspaceName === null ? own : await findWorkspace(ctx, tx, trigger.workspaceName)
  // A new schedule is nobody's parent yet, so the only circle that it can close is the one with itself.
  const isSelf = self.id === null && workspaceId === own && trigger.scheduleName === self.name
  const known = isSelf ? await references.findByRef(tx, workspaceId, trigger.scheduleName) : null
  if (known?.length === 0) throw invalidInput(`${field}: a schedule cannot wait for itself. Name another schedule.`)
  const parent = await findOne(tx, workspaceId, trigger.scheduleName, field)
  if (self.id !== null) {
    const above = await references.listAncestors(tx, parent.id)
    if (above.some((one) => one.id === self.id)) {
      throw invalidInput(
        parent.id === self.id
          ? `${field}: a schedule cannot wait for itself. Name another schedule.`
          : `${field}: ${quoted(parent.name)} itself waits for this schedule, so neither would ever run. Name another schedule.`,
      )
    }
  }
  return { ...trigger, parentId: parent.id }
}

async function findWorkspace(ctx: Context, tx: Db, name: string): Promise<number> {
  const visible = await workspaces.list(tx, ctx.visible)
  const found = visible.find((one) => one.name.toLowerCase() === name.toLowerCase() || one.uid === name)
  if (found === undefined) {
    const known = visible.map((one) => quoted(one.name)).join(', ')
    throw invalidInput(
      `scheduleTrigger.workspaceName: no workspace ${quoted(name)} that you may use. There are: ${known}.`,
    )
  }
  return found.id
}

async function findOne(tx: Db, workspaceId: number, text: string, field: string): Promise<ScheduleRef> {
  const found = await references.findByRef(tx, workspaceId, text)
  if (found.length > 1) {
    const slugs = found.map((one) => one.slug).join(', ')
    throw invalidInput(
      `${field}: ${found.length} schedules are called ${quoted(text)}. Give the slug: one of ${slugs}.`,
    )
  }
  if (found[0] === undefined) {
    const some = (await references.someSlugs(tx, workspaceId, 10)).join(', ') || 'none yet'
    throw invalidInput(
      `${field}: no active schedule ${quoted(text)} there. Allowed: the slug or name of one, such as ${some}.`,
    )
  }
  return found[0]
}
