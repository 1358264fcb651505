import type { Command } from 'commander'
import { allowPullRequest, listPullRequests } from '../app/pull-requests.ts'
import { needsWord } from '../domain/pull-request.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { numberArg, WORKSPACE } from './options.ts'
import { table } from './table.ts'

interface WorkspaceOption {
  readonly workspace?: string
}

export function registerPullRequests(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'pull-requests', 'pull requests that git hosts told of')
  list(noun, shell)
  allow(noun, shell)
}

function list(noun: Command, shell: Shell): void {
  addCommand<WorkspaceOption>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the latest pull requests of a workspace',
      examples: ['yardmaster pull-requests list'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listPullRequests(ctx))
      print(
        all,
        table(
          ['ID', 'REPOSITORY', 'NUMBER', 'TITLE', 'COMMIT', 'STATE', 'ALLOWED'],
          all.map((one) => [
            one.id,
            one.repository,
            one.number,
            one.title,
            one.headCommit,
            one.state,
            !needsWord(one) ? '' : one.allowedCommit === one.headCommit ? `allowed by ${one.allowedBy}` : 'waits',
          ]),
        ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

function allow(noun: Command, shell: Shell): void {
  addCommand<WorkspaceOption>(
    noun,
    shell,
    {
      name: 'allow',
      summary: 'let the present commit of a fork run',
      details: 'The commit is said, so that nobody allows what they have not seen. What is pushed later waits again.',
      args: [numberArg('id', 'the number in the list'), arg('commit', 'the whole commit, as the list shows it')],
      examples: ['yardmaster pull-requests allow 12 3f786850e387550fdab836ed7e6dc881de23001b'],
    },
    async ({ args: [id, commit], options, load, print }) => {
      const done = await inWorkspace(load(), options.workspace, (ctx) =>
        allowPullRequest(ctx, { id: Number(id), commit: commit! }),
      )
      print(done, `${done.runIds.length} runs started: ${done.runIds.join(', ') || 'none'}\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
