// Agents of workspaces whose repository holds no file of one: the built-in ones are there, and no git host is asked.
import { openModel } from '../../service/src/adapters/models/index.ts'
import { agentDefinitions } from '../../service/src/app/agent-definitions.ts'
import { type AgentDeps, triggerAgent } from '../../service/src/app/agent-sessions.ts'
import type { App, Context } from '../../service/src/app/context.ts'
import { modelsOf } from '../../service/src/app/model-families.ts'
import type { FileSource } from '../../service/src/ports/source.ts'

const noFiles: FileSource = {
  files: async () => ({ commit: 'c0ffee'.repeat(6), fetchedAt: new Date(0), files: [], warning: '' }),
}

export const testAgentDeps = (app: App): AgentDeps => ({
  definitions: agentDefinitions({ source: noFiles }),
  models: modelsOf(app, openModel({ fetch: () => Promise.reject(new Error('no network here')) })),
})

/** A session that waits for a worker, in a workspace whose default environment has a repository. */
export const testSession = async (ctx: Context): Promise<string> =>
  (await triggerAgent(ctx, testAgentDeps(ctx), { message: 'Why?' })).sessionId
