import type { EnvironmentFields, EnvironmentType, SecretKind } from '../domain/environment.ts'
import {
  environmentSlug,
  parseFields,
  parseRepositoryUrl,
  parseSecret,
  parseValue,
  parseVariableName,
} from '../domain/environment.ts'
import { conflict, invalidInput, notFound } from '../domain/errors.ts'
import { quoted } from '../domain/text.ts'
import type { Db } from '../store/database.ts'
import type { Environment, ScopedVariable } from '../store/environments.ts'
import * as environments from '../store/environments.ts'
import * as integrations from '../store/integrations.ts'
import * as mcpServers from '../store/mcp-servers.ts'
import * as modelFamilies from '../store/model-families.ts'
import * as nodes from '../store/nodes.ts'
import * as scheduleVariables from '../store/schedule-variables.ts'
import type { SecretName } from '../store/secrets.ts'
import * as secrets from '../store/secrets.ts'
import * as webhooks from '../store/webhooks.ts'
import type { Context } from './context.ts'
import { workspaceOf } from './context.ts'
import type { Unit } from './mutate.ts'
import { mutate } from './mutate.ts'

export interface ListedEnvironment extends Environment {
  readonly variables: readonly ScopedVariable[]
  readonly secrets: readonly SecretName[]
}

export interface EnvironmentList {
  readonly environments: readonly ListedEnvironment[]
  readonly variables: readonly ScopedVariable[]
  readonly secrets: readonly SecretName[]
}

/** Without an agent environment the default scheduler one serves agents, so it is what asking for that type shows. */
export async function listEnvironments(ctx: Context, type: EnvironmentType | null): Promise<EnvironmentList> {
  const { id } = workspaceOf(ctx)
  const [all, variables, names] = await Promise.all([
    environments.list(ctx.db, id),
    environments.listVariables(ctx.db, id),
    secrets.listNames(ctx.db, id),
  ])
  const ofType = type === null ? all : all.filter((one) => one.type === type)
  const serving = all.filter((one) => one.type === 'scheduler' && one.isDefault)
  const shown = type === 'agent' && !ofType.some((one) => one.isDefault) ? [...ofType, ...serving] : ofType
  return {
    environments: shown.map((one) => ({
      ...one,
      variables: variables.filter((variable) => variable.environmentId === one.id),
      secrets: names.filter((secret) => secret.environmentId === one.id),
    })),
    variables: variables.filter((one) => one.environmentId === null),
    secrets: names.filter((one) => one.environmentId === null),
  }
}

function find(all: readonly Environment[], slug: string): Environment {
  const environment = all.find((one) => one.slug === slug)
  if (environment === undefined) {
    const known = all.map((one) => one.slug).join(', ') || 'none yet'
    throw notFound(`No environment ${quoted(slug)} in this workspace. There are: ${known}.`)
  }
  return environment
}

/** The first environment of a type is its default, whatever was asked. */
export async function createEnvironment(ctx: Context, input: EnvironmentFields): Promise<{ slug: string }> {
  const workspace = workspaceOf(ctx)
  const fields = parseFields(input)
  const { displayName, type = 'scheduler' } = fields
  if (displayName === undefined) throw invalidInput('displayName: needed for a new environment.')
  return await mutate(ctx, async (unit) => {
    const all = await environments.lock(unit.db, workspace.id)
    const slug = environmentSlug(displayName, new Set(all.map((one) => one.slug)))
    const id = await environments.insert(unit.db, workspace.id, { slug, displayName, type })
    const credentials = await save(ctx, unit, id, fields)
    if (fields.isDefault === true || !all.some((one) => one.type === type && one.isDefault)) {
      await environments.makeDefault(unit.db, workspace.id, id, type)
    }
    unit.record('environment_created', { slug, type, ...(credentials.length > 0 && { credentials }) })
    return { slug }
  })
}

export async function updateEnvironment(
  ctx: Context,
  slug: string,
  input: EnvironmentFields,
): Promise<{ slug: string }> {
  const workspace = workspaceOf(ctx)
  const fields = parseFields(input)
  return await mutate(ctx, async (unit) => {
    const all = await environments.lock(unit.db, workspace.id)
    const environment = find(all, slug)
    if (fields.type !== undefined && fields.type !== environment.type) {
      throw invalidInput('type: an environment keeps its type. Create another one.')
    }
    if (fields.isDefault === false && environment.isDefault) {
      throw conflict('isDefault: make another environment of the type the default instead.')
    }
    const credentials = await save(ctx, unit, environment.id, fields)
    if (fields.isDefault === true) {
      await environments.makeDefault(unit.db, workspace.id, environment.id, environment.type)
    }
    const changed = Object.keys(input).filter((key) => input[key as keyof EnvironmentFields] !== undefined)
    unit.record('environment_updated', { slug, fields: changed, ...(credentials.length > 0 && { credentials }) })
    return { slug }
  })
}

