// The models that the agents of a workspace can be given, by the name of their family. Secrets are written and never read
// back.
import { invalidInput, notFound } from '../domain/errors.ts'
import type { Values } from '../domain/model-family.ts'
import {
  accessOf,
  parseFamilyName,
  parseFamilySecrets,
  parseFamilySettings,
  parseModel,
  parseProvider,
  SCRIPTED_FAMILY,
} from '../domain/model-family.ts'
import { quoted } from '../domain/text.ts'
import type { Models, OpenModel } from '../ports/model.ts'
import { ModelFault } from '../ports/model.ts'
import type { ModelFamily } from '../store/model-families.ts'
import * as families from '../store/model-families.ts'
import type { App, Context } from './context.ts'
import { workspaceOf } from './context.ts'
import { mutate } from './mutate.ts'

export type { ModelFamily } from '../store/model-families.ts'
export { type ModelTest, testModelFamily } from './model-family-test.ts'

export const listModelFamilies = (ctx: Context): Promise<ModelFamily[]> => families.list(ctx.db, workspaceOf(ctx).id)

export interface ModelFamilyInput {
  readonly name: string
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly isDefault?: boolean | undefined
  readonly settings?: Values | undefined
  readonly secrets?: Values | undefined
}

/** Makes the family or changes it: what is not given stays. The first one is the default. */
export async function setModelFamily(ctx: Context, input: ModelFamilyInput): Promise<{ name: string }> {
  const workspace = workspaceOf(ctx)
  const name = parseFamilyName(input.name)
  const { settings: given = {}, secrets: givenSecrets = {} } = input
  return await mutate(ctx, async (unit) => {
    await families.lockAll(unit.db, workspace.id)
    const all = await families.list(unit.db, workspace.id)
    const old = all.find((one) => one.name === name)
    const provider = parseProvider(input.provider ?? old?.provider ?? '')
    const model = parseModel(input.model ?? old?.model ?? '')
    const settings = parseFamilySettings(provider, given, old?.settings)
    const kept = keptSecrets(old, { provider, address: settings.address })
    if (old?.provider === provider && kept.length < old.secretNames.length) refuseLeftOut(old, givenSecrets)
    const secrets = parseFamilySecrets(provider, givenSecrets, kept)
    const isDefault = input.isDefault ?? old?.isDefault ?? all.length === 0
    const familyId = await families.set(unit.db, workspace.id, { name, provider, model, isDefault, settings })
    await families.setSecrets(unit.db, ctx.vault, { workspaceId: workspace.id, familyId }, { kept, values: secrets })
    unit.record('model_family_set', {
      family: name,
      provider,
      model,
      default: isDefault,
      settings: Object.keys(given),
      secrets: Object.keys(secrets),
    })
    return { name }
  })
}

/** A key was meant for one provider at one address. */
function keptSecrets(
  old: ModelFamily | undefined,
  now: { readonly provider: string; readonly address: string | undefined },
): readonly string[] {
  if (old === undefined) return []
  return old.provider === now.provider && old.settings.address === now.address ? old.secretNames : []
}

/** Otherwise whoever may change an address, and may not read secrets, could have them sent to himself. */
function refuseLeftOut(old: ModelFamily, given: Values): void {
  const left = old.secretNames.filter((name) => !Object.hasOwn(given, name))
  if (left.length > 0) {
    throw invalidInput(
      `secrets: give them again for another address, they were meant for the old one: ${left.join(', ')}.`,
    )
  }
}

export async function removeModelFamily(ctx: Context, text: string): Promise<void> {
  const workspace = workspaceOf(ctx)
  const name = text.trim().toLowerCase()
  await mutate(ctx, async (unit) => {
    await families.lockAll(unit.db, workspace.id)
    if (!(await families.remove(unit.db, workspace.id, name))) throw unknownFamily(text)
    unit.record('model_family_removed', { family: name })
  })
}

const unknownFamily = (name: string) => notFound(`No model family ${quoted(name)} in this workspace.`)

/** The models of each workspace. Nothing is kept between two questions: a key that was changed counts from the next on. */
export function modelsOf(app: Pick<App, 'db' | 'vault'>, openModel: OpenModel): Models {
  return {
    choose: async (workspaceId, text) => {
      const wanted = text.trim().toLowerCase()
      if (wanted === SCRIPTED_FAMILY) return { family: SCRIPTED_FAMILY, warning: null }
      const all = await families.list(app.db, workspaceId)
      const found = all.find((one) => one.name === wanted)
      if (found !== undefined) return { family: found.name, warning: null }
      const family = (all.find((one) => one.isDefault) ?? all[0])?.name ?? SCRIPTED_FAMILY
      if (wanted === '') return { family, warning: null }
      return {
        family,
        warning: `There is no model family ${quoted(text.trim())} in this workspace: ${family} is used.`,
      }
    },
    open: async (workspaceId, family) => {
      if (family === SCRIPTED_FAMILY) return openModel(SCRIPTED_FAMILY, null)
      const found = await families.find(app.db, workspaceId, family)
      if (found === null) {
        throw new ModelFault(
          'refused',
          `The model family ${family} was removed: start another session, or set it again.`,
        )
      }
      const secrets = await families.openSecrets(app.db, app.vault, { workspaceId, familyId: found.id })
      return openModel(family, accessOf({ ...found, secrets }))
    },
  }
}
