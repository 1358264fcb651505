// Sessions of agents in the words of the interface.

import type { ListedAgent } from '../../../app/agent-definitions.ts'
import type { AgentMessage, AgentStep } from '../../../app/agent-queries.ts'
import type { ListedHealing } from '../../../app/healing.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { AgentSession, AgentStatus, SessionActor } from '../../../domain/agent-session.ts'
import type {
  DinoAiAgentDefinition,
  DinoAiAgentMessage,
  DinoAiAgentRunStatus,
  DinoAiAgentSession,
  DinoAiAgentStep,
  DinoAiAgentStepKind,
  DinoAiAgentUsage,
  HealingRequest,
} from '../wire-types.ts'
import { knowsStopped, presentAgentRole } from './client.ts'
import { presentTime } from './schedule.ts'

const STATUSES = {
  queued: 'QUEUED',
  running: 'RUNNING',
  completed: 'COMPLETED',
  failed: 'FAILED',
  stopped: 'STOPPED',
  expired: 'EXPIRED',
} as const satisfies Record<AgentStatus, DinoAiAgentRunStatus>

const KINDS = {
  message: 'MESSAGE',
  model: 'MODEL',
  tool: 'TOOL',
  child: 'CHILD',
  status: 'STATUS',
  budget: 'BUDGET',
  compaction: 'COMPACTION',
  note: 'NOTE',
} as const satisfies Record<AgentStep['kind'], DinoAiAgentStepKind>

export const presentAgentStatus = (actor: Actor, status: AgentStatus): DinoAiAgentRunStatus =>
  status === 'stopped' && !knowsStopped(actor) ? 'FAILED' : STATUSES[status]

/** The statuses of a session that the caller knows by this word. */
export const parseAgentStatus = (actor: Actor, word: DinoAiAgentRunStatus): AgentStatus[] =>
  (Object.keys(STATUSES) as AgentStatus[]).filter(
    (status) => STATUSES[status] === word || presentAgentStatus(actor, status) === word,
  )

/**
 * Seconds out of microseconds. The nearest double of a time of our century is within a quarter of a microsecond of it, so
 * the six digits survive JSON, and a client that multiplies and rounds has the very number.
 */
export const presentTs = (microseconds: number): number => microseconds / 1e6

export const presentMessages = (actor: Actor, messages: readonly AgentMessage[]): DinoAiAgentMessage[] =>
  messages.map(({ ts, role, content }) => ({
    ts: presentTs(ts),
    role: role === 'user' ? 'user' : presentAgentRole(actor),
    content,
  }))

export const presentUsage = (session: AgentSession): DinoAiAgentUsage => ({
  steps: session.steps,
  tokensIn: session.tokensIn,
  tokensOut: session.tokensOut,
  costDollars: session.costMicrodollars / 1e6,
})

export function presentStarter(actor: SessionActor): string {
  if (actor.kind === 'person') return actor.email
  return actor.name
}

const timeOrNull = (time: Date | null): string | null => (time === null ? null : presentTime(time))

export const presentAgentSession = (actor: Actor, session: AgentSession): DinoAiAgentSession => ({
  agentSessionId: session.id,
  agent: session.agent,
  status: presentAgentStatus(actor, session.status),
  reason: session.reason,
  turn: session.turn,
  model: session.modelFamily,
  startedBy: presentStarter(session.actor),
  parentSessionId: session.parentId,
  rootSessionId: session.rootId,
  branch: session.branch,
  pullRequest: session.pullRequest,
  createdDttm: presentTime(session.createdAt),
  startDttm: timeOrNull(session.startedAt),
  endDttm: timeOrNull(session.endedAt),
  usage: presentUsage(session),
})

const takesTime = ({ kind }: AgentStep): boolean => kind === 'tool' || kind === 'child'

export const presentStep = (step: AgentStep): DinoAiAgentStep => ({
  id: step.id,
  seq: step.seq,
  ts: presentTs(step.ts),
  seconds: takesTime(step) && step.endTs !== null ? (step.endTs - step.ts) / 1e6 : null,
  turn: step.turn,
  kind: KINDS[step.kind],
  title: step.title,
  text: step.text,
  tool: step.tool,
  call: step.call,
  input: step.input,
  output: step.output,
  outputChars: step.outputChars,
  isRunning: step.isRunning,
  isError: step.isError,
  childSessionId: step.childSessionId,
  model: step.model,
  tokensIn: step.usage?.tokensIn ?? 0,
  tokensOut: step.usage?.tokensOut ?? 0,
})

export const presentDefinition = ({
  name,
  file,
  builtIn,
  definition,
  findings,
}: ListedAgent): DinoAiAgentDefinition => ({
  name,
  file,
  builtIn,
  ok: definition !== null,
  version: definition?.version ?? '',
  role: definition?.role ?? '',
  goal: definition?.goal ?? '',
  backstory: definition?.backstory ?? '',
  modelFamily: definition?.modelFamily ?? '',
  environment: definition?.environment ?? '',
  toolMode: definition?.tools == null ? null : definition.tools.mode === 'allowlist' ? 'ALLOWLIST' : 'DENYLIST',
  tools: [...(definition?.tools?.list ?? [])],
  slackChannel: definition?.slackChannel ?? '',
  squad: [...(definition?.squad ?? [])],
  findings: findings.map(({ severity, place, message }) => ({
    isFault: severity === 'fault',
    line: place?.line ?? null,
    column: place?.column ?? null,
    message,
  })),
})

export const presentHealing = (one: ListedHealing): HealingRequest => ({
  id: one.id,
  scheduleSlug: one.scheduleSlug,
  scheduleName: one.scheduleName,
  runId: one.runId,
  agent: one.agent,
  state: one.state.toUpperCase() as Uppercase<ListedHealing['state']>,
  agentSessionId: one.session,
  reason: one.reason,
  branch: one.branch,
  pullRequest: one.pullRequest,
  createdDttm: one.createdAt,
  proposedDttm: one.proposedAt,
  endDttm: one.endedAt,
})
