// Stands for what compose/agents.ts will hand out.
import { openModel } from '../adapters/models/index.ts'
import { agentDefinitions } from '../app/agent-definitions.ts'
import type { AgentDeps } from '../app/agent-sessions.ts'
import type { App } from '../app/context.ts'
import { modelsOf } from '../app/model-families.ts'
import type { Config } from '../config/schema.ts'
import type { Environment } from './worker.ts'
import { openSource } from './worker.ts'

export const agentDeps = (config: Config, app: App, environment: Environment): AgentDeps => ({
  definitions: agentDefinitions({ source: openSource(config, app, environment) }),
  models: modelsOf(app, openModel({} as never)),
})
