// An agent as its file says it: .dinoai/agents/<name>.yml of the workspace's repository. A file can only narrow what an
// agent may do; who started it and the workspace's policy decide the rest.

export interface AgentToolList {
  readonly mode: 'allowlist' | 'denylist'
  readonly list: readonly string[]
}

export interface AgentDefinition {
  readonly name: string
  readonly version: string
  readonly role: string
  readonly goal: string
  readonly backstory: string
  /** Empty: the workspace's default. */
  readonly modelFamily: string
  /** Slug of an environment; empty: the default one for agents, else the default one for schedules. */
  readonly environment: string
  /** Null: no `tools` block. */
  readonly tools: AgentToolList | null
  readonly slackChannel: string
  /** Names of the agents that it may call. */
  readonly squad: readonly string[]
}
