import type { Command } from 'commander'
import { createEnvironment, type ListedEnvironment, listEnvironments } from '../app/environments.ts'
import { inWorkspace, withApp } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { addFieldOptions, type FieldOptions, fieldsOf } from './environments-fields.ts'
import { registerSet } from './environments-set.ts'
import { WORKSPACE } from './options.ts'
import { table } from './table.ts'

export function registerEnvironments(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'environments', 'environments of a workspace: repository, branch, variables, secrets')
  create(noun, shell)
  registerSet(noun, shell)
  list(noun, shell)
}

function create(noun: Command, shell: Shell): void {
  const command = addCommand<FieldOptions & { workspace?: string }>(
    noun,
    shell,
    {
      name: 'create',
      args: [arg('name', 'the name that people see; the slug is made from it')],
      summary: 'create an environment',
      details: 'The first of its type is the default. Variables, secrets and credentials: yardmaster environments set.',
      examples: [
        'yardmaster environments create production --repository https://github.com/example/dbt-project.git ' +
          "--python-package 'dbt-core==1.10.0' 'dbt-postgres==1.9.0'",
      ],
    },
    async ({ args, options, load, print }) => {
      const fields = { ...fieldsOf(options), displayName: args[0]! }
      const done = await withApp(load(), async (app) => {
        const workspace = await app.workspace(options.workspace)
        const { slug } = await createEnvironment(app.context(workspace), fields)
        return { slug, workspace: workspace.uid }
      })
      print(done, `Environment ${done.slug} is made in workspace ${done.workspace}.\n`)
      return undefined
    },
  )
  addFieldOptions(command)
}

function list(noun: Command, shell: Shell): void {
  addCommand<{ workspace?: string }>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the environments of a workspace',
      details:
        'With --json also their variables, and the names of their secrets; the values of secrets are never shown.',
      examples: ['yardmaster environments list', 'yardmaster environments list --json'],
    },
    async ({ options, load, print }) => {
      const { environments } = await inWorkspace(load(), options.workspace, (ctx) => listEnvironments(ctx, null))
      print(
        environments.map(shownEnvironment),
        table(
          ['SLUG', 'NAME', 'TYPE', 'DEFAULT', 'REPOSITORY', 'BRANCH', 'VARIABLES', 'SECRETS'],
          environments.map((one) => [
            one.slug,
            one.displayName,
            one.type,
            one.isDefault,
            one.repositoryUrl,
            one.defaultBranch,
            one.variables.length,
            one.secrets.length,
          ]),
        ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

function shownEnvironment({ id: _, variables, secrets, ...fields }: ListedEnvironment): object {
  return {
    ...fields,
    variables: variables.map(({ name, value }) => ({ name, value })),
    secrets: secrets.map(({ kind, name, updatedAt }) => ({ kind, name, updatedAt })),
  }
}
