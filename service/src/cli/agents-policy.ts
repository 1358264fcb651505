import type { Command } from 'commander'
import type { AgentPolicy } from '../app/agent-policy.ts'
import { getAgentPolicy, setAgentPolicy } from '../app/agent-policy.ts'
import { TOOL_NAMES } from '../domain/agent-tools.ts'
import { inWorkspace } from './app.ts'
import { addCommand, type Shell } from './command.ts'
import { several, WORKSPACE, wholeNumber } from './options.ts'
import { pairs } from './table.ts'

interface Options {
  readonly workspace?: string
  readonly tool?: readonly string[]
  readonly allTools?: boolean
  readonly egressHost?: readonly string[]
  readonly closeNetwork?: boolean
  readonly maxSteps?: number
  readonly maxSeconds?: number
  readonly maxTokens?: number
  readonly maxCents?: number
  readonly commitName?: string
  readonly commitEmail?: string
}

export function registerPolicy(noun: Command, shell: Shell): void {
  addCommand<Options>(
    noun,
    shell,
    {
      name: 'policy',
      summary: 'show, and with options change, what the agents of a workspace may do',
      details: `A policy only takes away from what files give. Tools: ${TOOL_NAMES.join(', ')}.`,
      examples: [
        'yardmaster agents policy',
        'yardmaster agents policy --tool read_file,list_directory,ripgrep_search --max-cents 200',
        'yardmaster agents policy --all-tools --egress-host pypi.org,files.pythonhosted.org',
      ],
    },
    async ({ options, load, print }) => {
      const changes = changesOf(options)
      const policy = await inWorkspace(load(), options.workspace, (ctx) =>
        changes === null ? getAgentPolicy(ctx) : setAgentPolicy(ctx, changes),
      )
      print(policy, textOf(policy))
      return undefined
    },
  )
    .option(...WORKSPACE)
    .option('--tool <names...>', 'only these tools, whatever a file says', several)
    .option('--all-tools', 'every tool again')
    .option('--egress-host <names...>', "hosts that the shell's sandbox reaches, such as pypi.org", several)
    .option('--close-network', 'no host at all, which is how it begins')
    .option('--max-steps <count>', 'model calls of a turn; 0 for no limit of its own', wholeNumber(0, 1_000_000))
    .option('--max-seconds <count>', 'seconds of a turn; 0 for no limit of its own', wholeNumber(0, 1_000_000))
    .option(
      '--max-tokens <count>',
      'tokens of a session with all that it calls; 0 as above',
      wholeNumber(0, 2 ** 31 - 1),
    )
    .option('--max-cents <count>', 'cost of a session with all that it calls; 0 as above', wholeNumber(0, 100_000_000))
    .option('--commit-name <name>', 'who the commits are by')
    .option('--commit-email <address>', 'the address of the commits')
}

/** 0 takes the limit away. */
const limit = (given: number | undefined): number | null | undefined => (given === 0 ? null : given)

/** Null: nothing is to be changed. */
function changesOf(options: Options): Parameters<typeof setAgentPolicy>[1] | null {
  const changes = {
    tools: options.allTools === true ? null : options.tool,
    egressHosts: options.closeNetwork === true ? [] : options.egressHost,
    commitName: options.commitName,
    commitEmail: options.commitEmail,
  }
  const budget = {
    steps: limit(options.maxSteps),
    seconds: limit(options.maxSeconds),
    tokens: limit(options.maxTokens),
    costMicrodollars: limit(options.maxCents === undefined ? undefined : options.maxCents * 10_000),
  }
  const isGiven = (one: unknown): boolean => one !== undefined
  if (!Object.values(changes).some(isGiven) && !Object.values(budget).some(isGiven)) return null
  return { ...changes, budget }
}

const textOf = ({ tools, egressHosts, budget, commitName, commitEmail }: AgentPolicy): string =>
  pairs([
    ['Tools', tools === null ? 'every one' : tools.join(', ') || 'none'],
    ['Network of the shell', egressHosts.join(', ') || 'closed'],
    ['Steps of a turn', budget.steps ?? "the deployment's"],
    ['Seconds of a turn', budget.seconds ?? "the deployment's"],
    ['Tokens of a tree', budget.tokens ?? "the deployment's"],
    ['Dollars of a tree', budget.costMicrodollars === undefined ? "the deployment's" : budget.costMicrodollars / 1e6],
    ['Commits by', commitName === '' ? 'the service' : `${commitName} <${commitEmail}>`],
  ])
