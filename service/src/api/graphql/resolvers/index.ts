// Every operation that is served, by area. A name that contract/ lacks, or that contract/ has and this lacks, stops
// the service at its start.
import { auditResolvers } from './audit.ts'
import { environmentResolvers } from './environments.ts'
import { keyResolvers } from './keys.ts'
import { logResolvers } from './logs.ts'
import { peopleResolvers } from './people.ts'
import { runResolvers } from './runs.ts'
import { scheduleResolvers } from './schedules.ts'
import { userResolvers } from './users.ts'
import { workspaceResolvers } from './workspaces.ts'

export const resolvers = {
  ...auditResolvers,
  ...environmentResolvers,
  ...keyResolvers,
  ...logResolvers,
  ...peopleResolvers,
  ...runResolvers,
  ...scheduleResolvers,
  ...userResolvers,
  ...workspaceResolvers,
}
