import { type Command, Option } from 'commander'
import type { AgentList } from '../app/agent-definitions.ts'
import { getAgentSession, getAgentSteps, listAgentSessions } from '../app/agent-queries.ts'
import { sendAgentMessage, stopAgent, triggerAgent } from '../app/agent-sessions.ts'
import { agentDeps } from '../compose/agents.ts'
import type { Config } from '../config/schema.ts'
import { AGENT_STATUSES, type AgentStatus } from '../domain/agent-session.ts'
import { findingLine } from '../domain/schedule-file.ts'
import { END_CODES, followSession, messageText, stepText } from './agents-follow.ts'
import { registerPolicy } from './agents-policy.ts'
import { inWorkspace, runningService } from './app.ts'
import { addCommand, addNoun, arg, optionalArg, type Shell } from './command.ts'
import { refusal } from './errors.ts'
import { WORKSPACE, wholeNumber } from './options.ts'
import { table } from './table.ts'

interface Options {
  readonly workspace?: string
  readonly message?: string
  readonly branch?: string
  readonly model?: string
  readonly wait?: boolean
  readonly agent?: string
  readonly status?: AgentStatus
  readonly parent?: string
  readonly limit?: number
  readonly steps?: boolean
}

const CODES =
  'With --wait it shows what the agent does and ends with the turn: ' +
  `${Object.entries(END_CODES)
    .map(([status, code]) => `${code} ${status}`)
    .join(', ')}; 1 when it could not be asked. Ctrl-C stops waiting, not the agent.`

const WAIT = ['--wait', 'show what the agent does until its turn is over'] as const
const SESSION = arg('session', 'the id of the session')

export function registerAgents(program: Command, shell: Shell): void {
  const noun = addNoun(program, 'agents', 'agents of the repository, their sessions, and what they may do')
  list(noun, shell)
  run(noun, shell)
  send(noun, shell)
  stop(noun, shell)
  sessions(noun, shell)
  transcript(noun, shell)
  registerPolicy(noun, shell)
}

/** Nobody would work on it, and a service that is started now would wait for this command to end. */
async function refuseWaitingAlone(config: Config): Promise<void> {
  if (config.database.url !== undefined || (await runningService(config)) !== null) return
  throw refusal(`No service works on ${config.data}: start one with yardmaster serve, or leave --wait out.`)
}

function list(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'list',
      summary: 'list the agents of a workspace with what is wrong with their files',
      details: 'Files are read from .dinoai/agents of the repository. Ends with 1 when one has faults.',
      examples: ['yardmaster agents list'],
    },
    async ({ options, cli, load, print }) => {
      const loaded = load()
      const found = await inWorkspace(loaded, options.workspace, (ctx) =>
        agentDeps(loaded.config, ctx, cli.env).definitions.list(ctx, AbortSignal.timeout(30_000)),
      )
      print(found, listText(found))
      return found.agents.every((one) => one.definition !== null) ? undefined : 1
    },
  ).option(...WORKSPACE)
}

function listText({ agents, warning }: AgentList): string {
  const rows = agents.map(({ name, file, definition, builtIn }) => [
    name,
    builtIn ? 'built in' : file,
    definition === null ? 'refused' : (definition.role.split('\n')[0] ?? ''),
    definition?.squad.join(','),
  ])
  const findings = agents.flatMap((one) => one.findings.map((finding) => `${findingLine(finding)}\n`))
  const notes = [...findings, ...(warning === '' ? [] : [`${warning}\n`])].join('')
  return `${table(['AGENT', 'FILE', 'ROLE', 'SQUAD'], rows)}${notes === '' ? '' : `\n${notes}`}`
}

function run(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'run',
      args: [optionalArg('agent', 'the name of its file; without one the built-in assistant runs')],
      summary: 'start a session of an agent',
      details: `The running service does the work. ${CODES}`,
      examples: [
        'yardmaster agents run explainer --wait',
        "yardmaster agents run --message 'Which models have no tests?' --wait",
      ],
    },
    async ({ args, options, cli, io, json, load, print }) => {
      const loaded = load()
      if (options.wait === true) await refuseWaitingAlone(loaded.config)
      return await inWorkspace(loaded, options.workspace, async (ctx) => {
        const started = await triggerAgent(ctx, agentDeps(loaded.config, ctx, cli.env), {
          agent: args[0] ?? null,
          message: options.message ?? null,
          baseBranch: options.branch ?? null,
          modelFamily: options.model ?? null,
        })
        if (started.warning !== null) io.err(`${started.warning}\n`)
        if (options.wait === true) return await followSession(ctx, started.sessionId, { io, json, print })
        print(started, `Session ${started.sessionId} is queued.\n`)
        return undefined
      })
    },
  )
    .option(...WORKSPACE)
    .option('--message <text>', 'what it is asked, in addition to its goal')
    .option('--branch <reference>', 'the branch, tag or commit that it begins from (default: the default branch)')
    .option('--model <family>', 'the model family, in place of the one that its file names')
    .option(...WAIT)
}

