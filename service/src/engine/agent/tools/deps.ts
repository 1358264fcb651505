// What the service's own tools are given. Each takes the part that it needs.
import type { AgentDefinitions } from '../../../app/agent-definitions.ts'
import type { App } from '../../../app/context.ts'
import type { Models } from '../../../ports/model.ts'
import type { OutgoingHttp } from '../../../ports/outgoing-http.ts'
import type { QueryRunner } from '../query-runner.ts'
import type { Tool } from './tool.ts'

export interface ToolDeps {
  readonly app: App
  readonly http: OutgoingHttp
  readonly agents: { readonly definitions: AgentDefinitions; readonly models: Models }
  /** Null where this host executes no runs. */
  readonly queries: QueryRunner | null
  /** Files, search, shell and git of the session's checkout. */
  readonly checkoutTools: readonly Tool[]
}
