import type { Context } from '../../../app/context.ts'
import * as environments from '../../../app/environments.ts'
import type { EnvironmentFields } from '../../../domain/environment.ts'
import { parseKind, parseType, presentEnvironments } from '../present/environment.ts'
import type {
  EnvironmentInput,
  EnvironmentSaved,
  Environments,
  MutationArchiveEnvironmentArgs,
  MutationCreateEnvironmentArgs,
  MutationDeleteSecretArgs,
  MutationDeleteVariableArgs,
  MutationSetSecretArgs,
  MutationSetVariableArgs,
  MutationUpdateEnvironmentArgs,
  Ok,
  QueryEnvironmentsArgs,
} from '../wire-types.ts'

/** Null is "not given", everywhere. */
function fieldsOf(input: EnvironmentInput): EnvironmentFields {
  return {
    displayName: input.displayName ?? undefined,
    type: input.type ? parseType(input.type) : undefined,
    isDefault: input.isDefault ?? undefined,
    repositoryUrl: input.repositoryUrl ?? undefined,
    defaultBranch: input.defaultBranch ?? undefined,
    deploymentBranch: input.deploymentBranch ?? undefined,
    installStep: input.installStep ?? undefined,
    pythonPackages: input.pythonPackages ?? undefined,
    excludedFiles: input.excludedFiles ?? undefined,
    workerLabels: input.workerLabels ?? undefined,
    stopSeconds: input.stopSeconds ?? undefined,
  }
}

export const environmentResolvers = {
  async environments(ctx: Context, args: QueryEnvironmentsArgs): Promise<Environments> {
    const type = args.environmentType ? parseType(args.environmentType) : null
    return presentEnvironments(await environments.listEnvironments(ctx, type))
  },
  async createEnvironment(ctx: Context, args: MutationCreateEnvironmentArgs): Promise<EnvironmentSaved> {
    const { slug } = await environments.createEnvironment(ctx, fieldsOf(args.environment))
    return { ok: true, slug }
  },
  async updateEnvironment(ctx: Context, args: MutationUpdateEnvironmentArgs): Promise<EnvironmentSaved> {
    const { slug } = await environments.updateEnvironment(ctx, args.slug, fieldsOf(args.environment))
    return { ok: true, slug }
  },
  async archiveEnvironment(ctx: Context, args: MutationArchiveEnvironmentArgs): Promise<Ok> {
    await environments.archiveEnvironment(ctx, args.slug)
    return { ok: true }
  },
  async setVariable(ctx: Context, args: MutationSetVariableArgs): Promise<Ok> {
    await environments.setVariable(ctx, { ...args, environment: args.environment ?? null })
    return { ok: true }
  },
  async deleteVariable(ctx: Context, args: MutationDeleteVariableArgs): Promise<Ok> {
    await environments.deleteVariable(ctx, { ...args, environment: args.environment ?? null })
    return { ok: true }
  },
  async setSecret(ctx: Context, args: MutationSetSecretArgs): Promise<Ok> {
    await environments.setSecret(ctx, { ...args, environment: args.environment ?? null, kind: parseKind(args.kind) })
    return { ok: true }
  },
  async deleteSecret(ctx: Context, args: MutationDeleteSecretArgs): Promise<Ok> {
    await environments.deleteSecret(ctx, { ...args, environment: args.environment ?? null, kind: parseKind(args.kind) })
    return { ok: true }
  },
}