function send(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'send',
      args: [SESSION, arg('message', 'what it is asked')],
      summary: 'write to a session, which goes on with all that it knows',
      details: `For a day after the last message of either side. ${CODES}`,
      examples: ["yardmaster agents send 9xk39q9tyc68w5kz 'And the day before?' --wait"],
    },
    async ({ args, options, io, json, load, print }) => {
      const loaded = load()
      if (options.wait === true) await refuseWaitingAlone(loaded.config)
      return await inWorkspace(loaded, options.workspace, async (ctx) => {
        const sessionId = args[0]!
        const before = (await getAgentSteps(ctx, sessionId, { after: null, includeToolIo: false, maxChars: null })).at(
          -1,
        )
        await sendAgentMessage(ctx, { sessionId, message: args[1]! })
        if (options.wait === true)
          return await followSession(ctx, sessionId, { io, json, print, after: before?.seq ?? 0 })
        print({ sessionId }, `Session ${sessionId} has the message.\n`)
        return undefined
      })
    },
  )
    .option(...WORKSPACE)
    .option(...WAIT)
}

function stop(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'stop',
      args: [SESSION],
      summary: 'stop a session and those that it called',
      examples: ['yardmaster agents stop 9xk39q9tyc68w5kz'],
    },
    async ({ args, options, load, print }) => {
      const sessionId = args[0]!
      const { status } = await inWorkspace(load(), options.workspace, (ctx) => stopAgent(ctx, { sessionId }))
      print({ sessionId, status }, `Session ${sessionId} is ${status}.\n`)
      return undefined
    },
  ).option(...WORKSPACE)
}

function sessions(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'sessions',
      summary: 'list sessions, newest first',
      examples: ['yardmaster agents sessions --status failed'],
    },
    async ({ options, load, print }) => {
      const { sessions: all } = await inWorkspace(load(), options.workspace, (ctx) =>
        listAgentSessions(ctx, {
          agent: options.agent ?? null,
          statuses: options.status === undefined ? null : [options.status],
          parentId: options.parent ?? null,
          offset: null,
          limit: options.limit ?? null,
        }),
      )
      print(
        all,
        table(
          ['SESSION', 'AGENT', 'STATUS', 'TURN', 'STARTED', 'MODEL', 'PARENT', 'REASON'],
          all.map((one) => [
            one.id,
            one.agent,
            one.status,
            one.turn,
            one.createdAt.toISOString().slice(0, 19),
            one.modelFamily,
            one.parentId,
            one.reason,
          ]),
        ),
      )
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--agent <name>', 'only those of this agent')
    .addOption(new Option('--status <status>', 'only those in this status').choices(AGENT_STATUSES))
    .option('--parent <session>', 'only those that this session called')
    .option('--limit <count>', 'how many at most (default: 100)', wholeNumber(1, 1000))
}

function transcript(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'transcript',
      args: [SESSION],
      summary: 'show what was said in a session, with --steps also what was done',
      examples: ['yardmaster agents transcript 9xk39q9tyc68w5kz --steps'],
    },
    async ({ args, options, load, print }) => {
      const sessionId = args[0]!
      const [view, steps] = await inWorkspace(load(), options.workspace, (ctx) =>
        Promise.all([
          getAgentSession(ctx, sessionId),
          getAgentSteps(ctx, sessionId, { after: null, includeToolIo: options.steps === true, maxChars: 4000 }),
        ]),
      )
      const text = options.steps === true ? steps.map((one) => stepText(one, 'whole')) : view.messages.map(messageText)
      print({ ...view, ...(options.steps === true && { steps }) }, text.join(''))
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--steps', 'every step with the input and output of its tools')
}
