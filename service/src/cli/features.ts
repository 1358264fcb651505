import type { Command } from 'commander'
import { features, setAccountFeature, setWorkspaceFeature } from '../app/workspaces.ts'
import { invalidInput } from '../domain/errors.ts'
import { ACCOUNT_FEATURES, type AccountFeature, isAccountFeature, WORKSPACE_FEATURES } from '../domain/feature.ts'
import { withApp } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { table } from './table.ts'

const NAMES = [...Object.keys(ACCOUNT_FEATURES), ...Object.keys(WORKSPACE_FEATURES)]

interface Row {
  readonly feature: string
  readonly enabled: boolean
  /** Null for a switch of the account. */
  readonly workspace: string | null
}

export function registerFeatures(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'features', 'switches of the account and its workspaces')
  addCommand(
    noun,
    shell,
    { name: 'list', summary: 'list the switches', examples: ['yardmaster features list'] },
    async ({ load, print }) => {
      const { account, workspaces } = await withApp(load(), (app) => features(app.context()))
      const ofAccount = (Object.keys(ACCOUNT_FEATURES) as AccountFeature[]).map(
        (feature): Row => ({ feature, enabled: account[feature], workspace: null }),
      )
      const ofWorkspaces = workspaces.map(
        ({ agents, uid }): Row => ({ feature: 'agents', enabled: agents, workspace: uid }),
      )
      const rows = [...ofAccount, ...ofWorkspaces]
      print(
        rows,
        table(
          ['FEATURE', 'STATE', 'OF'],
          rows.map((row) => [row.feature, row.enabled ? 'on' : 'off', row.workspace ?? 'the account']),
        ),
      )
      return undefined
    },
  )
  addCommand<{ workspace?: string }>(
    noun,
    shell,
    {
      name: 'set',
      args: [arg('feature', 'the switch', NAMES), arg('state', 'what it shall be', ['on', 'off'])],
      summary: 'turn a switch on or off',
      details: 'agents is a switch of each workspace, the others are switches of the account.',
      examples: ['yardmaster features set scheduling off', 'yardmaster features set agents on'],
    },
    async ({ args, options, load, print }) => {
      const [feature, state] = args as [string, string]
      const enabled = state === 'on'
      const workspace = await withApp(load(), async (app) => {
        if (isAccountFeature(feature)) {
          if (options.workspace !== undefined)
            throw invalidInput(`${feature} is a switch of the account: leave --workspace out.`)
          await setAccountFeature(app.context(), { feature, enabled })
          return null
        }
        const chosen = await app.workspace(options.workspace)
        await setWorkspaceFeature(app.context(chosen), { feature, enabled })
        return chosen.uid
      })
      const row: Row = { feature, enabled, workspace }
      print(row, `${feature} is ${state} for ${workspace === null ? 'the account' : `workspace ${workspace}`}.\n`)
      return undefined
    },
  ).option('--workspace <uid>', 'the workspace, for agents; may be left out when there is only one')
}
