import type { WorkspaceRef } from '../domain/actor.ts'
import { personOf } from '../domain/actor.ts'
import { conflict, invalidInput } from '../domain/errors.ts'
import type { AccountSwitches } from '../domain/feature.ts'
import { ACCOUNT_FEATURES, isAccountFeature, WORKSPACE_FEATURES } from '../domain/feature.ts'
import { newUid } from '../domain/ids.ts'
import { parseName } from '../domain/text.ts'
import * as accounts from '../store/accounts.ts'
import * as people from '../store/people.ts'
import * as workspaces from '../store/workspaces.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'

export async function listWorkspaces(ctx: Context): Promise<WorkspaceRef[]> {
  return await workspaces.list(ctx.db, ctx.visible)
}

/** A person who creates a workspace is its first administrator; a key's workspace has none until one is invited. */
export async function createWorkspace(ctx: Context, input: { name: string }): Promise<WorkspaceRef> {
  const name = parseName(input.name)
  return await mutate(ctx, async (unit) => {
    if (await workspaces.nameIsTaken(unit.db, name, null)) throw taken(name)
    const workspace = await workspaces.insert(unit.db, { uid: newUid(), name })
    const person = personOf(ctx.actor)
    if (person !== null) await people.join(unit.db, workspace.id, person.id, 'ADMIN')
    unit.record('workspace_created', { uid: workspace.uid, name }, workspace)
    return workspace
  })
}

const taken = (name: string) => conflict(`name: there is a workspace "${name}" already.`)

export async function renameWorkspace(ctx: Context, input: { name: string }): Promise<void> {
  const workspace = workspaceOf(ctx)
  const name = parseName(input.name)
  await mutate(ctx, async (unit) => {
    if (await workspaces.nameIsTaken(unit.db, name, workspace.id)) throw taken(name)
    await workspaces.rename(unit.db, workspace.id, name)
    unit.record('workspace_renamed', { from: workspace.name, to: name }, { id: workspace.id, name })
  })
}

export async function archiveWorkspace(ctx: Context): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const active = await workspaces.lockActive(unit.db)
    if (active.length <= 1) throw conflict('This is the last workspace of the account: create another one first.')
    if (!active.includes(workspace.id)) return
    await workspaces.archive(unit.db, workspace.id)
    unit.record('workspace_archived', { uid: workspace.uid })
  })
}

export interface Features {
  readonly account: AccountSwitches
  readonly workspaces: readonly WorkspaceRef[]
}

export async function features(ctx: Context): Promise<Features> {
  const account = await accounts.find(ctx.db)
  if (account === null) throw new Error('features were asked for before set-up')
  return { account: account.switches, workspaces: await workspaces.list(ctx.db, ctx.visible) }
}

export async function setAccountFeature(ctx: Context, input: { feature: string; enabled: boolean }): Promise<void> {
  const { feature, enabled } = input
  if (!isAccountFeature(feature)) {
    throw invalidInput(`feature: one of ${Object.keys(ACCOUNT_FEATURES).join(', ')}.`)
  }
  await mutate(ctx, async (unit) => {
    await accounts.setFeature(unit.db, feature, enabled)
    unit.record('account_feature_switched', { feature, enabled }, 'account')
  })
}

export async function setWorkspaceFeature(ctx: Context, input: { feature: string; enabled: boolean }): Promise<void> {
  const workspace = workspaceOf(ctx)
  const { feature, enabled } = input
  if (!Object.hasOwn(WORKSPACE_FEATURES, feature)) {
    throw invalidInput(`feature: one of ${Object.keys(WORKSPACE_FEATURES).join(', ')}.`)
  }
  await mutate(ctx, async (unit) => {
    await workspaces.setAgents(unit.db, workspace.id, enabled)
    unit.record('workspace_feature_switched', { feature, enabled })
  })
}
