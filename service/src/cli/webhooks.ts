import { type Command, Option } from 'commander'
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from '../app/webhooks.ts'
import { WEBHOOK_EVENTS } from '../domain/messages/webhook.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { numberArg, several, WORKSPACE, wholeNumber } from './options.ts'
import { table } from './table.ts'

interface Fields {
  readonly workspace?: string
  readonly description?: string
  readonly event?: readonly string[]
}

const ID = () => numberArg('id', 'the number of the webhook')
const EVENTS = ['--event <event...>', `what to be told: ${WEBHOOK_EVENTS.join(', ')}`, several] as const

export function registerWebhooks(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'webhooks', 'webhooks of a workspace, signed by the Standard Webhooks scheme')
  create(noun, shell)
  update(noun, shell)
  list(noun, shell)
  rotate(noun, shell)
  test(noun, shell)
  remove(noun, shell)
}

function create(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'create',
      args: [arg('url', 'where to send to')],
      summary: 'make a webhook; its secret is shown once',
      details: 'Without --event it is told of every run that ends (bolt.run.completed).',
      examples: [
        'yardmaster webhooks create https://example.com/hooks --event bolt.run.started --event bolt.run.completed',
      ],
    },
    async ({ args, options, load, print }) => {
      const made = await inWorkspace(load(), options.workspace, (ctx) =>
        createWebhook(ctx, {
          url: args[0]!,
          events: options.event ?? ['bolt.run.completed'],
          description: options.description,
        }),
      )
      print(made, `Webhook ${made.id} is made. Its secret is shown this once:\n\n${made.secret}\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option(...EVENTS)
    .option('--description <text>', 'what it is for')
}

function update(noun: Command, shell: Shell): void {
  addCommand<Fields & { readonly url?: string; readonly enabled?: string }>(
    noun,
    shell,
    {
      name: 'update',
      args: [ID()],
      summary: 'change a webhook, or switch it off and on',
      examples: ['yardmaster webhooks update 3 --enabled false'],
    },
    async ({ args, options, load, print }) => {
      const id = Number(args[0])
      await inWorkspace(load(), options.workspace, (ctx) =>
        updateWebhook(ctx, id, {
          url: options.url,
          events: options.event,
          description: options.description,
          enabled: options.enabled === undefined ? undefined : options.enabled === 'true',
        }),
      )
      print({ id }, `Webhook ${id} is changed.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--url <url>', 'where to send to')
    .option(...EVENTS)
    .option('--description <text>', 'what it is for')
    .addOption(new Option('--enabled <boolean>', 'whether anything is sent').choices(['true', 'false']))
}

function list(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    { name: 'list', summary: 'list the webhooks of a workspace', examples: ['yardmaster webhooks list'] },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listWebhooks(ctx))
      print(
        all,
        table(
          ['ID', 'URL', 'EVENTS', 'ENABLED', 'SECRETS', 'CREATED', 'DESCRIPTION'],
          all.map((one) => [
            one.id,
            one.url,
            one.events.join(','),
            one.enabled,
            one.secrets,
            one.createdAt.slice(0, 16),
            one.description,
          ]),
        ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

function rotate(noun: Command, shell: Shell): void {
  addCommand<Fields & { readonly overlapHours?: number }>(
    noun,
    shell,
    {
      name: 'rotate',
      args: [ID()],
      summary: 'give a webhook a new secret, which is shown once',
      details: 'Deliveries are signed with the old secret too until the overlap is over.',
      examples: ['yardmaster webhooks rotate 3 --overlap-hours 48'],
    },
    async ({ args, options, load, print }) => {
      const id = Number(args[0])
      const { secret } = await inWorkspace(load(), options.workspace, (ctx) =>
        rotateWebhookSecret(ctx, {
          id,
          overlapHours: options.overlapHours ?? null,
        }),
      )
      print({ id, secret }, `The new secret of webhook ${id} is shown this once:\n\n${secret}\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--overlap-hours <hours>', 'how long the old one signs beside it (default: 24)', wholeNumber(0, 720))
}

function test(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'test',
      args: [ID()],
      summary: 'send a webhook something that says that it is a test',
      details: 'The running service sends it; what became of it: yardmaster deliveries show <id>.',
      examples: ['yardmaster webhooks test 3'],
    },
    async ({ args, options, load, print }) => {
      const sent = await inWorkspace(load(), options.workspace, (ctx) => testWebhook(ctx, Number(args[0])))
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
      name: 'delete',
      args: [ID()],
      summary: 'delete a webhook; its deliveries stay readable',
      examples: ['yardmaster webhooks delete 3'],
    },
    async ({ args, options, load, print }) => {
      const id = Number(args[0])
      await inWorkspace(load(), options.workspace, (ctx) => deleteWebhook(ctx, id))
      print({ id, deleted: true }, `Webhook ${id} is deleted.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
