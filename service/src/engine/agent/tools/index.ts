// Every tool that this host has for a session. Which of them the session may use is decided by domain/agent-tools.ts.
import type { AgentSession } from '../../../domain/agent-session.ts'
import type { ToolDeps } from './deps.ts'
import { pullRequestTools } from './pull-requests.ts'
import { runTools } from './runs.ts'
import { scheduleTools } from './schedules.ts'
import { slackTools } from './slack.ts'
import { sqlTools } from './sql.ts'
import { squadTools } from './squad.ts'
import type { Tool } from './tool.ts'

export { checkInput } from './check-input.ts'
export type { ToolDeps } from './deps.ts'
export { openMcpTools } from './mcp.ts'

export const openTools = (deps: ToolDeps, session: AgentSession): Tool[] => [
  ...deps.checkoutTools,
  ...pullRequestTools(deps),
  ...scheduleTools(),
  ...runTools(),
  ...sqlTools(deps.queries),
  ...slackTools(session),
  ...squadTools(deps, session),
]
