import { type Command, Option } from 'commander'
import { listModelFamilies, removeModelFamily, setModelFamily, testModelFamily } from '../app/model-families.ts'
import { agentDeps } from '../compose/agents.ts'
import { MODEL_PROVIDERS, PROVIDERS, SETTINGS, type Values } from '../domain/model-family.ts'
import { inWorkspace } from './app.ts'
import { addCommand, addNoun, arg, type Shell } from './command.ts'
import { WORKSPACE } from './options.ts'
import { namedValue, SECRETS_FROM_INPUT, secretsFrom } from './secret-values.ts'
import { table } from './table.ts'

interface Options {
  readonly workspace?: string
  readonly provider?: string
  readonly model?: string
  readonly default?: boolean
  readonly setting?: Values
  readonly secrets?: boolean
  readonly secretsFile?: string
}

const FAMILY = arg('family', 'the name that agents use for it, such as large')

export function registerModels(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'models', 'model families: which model stands behind a name')
  list(noun, shell)
  set(noun, shell)
  test(noun, shell)
  remove(noun, shell)
}

function list(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the model families of a workspace; secrets are never shown',
      examples: ['yardmaster models list'],
    },
    async ({ options, load, print }) => {
      const all = await inWorkspace(load(), options.workspace, (ctx) => listModelFamilies(ctx))
      const none = 'No model is set up: agents follow fixed plans. Set one up with yardmaster models set.\n'
      print(
        all,
        all.length === 0
          ? none
          : table(
              ['FAMILY', 'PROVIDER', 'MODEL', 'DEFAULT', 'SETTINGS', 'SECRETS'],
              all.map((one) => [
                one.name,
                one.provider,
                one.model,
                one.isDefault,
                Object.entries(one.settings)
                  .map(([name, value]) => `${name}=${value}`)
                  .join(' '),
                one.secretNames.join(','),
              ]),
            ),
      )
      return undefined
    },
  ).option(...WORKSPACE)
}

const SECRET_WORDS = MODEL_PROVIDERS.map((one) => `${one} (${PROVIDERS[one].secrets.join(', ')})`).join('; ')

function set(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'set',
      args: [FAMILY],
      summary: 'add a model family, or change one',
      details:
        `What is not given stays as it is. Settings: ${Object.keys(SETTINGS).join(', ')}; prices are dollars of a million ` +
        `tokens. Secrets of each provider: ${SECRET_WORDS}. Then: yardmaster models test.`,
      examples: [
        'yardmaster models set large --provider anthropic --model claude-sonnet-4-5 --secrets <<< "apiKey=$KEY"',
        'yardmaster models set local --provider openai_compatible --model qwen3 --setting address=http://127.0.0.1:11434/v1',
      ],
    },
    async ({ args, options, cli, load, print }) => {
      const secrets = await secretsFrom(options, cli)
      const done = await inWorkspace(load(), options.workspace, (ctx) =>
        setModelFamily(ctx, {
          name: args[0]!,
          provider: options.provider,
          model: options.model,
          isDefault: options.default,
          settings: options.setting,
          secrets,
        }),
      )
      print(done, `The model family ${done.name} is set. Try it: yardmaster models test ${done.name}\n`)
      return undefined
    },
  )
    .option(...WORKSPACE)
    .addOption(new Option('--provider <provider>', 'who runs the model').choices(MODEL_PROVIDERS))
    .option('--model <name>', "the provider's name of the model")
    .option('--default', 'use it where an agent names no family')
    .option('--setting <name=value>', 'a setting; may be repeated, an empty value takes it away', namedValue)
    .option(...SECRETS_FROM_INPUT)
    .option('--secrets-file <file>', 'read them from a file of the same form')
}

function test(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'test',
      args: [FAMILY],
      summary: 'ask a model for one tool call, and say what came',
      examples: ['yardmaster models test large'],
    },
    async ({ args, options, cli, load, print }) => {
      const loaded = load()
      const found = await inWorkspace(loaded, options.workspace, (ctx) =>
        testModelFamily(ctx, agentDeps(loaded.config, ctx, cli.env).models, args[0]!),
      )
      print(found, `${found.text}\n`)
      return found.ok ? undefined : 1
    },
  ).option(...WORKSPACE)
}

function remove(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'remove',
      args: [FAMILY],
      summary: 'remove a model family with its secrets',
      examples: ['yardmaster models remove large'],
    },
    async ({ args, options, load, print }) => {
      const name = args[0]!
      await inWorkspace(load(), options.workspace, (ctx) => removeModelFamily(ctx, name))
      print({ name, removed: true }, `The model family ${name} is removed.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}
