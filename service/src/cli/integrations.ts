import type { Command } from 'commander'
import {
  createIntegration,
  listIntegrations,
  removeIntegration,
  testIntegration,
  testMail,
  updateIntegration,
} from '../app/integrations.ts'
import { INTEGRATION_KINDS, KINDS, type Values } from '../domain/integration.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { numberArg, WORKSPACE } from './options.ts'
import { namedValue, SECRETS_FROM_INPUT, secretsFrom } from './secret-values.ts'
import { table } from './table.ts'

interface Fields {
  readonly workspace?: string
  readonly name?: string
  readonly setting?: Values
  readonly secrets?: boolean
  readonly address?: string
}

const KIND_WORDS = INTEGRATION_KINDS.map((kind) => {
  const { settings, secrets } = KINDS[kind]
  return `${kind} (${[...Object.keys(settings), ...Object.keys(secrets).map((one) => `secret ${one}`)].join(', ')})`
}).join('; ')

const SETTING = ['--setting <name=value>', 'a setting; may be repeated', namedValue] as const

export function registerIntegrations(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'integrations', 'accounts at other services: Slack, Teams, incidents, git hosts')
  create(noun, shell)
  update(noun, shell)
  list(noun, shell)
  test(noun, shell)
  mail(noun, shell)
  remove(noun, shell)
}

function create(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'create',
      args: [arg('kind', 'what it is', INTEGRATION_KINDS)],
      summary: 'add an account at another service',
      details: `Kinds with their settings and secrets: ${KIND_WORDS}.`,
      examples: ['yardmaster integrations create slack --secrets <<< "token=$SLACK_TOKEN"'],
    },
    async ({ args, options, cli, load, print }) => {
      const secrets = (await secretsFrom(options, cli)) ?? {}
      const made = await inWorkspace(load(), options.workspace, (ctx) =>
        createIntegration(ctx, {
          kind: args[0]!,
          name: options.name ?? '',
          settings: options.setting ?? {},
          secrets,
        }),
      )
      print(made, `Integration ${made.id} (${args[0]}) is made.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--name <name>', 'for Teams: the channel, as schedules name it')
    .option(...SETTING)
    .option(...SECRETS_FROM_INPUT)
}

function update(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'update',
      args: [numberArg('id', 'the number of the integration')],
      summary: 'change settings or secrets of an integration',
      details:
        'What is not given stays as it is; a setting with an empty value is taken away. Another apiUrl needs the secrets again.',
      examples: [
        'yardmaster integrations update 2 --setting apiUrl=https://api.eu.pagerduty.com --secrets <<< "token=$TOKEN"',
      ],
    },
    async ({ args, options, cli, load, print }) => {
      const id = Number(args[0])
      const secrets = (await secretsFrom(options, cli)) ?? {}
      await inWorkspace(load(), options.workspace, (ctx) =>
        updateIntegration(ctx, id, {
          settings: options.setting ?? {},
          secrets,
        }),
      )
      print({ id }, `Integration ${id} is changed.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option(...SETTING)
    .option(...SECRETS_FROM_INPUT)
}

function list(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the integrations of a workspace; secrets are never shown',
      examples: ['yardmaster integrations list'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listIntegrations(ctx))
      print(
        all,
        table(
          ['ID', 'KIND', 'NAME', 'SETTINGS', 'SECRETS', 'UPDATED'],
          all.map((one) => [
            one.id,
            one.kind,
            one.name,
            Object.entries(one.settings)
              .map(([name, value]) => `${name}=${value}`)
              .join(' '),
            one.secretNames.join(','),
            one.updatedAt.slice(0, 16),
          ]),
        ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

function test(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'test',
      args: [numberArg('id', 'the number of the integration')],
      summary: 'try an integration out',
      details:
        'Slack and Teams get a message that says that it is a test; incident services are only asked who we are. The ' +
        'running service sends it; what became of it: yardmaster deliveries show <id>.',
      examples: ['yardmaster integrations test 2 --address "#data"'],
    },
    async ({ args, options, load, print }) => {
      const sent = await inWorkspace(load(), options.workspace, (ctx) =>
        testIntegration(ctx, {
          id: Number(args[0]),
          address: options.address ?? '',
        }),
      )
      print(sent, `Delivery ${sent.deliveryId} is queued.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--address <channel>', 'for Slack: the channel to write to; without it only the token is tried')
}

function mail(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'test-mail',
      args: [arg('address', 'the mail address to write to')],
      summary: 'send a mail that says that it is a test',
      examples: ['yardmaster integrations test-mail ana@example.com'],
    },
    async ({ args, options, load, print }) => {
      const sent = await inWorkspace(load(), options.workspace, (ctx) => testMail(ctx, args[0]!))
      print(sent, `Delivery ${sent.deliveryId} is queued.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}

function remove(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'remove',
      args: [numberArg('id', 'the number of the integration')],
      summary: 'remove an integration with its secrets',
      examples: ['yardmaster integrations remove 2'],
    },
    async ({ args, options, load, print }) => {
      const id = Number(args[0])
      await inWorkspace(load(), options.workspace, (ctx) => removeIntegration(ctx, id))
      print({ id, removed: true }, `Integration ${id} is removed.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
