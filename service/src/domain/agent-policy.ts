// What an administrator lets the agents of a workspace do. It only takes away: a tool that a file does not give stays away,
// and a budget that is wider than the deployment's changes nothing.
import type { AgentBudget } from './agent-session.ts'
import { DEFAULT_BUDGET } from './agent-session.ts'
import { isToolName, TOOL_NAMES } from './agent-tools.ts'
import { invalidInput } from './errors.ts'
import { nearest } from './nearest.ts'
import { hasControl, parseEmail, quoted } from './text.ts'

export interface AgentPolicy {
  /** Null: every tool. Otherwise these alone, whatever a file says. */
  readonly tools: readonly string[] | null
  /** Lower-case names of hosts, `*.example.com` for all below one; empty: no network for the shell. */
  readonly egressHosts: readonly string[]
  /** What is missing is the deployment's. */
  readonly budget: Readonly<Partial<AgentBudget>>
  /** Of the agents' commits; empty: the deployment's. */
  readonly commitName: string
  readonly commitEmail: string
}

export const DEFAULT_POLICY: AgentPolicy = {
  tools: null,
  egressHosts: [],
  budget: {},
  commitName: '',
  commitEmail: '',
}

export const BUDGET_FIELDS = Object.keys(DEFAULT_BUDGET) as (keyof AgentBudget)[]

/** Field by field the smaller one. */
export function narrowBudget(deployment: AgentBudget, policy: Readonly<Partial<AgentBudget>>): AgentBudget {
  const narrowed = BUDGET_FIELDS.map((field) => [field, Math.min(deployment[field], policy[field] ?? Infinity)])
  return Object.fromEntries(narrowed) as unknown as AgentBudget
}

/** What is given of a policy, null being given where it has a meaning; what is undefined stays as it is. */
export interface AgentPolicyInput {
  readonly tools?: readonly string[] | null | undefined
  readonly egressHosts?: readonly string[] | undefined
  /** The fields that are given; null takes a limit away. */
  readonly budget?: Readonly<{ [field in keyof AgentBudget]?: number | null | undefined }> | undefined
  readonly commitName?: string | undefined
  readonly commitEmail?: string | undefined
}

const MOST_TOOLS = 300
const MOST_HOSTS = 100
const MOST_BUDGET = Number.MAX_SAFE_INTEGER

export function changePolicy(old: AgentPolicy, input: AgentPolicyInput): AgentPolicy {
  const { tools, egressHosts, budget, commitName, commitEmail } = input
  return {
    tools: tools === undefined ? old.tools : parseTools(tools),
    egressHosts: egressHosts === undefined ? old.egressHosts : parseHosts(egressHosts),
    budget: budget === undefined ? old.budget : changeBudget(old.budget, budget),
    commitName: commitName === undefined ? old.commitName : parseCommitName(commitName),
    commitEmail:
      commitEmail === undefined
        ? old.commitEmail
        : commitEmail.trim() === ''
          ? ''
          : parseEmail(commitEmail, 'commitEmail'),
  }
}

const MCP_TOOL = /^mcp_[A-Za-z0-9_-]{1,120}$/

function parseTools(names: readonly string[] | null): readonly string[] | null {
  if (names === null) return null
  if (names.length > MOST_TOOLS) throw invalidInput(`tools: at most ${MOST_TOOLS}.`)
  for (const name of names) {
    if (isToolName(name) || MCP_TOOL.test(name)) continue
    const meant = nearest(name, TOOL_NAMES)
    throw invalidInput(
      `tools: there is no tool ${quoted(name)}. ${meant ? `Did you mean ${meant}?` : `There are: ${TOOL_NAMES.join(', ')}.`}`,
    )
  }
  return [...new Set(names)]
}

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'
const HOST = new RegExp(`^(?:\\*\\.)?(?:${LABEL}\\.)*${LABEL}$`)

function parseHosts(hosts: readonly string[]): readonly string[] {
  if (hosts.length > MOST_HOSTS) throw invalidInput(`egressHosts: at most ${MOST_HOSTS}.`)
  const parsed = hosts.map((one) => {
    const host = one.trim().toLowerCase()
    // An address has no name that a proxy could tell from another one; the last part of a name is never a number.
    if (host.length > 253 || !HOST.test(host) || /(?:^|\.)\d+$/.test(host) || host === '*') {
      throw invalidInput(
        `egressHosts: ${quoted(one)} is not the name of a host. Write pypi.org, or *.pythonhosted.org for all below it; no scheme, port or path.`,
      )
    }
    return host
  })
  return [...new Set(parsed)]
}

function changeBudget(
  old: AgentPolicy['budget'],
  input: NonNullable<AgentPolicyInput['budget']>,
): AgentPolicy['budget'] {
  const changed: Record<string, number> = { ...old }
  for (const field of BUDGET_FIELDS) {
    const value = input[field]
    if (value === undefined) continue
    if (value === null) delete changed[field]
    else if (Number.isInteger(value) && value >= 1 && value <= MOST_BUDGET) changed[field] = value
    else throw invalidInput(`budget.${field}: a whole number of at least 1, not ${value}. Leave it out for no limit.`)
  }
  return changed
}

function parseCommitName(text: string): string {
  const name = text.trim()
  // git reads what stands between < and > as the address.
  if (name.length > 128 || hasControl(name) || /[<>]/.test(name))
    throw invalidInput('commitName: one line of at most 128 characters, without < and >.')
  return name
}
