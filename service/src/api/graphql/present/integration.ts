import type { Integration } from '../../../app/integrations.ts'
import type { Values } from '../../../domain/integration.ts'
import type { IntegrationKind, IntegrationSettingInput, Integration as WireIntegration } from '../wire-types.ts'

export const presentIntegration = (one: Integration): WireIntegration => ({
  id: one.id,
  kind: one.kind.toUpperCase() as IntegrationKind,
  name: one.name,
  settings: Object.entries(one.settings).map(([name, value]) => ({ name, value })),
  secretNames: [...one.secretNames],
  createdDttm: one.createdAt,
  updatedDttm: one.updatedAt,
})

/** The last of a name counts. */
export const valuesOf = (given: readonly IntegrationSettingInput[] | null | undefined): Values =>
  Object.fromEntries((given ?? []).map(({ name, value }) => [name, value]))
