// Every operation that is served, by area. A name that contract/ lacks, or that contract/ has and this lacks, stops
// the service at its start.
import type { AgentDeps } from '../../../app/agent-sessions.ts'
import { agentSettingResolvers } from './agent-settings.ts'
import { agentResolvers } from './agents.ts'
import { auditResolvers } from './audit.ts'
import { deliveryResolvers } from './deliveries.ts'
import { environmentResolvers } from './environments.ts'
import { integrationResolvers } from './integrations.ts'
import { keyResolvers } from './keys.ts'
import { logResolvers } from './logs.ts'
import { messageTemplateResolvers } from './message-templates.ts'
import { peopleResolvers } from './people.ts'
import { pullRequestResolvers } from './pull-requests.ts'
import { runResolvers } from './runs.ts'
import { scheduleFileResolvers } from './schedule-files.ts'
import { scheduleResolvers } from './schedules.ts'
import { userResolvers } from './users.ts'
import { webhookResolvers } from './webhooks.ts'
import { workspaceResolvers } from './workspaces.ts'

/** What some of them stand on beside the context. */
export interface ResolverDeps {
  readonly agents: AgentDeps
}

export const createResolvers = ({ agents }: ResolverDeps) => ({
  ...agentResolvers(agents),
  ...agentSettingResolvers(agents),
  ...auditResolvers,
  ...deliveryResolvers,
  ...environmentResolvers,
  ...integrationResolvers,
  ...keyResolvers,
  ...logResolvers,
  ...messageTemplateResolvers,
  ...peopleResolvers,
  ...pullRequestResolvers,
  ...runResolvers,
  ...scheduleFileResolvers,
  ...scheduleResolvers,
  ...userResolvers,
  ...webhookResolvers,
  ...workspaceResolvers,
})
