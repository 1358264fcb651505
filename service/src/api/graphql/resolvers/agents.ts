import { watchAgentSession } from '../../../app/agent-live.ts'
import {
  getAgentOutput,
  getAgentSession,
  getAgentSteps,
  getStartupSteps,
  listAgentSessions,
} from '../../../app/agent-queries.ts'
import type { AgentDeps } from '../../../app/agent-sessions.ts'
import { sendAgentMessage, stopAgent, triggerAgent } from '../../../app/agent-sessions.ts'
import type { Context } from '../../../app/context.ts'
import { workspaceOf } from '../../../app/context.ts'
import { listHealings } from '../../../app/healing.ts'
import {
  parseAgentStatus,
  presentAgentSession,
  presentAgentStatus,
  presentDefinition,
  presentHealing,
  presentMessages,
  presentStep,
  presentUsage,
} from '../present/agent.ts'
import type {
  DinoAiAgentChange,
  DinoAiAgentDefinitions,
  DinoAiAgentRun,
  DinoAiAgentRunStepsArgs,
  DinoAiAgentSessions,
  DinoAiAgentStep,
  DinoAiAgentStopped,
  DinoAiAgentToolOutput,
  DinoAiAgentTriggered,
  HealingRequests,
  HealingState,
  MutationSendDinoaiAgentMessageArgs,
  MutationStopDinoaiAgentRunArgs,
  MutationTriggerDinoaiAgentRunArgs,
  QueryDinoaiAgentRunArgs,
  QueryDinoaiAgentToolOutputArgs,
  QueryListDinoaiAgentSessionsArgs,
  QueryListHealingRequestsArgs,
  SubscriptionDinoaiAgentRunStateArgs,
} from '../wire-types.ts'

/** `steps` takes arguments, and so is a function of them. */
type AgentRun = Omit<DinoAiAgentRun, 'steps'> & {
  readonly steps: (args: DinoAiAgentRunStepsArgs) => Promise<DinoAiAgentStep[]>
}

/** Files of agents are read from the repository while the caller waits. */
const READ_MS = 9_000

/** Of each input and output of a tool. */
const SOME_CHARS = 2_000

export const agentResolvers = (deps: AgentDeps) => ({
  async dinoaiAgentRun(ctx: Context, { agentSessionId }: QueryDinoaiAgentRunArgs): Promise<AgentRun> {
    const [{ session, messages, childSessionIds }, startup] = await Promise.all([
      getAgentSession(ctx, agentSessionId),
      getStartupSteps(ctx, agentSessionId),
    ])
    return {
      ok: true,
      ...presentAgentSession(ctx.actor, session),
      messages: presentMessages(ctx.actor, messages),
      childSessionIds: [...childSessionIds],
      workspaceUid: workspaceOf(ctx).uid,
      baseBranch: session.baseBranch,
      baseCommit: session.baseCommit,
      definitionCommit: session.definitionCommit,
      slackChannel: session.slackChannel,
      startupSteps: startup.map(presentStep),
      steps: async ({ after, includeToolIo, maxChars }) => {
        const wanted = { after: after ?? null, includeToolIo: includeToolIo ?? false, maxChars: maxChars ?? SOME_CHARS }
        return (await getAgentSteps(ctx, agentSessionId, wanted)).map(presentStep)
      },
    }
  },
  async triggerDinoaiAgentRun(ctx: Context, args: MutationTriggerDinoaiAgentRunArgs): Promise<DinoAiAgentTriggered> {
    const { sessionId, warning } = await triggerAgent(ctx, deps, {
      agent: args.agent ?? null,
      message: args.message ?? null,
      slack: args.slack ?? null,
      baseBranch: args.baseBranch ?? null,
      modelFamily: args.modelFamily ?? null,
    })
    return { ok: true, agentSessionId: sessionId, status: 'queued', warning }
  },
  async sendDinoaiAgentMessage(ctx: Context, args: MutationSendDinoaiAgentMessageArgs): Promise<DinoAiAgentTriggered> {
    const { sessionId } = await sendAgentMessage(ctx, { sessionId: args.agentSessionId, message: args.message })
    return { ok: true, agentSessionId: sessionId, status: 'queued', warning: null }
  },
  async stopDinoaiAgentRun(ctx: Context, args: MutationStopDinoaiAgentRunArgs): Promise<DinoAiAgentStopped> {
    const { status } = await stopAgent(ctx, { sessionId: args.agentSessionId })
    return { ok: true, status: presentAgentStatus(ctx.actor, status) }
  },
  async listDinoaiAgents(ctx: Context): Promise<DinoAiAgentDefinitions> {
    const { commit, warning, agents } = await deps.definitions.list(ctx, AbortSignal.timeout(READ_MS))
    return { ok: true, commitHash: commit, warning, agents: agents.map(presentDefinition) }
  },
  async listDinoaiAgentSessions(ctx: Context, args: QueryListDinoaiAgentSessionsArgs): Promise<DinoAiAgentSessions> {
    const { filter, offset, limit } = args
    const { sessions, totalCount } = await listAgentSessions(ctx, {
      agent: filter?.agent ?? null,
      statuses: filter?.status == null ? null : parseAgentStatus(ctx.actor, filter.status),
      parentId: filter?.parentSessionId ?? null,
      offset: offset ?? null,
      limit: limit ?? null,
    })
    return { ok: true, sessions: sessions.map((one) => presentAgentSession(ctx.actor, one)), totalCount }
  },
  async dinoaiAgentToolOutput(ctx: Context, args: QueryDinoaiAgentToolOutputArgs): Promise<DinoAiAgentToolOutput> {
    const { text } = await getAgentOutput(ctx, args.agentSessionId, args.call)
    return { ok: true, text }
  },
  async listHealingRequests(ctx: Context, args: QueryListHealingRequestsArgs): Promise<HealingRequests> {
    const { healings, totalCount } = await listHealings(ctx, {
      scheduleSlug: null,
      state: args.state == null ? null : (args.state.toLowerCase() as Lowercase<HealingState>),
      offset: args.offset ?? null,
      limit: args.limit ?? null,
    })
    return { ok: true, requests: healings.map(presentHealing), totalCount }
  },
  async dinoaiAgentRunState(
    ctx: Context,
    args: SubscriptionDinoaiAgentRunStateArgs,
    signal: AbortSignal,
  ): Promise<AsyncIterable<DinoAiAgentChange>> {
    const changes = await watchAgentSession(ctx, args.agentSessionId, signal)
    return (async function* () {
      for await (const { session, messages, childSessionIds } of changes) {
        yield {
          agentSessionId: session.id,
          status: presentAgentStatus(ctx.actor, session.status),
          reason: session.reason,
          messages: presentMessages(ctx.actor, messages),
          childSessionIds: [...childSessionIds],
          usage: presentUsage(session),
        }
      }
    })()
  },
})
