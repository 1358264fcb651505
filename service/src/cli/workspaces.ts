import type { Command } from 'commander'
import { createWorkspace, listWorkspaces } from '../app/workspaces.ts'
import { withApp } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { table } from './table.ts'

export function registerWorkspaces(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'workspaces', 'workspaces of the account')
  addCommand(
    noun,
    shell,
    {
      name: 'create',
      args: [arg('name', 'the name that people see')],
      summary: 'create a workspace',
      details: 'It has no administrator until one is invited: yardmaster users invite.',
      examples: ['yardmaster workspaces create Finance'],
    },
    async ({ args, load, print }) => {
      const { uid, name } = await withApp(load(), (app) => createWorkspace(app.context(), { name: args[0]! }))
      print(
        { uid, name },
        `Workspace ${name} is made: ${uid}\n\nIts first administrator:\n` +
          `  yardmaster users invite EMAIL --workspace ${uid} --type ADMIN\n`,
      )
      return undefined
    },
  )
  addCommand(
    noun,
    shell,
    { name: 'list', summary: 'list the workspaces', examples: ['yardmaster workspaces list --json'] },
    async ({ load, print }) => {
      const all = await withApp(load(), (app) => listWorkspaces(app.context()))
      const rows = all.map(({ uid, name, agents }) => ({ uid, name, agents }))
      print(
        rows,
        table(
          ['UID', 'NAME', 'AGENTS'],
          rows.map(({ uid, name, agents }) => [uid, name, agents]),
        ),
      )
      return undefined
    },
  )
}
