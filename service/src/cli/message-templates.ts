import type { Command } from 'commander'
import {
  createMessageTemplate,
  deleteMessageTemplate,
  listMessageTemplates,
  updateMessageTemplate,
} from '../app/message-templates.ts'
import { NOTICE_CHANNELS } from '../domain/messages/notice.ts'
import { PLACEHOLDERS } from '../domain/messages/template.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { WORKSPACE } from './options.ts'
import { table } from './table.ts'

interface Fields {
  readonly workspace?: string
  readonly name?: string
  readonly slug?: string
  readonly subject?: string
  readonly text?: boolean
}

const PLACEHOLDER_WORDS = `Placeholders: ${Object.keys(PLACEHOLDERS)
  .map((name) => `{{${name}}}`)
  .join(' ')}`
const SLUG = arg('slug', 'the slug of the template')

export function registerMessageTemplates(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'templates', 'the words of a workspace for Slack, mail and Teams')
  create(noun, shell)
  update(noun, shell)
  list(noun, shell)
  remove(noun, shell)
}

function create(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'create',
      args: [arg('channel', 'where it is used', NOTICE_CHANNELS), arg('name', 'what people call it')],
      summary: 'add a message template; its text is read from the standard input',
      details: PLACEHOLDER_WORDS,
      examples: ['yardmaster templates create slack "Short" <<< "{{schedule.name}}: {{run.state}} {{run.link}}"'],
    },
    async ({ args, options, io, load, print }) => {
      const text = await io.read('The text of the template')
      const made = await inWorkspace(load(), options.workspace, (ctx) =>
        createMessageTemplate(ctx, {
          channel: args[0]!,
          name: args[1]!,
          slug: options.slug,
          subject: options.subject,
          text,
        }),
      )
      print(made, `Template ${made.slug} is made: schedules name it as templateSlug.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--slug <slug>', 'how schedules name it (default: from the name)')
    .option('--subject <text>', 'of a mail')
}

function update(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'update',
      args: [SLUG],
      summary: 'change a message template',
      details: `What is not given stays as it is. ${PLACEHOLDER_WORDS}`,
      examples: ['yardmaster templates update short --text <<< "{{headline}} {{run.link}}"'],
    },
    async ({ args, options, io, load, print }) => {
      const slug = args[0]!
      const text = options.text === true ? await io.read('The text of the template') : undefined
      await inWorkspace(load(), options.workspace, (ctx) =>
        updateMessageTemplate(ctx, slug, {
          name: options.name,
          subject: options.subject,
          text,
        }),
      )
      print({ slug }, `Template ${slug} is changed.\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--name <name>', 'what people call it')
    .option('--subject <text>', 'of a mail; an empty one is the built-in subject')
    .option('--text', 'read a new text from the standard input')
}

function list(noun: Command, shell: Shell): void {
  addCommand<Fields>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the message templates of a workspace',
      examples: ['yardmaster templates list'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listMessageTemplates(ctx))
      const rows = all.map((one) => [one.slug, one.channel, one.name, one.updatedAt.slice(0, 16)])
      print(all, table(['SLUG', 'CHANNEL', 'NAME', 'UPDATED'], rows))
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
      args: [SLUG],
      summary: 'delete a message template',
      details: 'Schedules that name it send the built-in words from then on.',
      examples: ['yardmaster templates delete short'],
    },
    async ({ args, options, load, print }) => {
      const slug = args[0]!
      await inWorkspace(load(), options.workspace, (ctx) => deleteMessageTemplate(ctx, slug))
      print({ slug, deleted: true }, `Template ${slug} is deleted.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
