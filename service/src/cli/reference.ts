// docs/cli.md, made from the program itself. `npm run generate` writes it, and a test compares.
import type { Command, Option } from 'commander'
import { argumentWord, type Shell, wordsOf } from './command.ts'
import { buildProgram } from './program.ts'

export function renderCliReference(): string {
  const program = buildProgram(silent)
  const leaves = leavesOf(program)
  return `<!-- Generated from service/src/cli, do not edit: npm run generate -->

# Command line

\`yardmaster\`, in a clone \`npx yardmaster\`. Every command works beside a running service on the same data folder, with none running, and
against \`DATABASE_URL\`. They act as the operator of the host: whoever can read the data folder may do everything, and the audit log names the
system's user.

| Option of every command | |
|---|---|
${program.options.map(optionRow).join('\n')}
| \`-h, --help\` | show help |

Exit codes: 0 done; 1 it did not work, or something is wrong (the message on standard error says what to do); 2 the command was not understood.
With \`--json\` a result is one JSON value on standard output, and an error is \`{ "error": { "code", "message" } }\` on standard error. Commands log
warnings to standard error; \`YARDMASTER_LOG_LEVEL=debug\` shows more, stacks of errors among it. All other settings: [configuration.md](configuration.md).

| Command | |
|---|---|
${leaves.map(({ path, command }) => `| [\`${path}\`](#${anchor(path)}) | ${cell(command.summary())} |`).join('\n')}

${leaves.map(section).join('\n')}`
}

interface Leaf {
  readonly path: string
  readonly command: Command
}

function leavesOf(command: Command, parents: readonly string[] = []): Leaf[] {
  return command.commands.flatMap((one) => {
    const path = [...parents, one.name()]
    if (one.commands.length > 0) return leavesOf(one, path)
    return wordsOf(one) === undefined ? [] : [{ path: path.join(' '), command: one }]
  })
}

function section({ path, command }: Leaf): string {
  const words = wordsOf(command)!
  const args = (words.args ?? []).map((one) => `| \`${argumentWord(one)}\` | ${cell(argumentText(one))} |`)
  const rows = [...args, ...command.options.map(optionRow)]
  const shown = rows.length === 0 ? '' : `\n| | |\n|---|---|\n${rows.join('\n')}\n`
  return `## ${path}

${capital(words.summary)}.${words.details === undefined ? '' : ` ${words.details}`}

\`\`\`sh
${words.examples.join('\n')}
\`\`\`
${shown}`
}

function argumentText(argument: { description: string; argChoices?: string[] }): string {
  const { description, argChoices } = argument
  return argChoices === undefined ? description : `${description}: ${argChoices.join(', ')}`
}

function optionRow(option: Option): string {
  const choices = option.argChoices === undefined ? '' : `: ${option.argChoices.join(', ')}`
  const fallback = option.defaultValue === undefined ? '' : ` (default: ${String(option.defaultValue)})`
  const needed = option.mandatory ? ' (needed)' : ''
  return `| \`${cell(option.flags)}\` | ${cell(option.description)}${choices}${fallback}${needed} |`
}

const cell = (text: string): string => text.replaceAll('|', '\\|')
const anchor = (path: string): string => path.replaceAll(' ', '-')
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

const silent: Shell = {
  cli: {
    env: {},
    cwd: '/',
    io: { out: () => {}, err: () => {}, isRead: true, read: async () => '' },
  },
  execute: async () => {},
  onLoaded: () => {},
  writeHelp: () => {},
}