/** Credentials in the repository's address go where secrets go; the address keeps none. Gives the names of those. */
async function save(ctx: Context, unit: Unit, environmentId: number, fields: EnvironmentFields): Promise<string[]> {
  const workspace = workspaceOf(ctx)
  if (fields.repositoryUrl === undefined) {
    await environments.update(unit.db, workspace.id, environmentId, fields)
    return []
  }
  const { url, credentials } = parseRepositoryUrl(fields.repositoryUrl)
  await environments.update(unit.db, workspace.id, environmentId, { ...fields, repositoryUrl: url })
  for (const [name, value] of Object.entries(credentials)) {
    const place = { workspaceId: workspace.id, environmentId, kind: 'credential', name } as const
    await secrets.set(unit.db, ctx.vault, place, value)
  }
  return Object.keys(credentials)
}

export async function archiveEnvironment(ctx: Context, slug: string): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const all = await environments.lock(unit.db, workspace.id)
    const environment = find(all, slug)
    const others = all.filter((one) => one.type === environment.type && one.id !== environment.id)
    if (environment.isDefault && others.length > 0) {
      throw conflict(`"${slug}" is the default of its type: make another one the default first.`)
    }
    await environments.archive(unit.db, workspace.id, environment.id)
    unit.record('environment_archived', { slug })
  })
}

export interface Scoped {
  /** The slug of an environment; null is the whole workspace. */
  readonly environment: string | null
  readonly name: string
}

async function scopeId(db: Db, workspaceId: number, slug: string | null): Promise<number | null> {
  if (slug === null) return null
  return find(await environments.lock(db, workspaceId), slug).id
}

export async function setVariable(ctx: Context, input: Scoped & { value: string }): Promise<void> {
  const workspace = workspaceOf(ctx)
  const name = parseVariableName(input.name)
  const value = parseValue(input.value)
  await mutate(ctx, async (unit) => {
    const environmentId = await scopeId(unit.db, workspace.id, input.environment)
    await environments.setVariable(unit.db, workspace.id, { environmentId, name, value })
    unit.record('variable_set', { environment: input.environment ?? '', name })
  })
}

export async function deleteVariable(ctx: Context, input: Scoped): Promise<void> {
  const workspace = workspaceOf(ctx)
  await mutate(ctx, async (unit) => {
    const environmentId = await scopeId(unit.db, workspace.id, input.environment)
    if (!(await environments.deleteVariable(unit.db, workspace.id, environmentId, input.name))) {
      throw notFound(`No variable ${quoted(input.name)} there.`)
    }
    unit.record('variable_deleted', { environment: input.environment ?? '', name: input.name })
  })
}

export async function setSecret(ctx: Context, input: Scoped & { kind: SecretKind; value: string }): Promise<void> {
  const workspace = workspaceOf(ctx)
  const { kind } = input
  const { name, value } = parseSecret(kind, input.name, input.value)
  await mutate(ctx, async (unit) => {
    const environmentId = await scopeId(unit.db, workspace.id, input.environment)
    await secrets.set(unit.db, ctx.vault, { workspaceId: workspace.id, environmentId, kind, name }, value)
    unit.record('secret_set', { environment: input.environment ?? '', kind, name })
  })
}

export async function deleteSecret(ctx: Context, input: Scoped & { kind: SecretKind }): Promise<void> {
  const workspace = workspaceOf(ctx)
  const { kind, name } = input
  await mutate(ctx, async (unit) => {
    const environmentId = await scopeId(unit.db, workspace.id, input.environment)
    if (!(await secrets.remove(unit.db, { workspaceId: workspace.id, environmentId, kind, name }))) {
      throw notFound(`No ${kind} secret ${quoted(name)} there.`)
    }
    unit.record('secret_deleted', { environment: input.environment ?? '', kind, name })
  })
}

/** Re-wraps every secret under the current master key, in small steps beside a running service. */
export async function rotateMasterKey(ctx: Context): Promise<number> {
  const behind = await nodes.listWithoutKey(ctx.db, ctx.vault.kid)
  if (behind.length > 0) {
    const who = behind.map((one) => `${one.host} pid ${one.pid}`).join(', ')
    throw conflict(`Restart these first, so that they know the new master key: ${who}.`)
  }
  let total = 0
  for (;;) {
    const done = await mutate(
      ctx,
      async (unit) =>
        (await secrets.rewrapSome(unit.db, ctx.vault, 200)) +
        (await scheduleVariables.rewrapSome(unit.db, ctx.vault, 200)) +
        (await webhooks.rewrapSome(unit.db, ctx.vault, 200)) +
        (await integrations.rewrapSome(unit.db, ctx.vault, 200)) +
        (await modelFamilies.rewrapSome(unit.db, ctx.vault, 200)) +
        (await mcpServers.rewrapSome(unit.db, ctx.vault, 200)),
    )
    total += done
    if (done === 0) break
  }
  await mutate(ctx, async (unit) =>
    unit.record('master_key_rotated', { kid: ctx.vault.kid, secrets: total }, 'account'),
  )
  return total
}
