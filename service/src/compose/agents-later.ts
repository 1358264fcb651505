// Stands for what compose/agents.ts will hand out.
import { agentDefinitions } from '../app/agent-definitions.ts'
import type { AgentDeps } from '../app/agent-later.ts'
import type { App } from '../app/context.ts'
import type { Config } from '../config/schema.ts'
import type { Environment } from './worker.ts'
import { openSource } from './worker.ts'

export function agentDeps(config: Config, app: App, environment: Environment): AgentDeps {
  return {
    definitions: agentDefinitions({ source: openSource(config, app, environment) }),
    models: {
      choose: async () => ({ family: 'scripted', warning: null }),
      open: async () => {
        throw new Error('not yet')
      },
    },
  }
}
