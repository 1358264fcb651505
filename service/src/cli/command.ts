// How a command is made: one call says its words, its example and what it does. Help, docs/cli.md and the tests all
// come from that.
import { Argument, type Command } from 'commander'
import type { LoadedConfig } from '../config/load.ts'
import { loadConfig } from '../config/load.ts'
import type { SettingPath } from '../config/schema.ts'
import type { Cli, Io } from './io.ts'

export interface CommandWords {
  readonly name: string
  readonly args?: readonly Argument[]
  readonly summary: string
  /** What can be typed as it stands; one line each. */
  readonly examples: readonly string[]
  /** More than the summary, for help and the reference. */
  readonly details?: string
}

/** One invocation of a command. */
export interface Call<O = object> {
  readonly io: Io
  readonly cli: Cli
  readonly options: O
  readonly args: readonly string[]
  readonly json: boolean
  /** Reads the configuration; throws ConfigFaults. */
  load(overrides?: Readonly<Partial<Record<SettingPath, string | undefined>>>): LoadedConfig
  /** The result: `data` for programs, which `--json` prints, or `text` for people. */
  print(data: unknown, text: string): void
}

/** An exit code; nothing is 0. */
export type Handler<O> = (call: Call<O>) => Promise<number | undefined>

export interface Shell {
  readonly cli: Cli
  /** Does what was asked for; a test can look instead. */
  execute(call: Call, handler: Handler<object>): Promise<void>
  onLoaded(loaded: LoadedConfig): void
  /** Help that nobody asked for, because a command was left unfinished. */
  writeHelp(text: string): void
}

interface Globals {
  readonly data?: string
  readonly config?: string
  readonly json?: boolean
}

const words = new WeakMap<Command, CommandWords>()

/** The words of a command that does something; undefined for a noun that only holds others. */
export const wordsOf = (command: Command): CommandWords | undefined => words.get(command)

export function arg(name: string, description: string, choices?: readonly string[]): Argument {
  const made = new Argument(`<${name}>`, description)
  return choices === undefined ? made : made.choices(choices)
}

/** An argument that may be left out. */
export const optionalArg = (name: string, description: string): Argument => new Argument(`[${name}]`, description)

/** As people write it: `<needed>`, `[optional]`. */
export const argumentWord = (one: Argument): string => (one.required ? `<${one.name()}>` : `[${one.name()}]`)

export function addNoun(parent: Command, name: string, summary: string): Command {
  const noun = parent.command(name).description(summary).helpCommand(false)
  return noun.addHelpText('after', () => exampleText(noun.commands.flatMap((one) => wordsOf(one)?.examples[0] ?? [])))
}

const exampleText = (lines: readonly string[]): string => `\nExample:\n${lines.map((line) => `  $ ${line}`).join('\n')}`

export function addCommand<O extends object>(
  parent: Command,
  shell: Shell,
  said: CommandWords,
  handler: Handler<O>,
): Command {
  const { name, args = [], summary, examples, details } = said
  const command = parent.command(name).summary(summary)
  command.description(details === undefined ? summary : `${summary}\n\n${details}`)
  for (const one of args) command.addArgument(one)
  // Arguments first: an option that takes several values would swallow them.
  command.usage([...args.map(argumentWord), '[options]'].join(' '))
  command.addHelpText('after', exampleText(examples))
  command.action(async () => {
    const call = callOf<O>(shell, command)
    await shell.execute(call as Call, handler as Handler<object>)
  })
  words.set(command, said)
  return command
}

function callOf<O extends object>(shell: Shell, command: Command): Call<O> {
  const { cli } = shell
  const options = command.optsWithGlobals<O & Globals>()
  const json = options.json === true
  return {
    io: cli.io,
    cli,
    options,
    args: command.processedArgs as readonly string[],
    json,
    load: (overrides = {}) => {
      const { data, config } = options
      const loaded = loadConfig({ env: cli.env, cwd: cli.cwd, file: config, overrides: { data, ...overrides } })
      shell.onLoaded(loaded)
      return loaded
    },
    print: (data, text) => cli.io.out(json ? `${JSON.stringify(data, null, 2)}\n` : text),
  }
}
