// Every tool that an agent can be given, and the one decision about which it gets:
//
//   the file's list ∩ the workspace's policy ∩ the rights of whoever started the session.
//
// A tool that is not in the answer is not shown to the model, and is refused when it is called all the same.
import type { AgentDefinition } from './agent-definition.ts'
import type { Capability } from './capability.ts'

export interface ToolTraits {
  /**
   * What a call that began and was never seen to end is worth: `again` is run again; `keyed` is run again with
   * `session:call` as its idempotency key; `doubt` is answered with a word that it may have taken effect.
   */
  readonly inDoubt: 'again' | 'keyed' | 'doubt'
  /** Given to a file without a `tools` block. */
  readonly byDefault: boolean
  /** Changes files of the checkout: the tree is kept after it. */
  readonly changesFiles?: true
  /** Has an effect that others see: leaves an audit record. */
  readonly audited?: true
  /** What whoever started the session must hold, any of these. */
  readonly needs?: readonly Capability[]
}

const schedulesRead = ['bolt:schedules:admin', 'bolt:schedules:read'] as const
const schedulesWrite = ['bolt:schedules:admin'] as const

export const TOOLS = {
  read_file: { inDoubt: 'again', byDefault: true },
  list_directory: { inDoubt: 'again', byDefault: true },
  search_files_and_directories: { inDoubt: 'again', byDefault: true },
  ripgrep_search: { inDoubt: 'again', byDefault: true },
  edit_file: { inDoubt: 'doubt', byDefault: true, changesFiles: true },
  write_file: { inDoubt: 'again', byDefault: true, changesFiles: true },
  run_terminal_command: { inDoubt: 'doubt', byDefault: true, changesFiles: true, audited: true },
  git_status: { inDoubt: 'again', byDefault: true },
  git_diff: { inDoubt: 'again', byDefault: true },
  git_log: { inDoubt: 'again', byDefault: true },
  git_commit: { inDoubt: 'keyed', byDefault: true, changesFiles: true, audited: true },
  git_push: { inDoubt: 'keyed', byDefault: true, audited: true },
  open_pull_request: { inDoubt: 'keyed', byDefault: true, audited: true },
  list_pull_requests: { inDoubt: 'again', byDefault: true },
  list_bolt_schedules: { inDoubt: 'again', byDefault: true, needs: schedulesRead },
  get_bolt_run_logs: { inDoubt: 'again', byDefault: true, needs: schedulesRead },
  get_run_status: { inDoubt: 'again', byDefault: true, needs: schedulesRead },
  trigger_bolt_run: { inDoubt: 'keyed', byDefault: false, audited: true, needs: schedulesWrite },
  retry_bolt_run: { inDoubt: 'keyed', byDefault: false, audited: true, needs: schedulesWrite },
  run_sql_query: { inDoubt: 'again', byDefault: false, audited: true, needs: schedulesRead },
  post_slack_message: { inDoubt: 'keyed', byDefault: false, audited: true },
  invoke_agent: { inDoubt: 'keyed', byDefault: false, audited: true, needs: ['dinoai:agent:trigger'] },
  notify_parent_session: { inDoubt: 'keyed', byDefault: false },
} as const satisfies Readonly<Record<string, ToolTraits>>

export type ToolName = keyof typeof TOOLS
export const TOOL_NAMES = Object.keys(TOOLS) as ToolName[]
export const isToolName = (name: string): name is ToolName => Object.hasOwn(TOOLS, name)
export const traitsOf = (name: ToolName): ToolTraits => TOOLS[name]

/** Tools of MCP servers are called `mcp_<server>_<tool>`. */
export const MCP_PREFIX = 'mcp_'

export interface ToolRights {
  readonly definition: AgentDefinition
  /** Of the workspace; null: every tool. */
  readonly allowed: readonly string[] | null
  /** Of whoever started the session, as they are now. */
  readonly capabilities: readonly Capability[]
  /** What this host can do at all: a shell only where there is a sandbox, Slack only where it is set up, and so on. */
  readonly available: (name: ToolName) => boolean
  /** Of servers that an administrator listed, by their full names. */
  readonly mcpTools: readonly string[]
}

/** By full name, in the order of the table, those of MCP servers last. */
export function effectiveTools(rights: ToolRights): string[] {
  const { definition, allowed, capabilities, available, mcpTools } = rights
  const byFile = (name: string, byDefault: boolean): boolean => {
    if (definition.tools === null) return byDefault
    const isNamed = definition.tools.list.includes(name)
    // A deny-list takes away from what an agent has by default: it grants nothing that must be allowed by name.
    return definition.tools.mode === 'allowlist' ? isNamed : byDefault && !isNamed
  }
  const byWorkspace = (name: string): boolean => allowed === null || allowed.includes(name)
  const own = TOOL_NAMES.filter((name) => {
    const { byDefault, needs } = traitsOf(name)
    const isSquad = name === 'invoke_agent' && definition.squad.length > 0 && definition.tools === null
    return (
      byFile(name, byDefault || isSquad) &&
      byWorkspace(name) &&
      (needs === undefined || needs.some((one) => capabilities.includes(one))) &&
      available(name)
    )
  })
  return [...own, ...mcpTools.filter((name) => byFile(name, false) && byWorkspace(name))]
}
