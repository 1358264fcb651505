import type { Command } from 'commander'
import { listMcpServers, removeMcpServer, setMcpServer } from '../app/mcp-servers.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { several, WORKSPACE } from './options.ts'
import { SECRETS_FROM_INPUT, secretsFrom } from './secret-values.ts'
import { table } from './table.ts'

interface Options {
  readonly workspace?: string
  readonly url?: string
  readonly tool?: readonly string[]
  readonly allTools?: boolean
  readonly secrets?: boolean
  readonly secretsFile?: string
}

const NAME = arg('name', 'the name of the server, such as docs')

export function registerMcp(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'mcp', 'servers of the Model Context Protocol whose tools agents may be given')
  list(noun, shell)
  set(noun, shell)
  remove(noun, shell)
}

function list(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the servers of a workspace; headers are never shown',
      examples: ['yardmaster mcp list'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listMcpServers(ctx))
      print(
        all,
        table(
          ['NAME', 'URL', 'TOOLS', 'HEADERS'],
          all.map((one) => [
            one.name,
            one.url,
            one.tools === null ? 'every one' : one.tools.join(','),
            one.headerNames.join(','),
          ]),
        ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

function set(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'set',
      args: [NAME],
      summary: 'add a server, or change one',
      details:
        'What is not given stays as it is. Its tools are called mcp_<name>_<tool>; an agent has one when its file allows it ' +
        'by that name. Headers are given as secrets, all together, and again for another address; a space in a value is ' +
        'written as %20.',
      examples: [
        'yardmaster mcp set docs --url https://mcp.example.com/mcp --tool search --secrets <<< "Authorization=Bearer%20$TOKEN"',
      ],
    },
    async ({ args, options, cli, load, print }) => {
      const given = await secretsFrom(options, cli)
      const headers =
        given && Object.fromEntries(Object.entries(given).map(([name, value]) => [name, unescaped(value)]))
      const tools = options.allTools === true ? null : options.tool
      const done = await inWorkspace(load(), options.workspace, (ctx) =>
        setMcpServer(ctx, {
          name: args[0]!,
          url: options.url ?? null,
          ...(tools !== undefined && { tools }),
          headers: headers ?? null,
        }),
      )
      print(done, `The server ${done.name} is set.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--url <address>', 'the address of the server')
    .option('--tool <names...>', 'only these of its tools, by its own names', several)
    .option('--all-tools', 'every tool that it offers')
    .option(...SECRETS_FROM_INPUT)
    .option('--secrets-file <file>', 'read them from a file of the same form')
}

const unescaped = (value: string): string => value.replaceAll('%20', ' ')

function remove(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'remove',
      args: [NAME],
      summary: 'remove a server with its headers',
      examples: ['yardmaster mcp remove docs'],
    },
    async ({ args, options, load, print }) => {
      const name = args[0]!
      await inWorkspace(load(), options.workspace, (ctx) => removeMcpServer(ctx, name))
      print({ name, removed: true }, `The server ${name} is removed.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
