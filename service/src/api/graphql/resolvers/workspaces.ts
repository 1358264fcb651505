import type { Context } from '../../../app/context.ts'
import * as workspaces from '../../../app/workspaces.ts'
import { presentFeatures, presentWorkspace } from '../present/workspace.ts'
import type {
  CreatedWorkspace,
  Features,
  MutationCreateWorkspaceArgs,
  MutationRenameWorkspaceArgs,
  MutationSetAccountFeatureArgs,
  MutationSetWorkspaceFeatureArgs,
  Ok,
  Workspaces,
} from '../wire-types.ts'

export const workspaceResolvers = {
  async listWorkspaces(ctx: Context): Promise<Workspaces> {
    const list = await workspaces.listWorkspaces(ctx)
    return { ok: true, workspaces: list.map(presentWorkspace) }
  },
  async createWorkspace(ctx: Context, args: MutationCreateWorkspaceArgs): Promise<CreatedWorkspace> {
    const workspace = await workspaces.createWorkspace(ctx, args)
    return { ok: true, workspace: presentWorkspace(workspace) }
  },
  async renameWorkspace(ctx: Context, args: MutationRenameWorkspaceArgs): Promise<Ok> {
    await workspaces.renameWorkspace(ctx, args)
    return { ok: true }
  },
  async archiveWorkspace(ctx: Context): Promise<Ok> {
    await workspaces.archiveWorkspace(ctx)
    return { ok: true }
  },
  async features(ctx: Context): Promise<Features> {
    return presentFeatures(await workspaces.features(ctx))
  },
  async setAccountFeature(ctx: Context, args: MutationSetAccountFeatureArgs): Promise<Ok> {
    await workspaces.setAccountFeature(ctx, args)
    return { ok: true }
  },
  async setWorkspaceFeature(ctx: Context, args: MutationSetWorkspaceFeatureArgs): Promise<Ok> {
    await workspaces.setWorkspaceFeature(ctx, args)
    return { ok: true }
  },
}
