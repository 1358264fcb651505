import { Command, CommanderError } from 'commander'
import { createScrubber } from '../adapters/scrub.ts'
import { VERSION } from '../compose/version.ts'
import { secretTexts } from '../config/describe.ts'
import { registerAgents } from './agents.ts'
import { registerAudit } from './audit.ts'
import { addCommand, type Shell } from './command.ts'
import { registerConfig } from './config.ts'
import { registerDeliveries } from './deliveries.ts'
import { registerDoctor } from './doctor.ts'
import { registerEnvironments } from './environments.ts'
import { failureOf } from './errors.ts'
import { registerFeatures } from './features.ts'
import { registerIntegrations } from './integrations.ts'
import type { Cli } from './io.ts'
import { registerKeys } from './keys.ts'
import { registerMcp } from './mcp.ts'
import { registerMessageTemplates } from './message-templates.ts'
import { registerModels } from './models.ts'
import { registerPullRequests } from './pull-requests.ts'
import { registerSchedules } from './schedules.ts'
import { registerSecrets } from './secrets.ts'
import { registerSetup } from './setup.ts'
import { registerUsers } from './users.ts'
import { registerWebhooks } from './webhooks.ts'
import { registerWorker } from './worker.ts'
import { registerWorkspaces } from './workspaces.ts'

/** 0: done. 1: it did not work, or something is wrong. 2: the command was not understood. */
const NOT_UNDERSTOOD = 2

interface ServeOptions {
  readonly host?: string
  readonly port?: string
  readonly roles?: string
}

export function buildProgram(shell: Shell): Command {
  const program = new Command('yardmaster')
    .description("Runs a data team's dbt and shell jobs from git on a timetable, behind one GraphQL API.")
    .version(VERSION, '-V, --version', 'print the version')
    .option('--data <dir>', 'the data folder (default: YARDMASTER_DATA, or .yardmaster in the working folder)')
    .option(
      '--config <file>',
      'the configuration file (default: yardmaster.yaml in the working folder, if it is there)',
    )
    .option('--json', 'print results and errors as JSON')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => shell.cli.io.out(text),
      writeErr: (text) => shell.writeHelp(text),
      // Said once, at the end, in one form for all errors.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', '\nExample:\n  $ yardmaster serve\n\nyardmaster COMMAND --help shows more and an example.')

  addCommand<ServeOptions>(
    program,
    shell,
    {
      name: 'serve',
      summary: 'run the service until a signal stops it',
      details:
        'The first start on an empty data folder makes a workspace Demo, a sign-in link and a key. The first SIGINT or ' +
        'SIGTERM lets requests end; a second one ends at once.',
      examples: [
        'yardmaster serve --data /var/lib/yardmaster --host 127.0.0.1 --port 4400 --roles api,scheduler,worker',
      ],
    },
    async ({ cli, options: { host, port, roles }, load }) => {
      const { runServe } = await import('./serve.ts')
      return await runServe(load({ host, port, roles }), cli.env)
    },
  )
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'the port to listen on, 0 for any free one (default: 4400)')
    .option('--roles <list>', 'what this process does: api, scheduler, worker (default: all)')
  registerWorker(program, shell)
  registerSetup(program, shell)
  registerWorkspaces(program, shell)
  registerEnvironments(program, shell)
  registerSchedules(program, shell)
  registerUsers(program, shell)
  registerKeys(program, shell)
  registerIntegrations(program, shell)
  registerMessageTemplates(program, shell)
  registerWebhooks(program, shell)
  registerDeliveries(program, shell)
  registerPullRequests(program, shell)
  registerAgents(program, shell)
  registerModels(program, shell)
  registerMcp(program, shell)
  registerFeatures(program, shell)
  registerAudit(program, shell)
  registerSecrets(program, shell)
  registerConfig(program, shell)
  registerDoctor(program, shell)
  return program
}

/** Runs one command line and says how it ended; whatever went wrong has been printed. */
export async function runProgram(argv: readonly string[], cli: Cli): Promise<number> {
  const scrubber = createScrubber()
  const json = argv.includes('--json')
  let code = 0
  const program = buildProgram({
    cli,
    execute: async (call, handler) => {
      code = (await handler(call)) ?? 0
    },
    onLoaded: ({ config }) => secretTexts(config).forEach(scrubber.mask),
    writeHelp: (text) => {
      if (!json) cli.io.err(text)
    },
  })
  const complain = (failure: { code: string; message: string }, more = ''): void => {
    const message = scrubber.text(failure.message)
    if (json) cli.io.err(`${JSON.stringify({ error: { code: failure.code, message } })}\n`)
    else cli.io.err(`yardmaster: ${message}\n${scrubber.text(more)}`)
  }
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      const path = pathOf(program, argv)
      if (error.code === 'commander.help') {
        // A noun without a verb: its help has been printed, for people.
        if (json) complain({ code: 'USAGE', message: `${path} needs a command. Run ${path} --help to see which.` })
        return NOT_UNDERSTOOD
      }
      const hint = `Run ${path} --help to see what it takes.\n`
      complain({ code: 'USAGE', message: error.message.replace(/^error: /, '') }, hint)
      return NOT_UNDERSTOOD
    }
    const debug = ['debug', 'trace'].includes(cli.env.YARDMASTER_LOG_LEVEL ?? '')
    complain(failureOf(error), debug && error instanceof Error ? `${error.stack}\n` : '')
    return 1
  }
}

/** The command that was meant, as far as it was understood. */
function pathOf(program: Command, argv: readonly string[]): string {
  let command = program
  const path = [program.name()]
  for (const word of argv) {
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) continue
    command = next
    path.push(word)
  }
  return path.join(' ')
}
