import { type Command, Option } from 'commander'
import { type DeliveryDetail, getDelivery, listDeliveries, sendDeliveryAgain } from '../app/deliveries.ts'
import { DELIVERY_STATES, type DeliveryState } from '../domain/delivery.ts'
import { CHANNELS, type ChannelKind } from '../ports/channel.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { WORKSPACE, wholeNumber } from './options.ts'
import { pairs, table } from './table.ts'

interface ListOptions {
  readonly workspace?: string
  readonly state?: DeliveryState
  readonly channel?: ChannelKind
  readonly webhook?: number
  readonly run?: number
  readonly limit?: number
}

const number = wholeNumber(1, 2 ** 31 - 1)

export function registerDeliveries(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'deliveries', 'what was sent: messages, webhooks, incidents, and what became of them')
  list(noun, shell)
  show(noun, shell)
  again(noun, shell)
}

function list(noun: Command, shell: Shell): void {
  addCommand<ListOptions>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list deliveries of a workspace, newest first',
      examples: ['yardmaster deliveries list --state dead'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) =>
        listDeliveries(ctx, {
          state: options.state ?? null,
          channel: options.channel ?? null,
          webhookId: options.webhook ?? null,
          runId: options.run ?? null,
          offset: null,
          limit: options.limit ?? null,
        }),
      )
      print(
        all,
        table(
          ['ID', 'CHANNEL', 'TO', 'EVENT', 'RUN', 'STATE', 'TRIES', 'CREATED', 'NEXT TRY'],
          all.map((one) => [
            one.id,
            one.channel,
            one.address || one.webhookId || one.integrationId,
            one.event,
            one.runId,
            one.state,
            one.tries,
            one.createdAt.slice(0, 19),
            one.nextTryAt?.slice(0, 19),
          ]),
        ),
      )
      return undefined
    },
  )
    .option(...WORKSPACE)
    .addOption(new Option('--state <state>', 'only those in this state').choices(DELIVERY_STATES))
    .addOption(new Option('--channel <channel>', 'only those by this channel').choices(CHANNELS))
    .option('--webhook <id>', 'only those of this webhook', number)
    .option('--run <id>', 'only those about this run', number)
    .option('--limit <count>', 'how many at most (default: 100)', wholeNumber(1, 1000))
}

function show(noun: Command, shell: Shell): void {
  addCommand<ListOptions>(
    noun,
    shell,
    {
      name: 'show',
      args: [arg('id', 'the id of the delivery')],
      summary: 'show a delivery with each of its tries',
      details: 'With --json also what the message was made from.',
      examples: ['yardmaster deliveries show 0198c6a0-7d3e-7c55-9a0f-6d1f5a3c9b21'],
    },
    async ({ args, options, load, print }) => {
      const found = await inWorkspace(load(), options.workspace, (ctx) => getDelivery(ctx, args[0]!))
      print(found, textOf(found))
      return undefined
    },
  ).option(...WORKSPACE)
}

const textOf = (one: DeliveryDetail): string =>
  `${pairs([
    ['Delivery', one.id],
    ['Channel', one.channel],
    ['To', one.address || one.webhookId || one.integrationId],
    ['Event', one.event],
    ['Run', one.runId],
    ['State', one.state],
    ['Next try', one.nextTryAt],
  ])}\n${table(
    ['TRY', 'STARTED', 'MS', 'STATUS', 'OUTCOME', 'ANSWER'],
    one.each.map((each) => [
      each.number,
      each.startedAt.slice(0, 19),
      each.durationMs,
      each.status,
      each.outcome,
      each.answer.slice(0, 200),
    ]),
  )}`

function again(noun: Command, shell: Shell): void {
  addCommand<ListOptions>(
    noun,
    shell,
    {
      name: 'again',
      args: [arg('id', 'the id of the delivery')],
      summary: 'send a delivery again, under the same id, at once',
      examples: ['yardmaster deliveries again 0198c6a0-7d3e-7c55-9a0f-6d1f5a3c9b21'],
    },
    async ({ args, options, load, print }) => {
      const id = args[0]!
      await inWorkspace(load(), options.workspace, (ctx) => sendDeliveryAgain(ctx, id))
      print({ id, queued: true }, `Delivery ${id} is queued again.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
