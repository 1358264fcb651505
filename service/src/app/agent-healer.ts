// Self-healing: a session of an agent for a run that failed. It works as the service itself, whose one right is to read
// schedules and runs (app/agent-caller.ts), on a branch of its own from the branch that the run was on.
import { HEALER_AGENT } from '../domain/agent-built-in.ts'
import { healingMessage } from '../domain/agent-healing.ts'
import type { AgentBudget } from '../domain/agent-session.ts'
import { AppError } from '../domain/errors.ts'
import { repositoryOf } from '../domain/repository-address.ts'
import type { Healer, HealingAnswer, HealingTask } from '../ports/healer.ts'
import type { Models } from '../ports/model.ts'
import * as sessions from '../store/agent-sessions.ts'
import { inTransaction } from '../store/database.ts'
import * as healing from '../store/healing.ts'
import * as workspaces from '../store/workspaces.ts'
import type { AgentDefinitions, FoundAgent } from './agent-definitions.ts'
import { startSession } from './agent-start.ts'
import type { App } from './context.ts'
import { systemContext } from './context.ts'
import { mutate } from './mutate.ts'
import { readRunReport } from './run-report.ts'

export interface HealerDeps {
  readonly definitions: AgentDefinitions
  readonly models: Models
  /** Of the deployment. */
  readonly budget?: AgentBudget | undefined
  /** Aborted when the service goes down. */
  readonly signal: AbortSignal
}

/** Of the actor of such sessions, as the audit log and the transcript name it. */
const ACTOR = 'self-healing'

export const agentHealer = (app: App, deps: HealerDeps): Healer => ({
  start: async (task) => {
    // One that was started before a crash is the same one, whatever the file says by now.
    const known = await sessions.findByHealing(app.db, task.workspaceId, task.id)
    if (known !== null) return { kind: 'started', session: known }
    try {
      return await begin(app, deps, task)
    } catch (error) {
      // What a person must mend is told; what passes by itself is tried again.
      if (error instanceof AppError && error.code !== 'UNAVAILABLE') return { kind: 'refused', reason: error.message }
      throw error
    }
  },
})

async function begin(app: App, deps: HealerDeps, task: HealingTask): Promise<HealingAnswer> {
  const { workspaceId, runId } = task
  const [workspace] = await workspaces.list(app.db, [workspaceId])
  if (workspace === undefined) return { kind: 'refused', reason: 'The workspace was archived.' }
  if (!workspace.agents) return { kind: 'refused', reason: 'Agents are switched off for this workspace.' }
  const ctx = systemContext(app, ACTOR, workspace)
  const found = await deps.definitions.find(ctx, task.agent === '' ? HEALER_AGENT : task.agent, deps.signal)
  const { family } = await deps.models.choose(workspaceId, found.definition.modelFamily)
  const report = await inTransaction(app.db, (tx) => readRunReport(app, tx, { workspaceId, runId }))
  const home = await healing.findRunPlace(app.db, workspaceId, runId)
  const session = await mutate(ctx, async (unit) => {
    const id = await startSession(unit, {
      workspaceId,
      environmentId: placeOf(found, home),
      agent: found.definition.name,
      definition: found.definition,
      definitionCommit: found.commit,
      baseBranch: report.run.branch,
      modelFamily: family,
      message: { text: healingMessage(report), author: 'service', name: ACTOR },
      actor: { kind: 'service', name: ACTOR },
      parent: null,
      slack: task.slack,
      healingRequestId: task.id,
      budget: deps.budget,
    })
    unit.record('agent_triggered', { session: id, agent: found.definition.name, run: runId, cause: 'self_healing' })
    return id
  })
  return { kind: 'started', session }
}

/** Where the agent works otherwise, if that is the repository that failed; else where the run was. */
function placeOf(found: FoundAgent, run: { readonly environmentId: number; readonly repositoryUrl: string }): number {
  if (found.definition.environment !== '') return found.environment.id
  const isSame = repositoryOf(found.environment.repositoryUrl) === repositoryOf(run.repositoryUrl)
  return isSame ? found.environment.id : run.environmentId
}
