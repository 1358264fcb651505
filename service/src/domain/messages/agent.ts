// What a session of an agent says outside: its texts in Slack, and the webhook at the end of each turn. Both are kept with
// their deliveries, so that a late try says what was true when it happened.
import type { AgentStatus } from '../agent-session.ts'
import { escapedWithin } from './slack.ts'

/** The event of a delivery to Slack that holds an AgentText. */
export const AGENT_TEXT = 'agent.message'

export interface AgentText {
  readonly text: string
  /** Empty: the first text of the session begins a thread, the others follow in it. */
  readonly threadTs: string
}

/** Slack cuts at 40,000 and asks for less; the whole is in the transcript. */
const MOST_TEXT = 12_000

/** Escaped: nothing that a model writes mentions somebody or hides where a link leads. */
export const agentSlackText = (text: string): string => escapedWithin(text, MOST_TEXT)

export interface AgentReport {
  readonly apiUrl: string
  readonly workspace: { readonly uid: string; readonly name: string }
  readonly agent: string
  readonly session: ReportedSession
}

export interface ReportedSession {
  readonly id: string
  readonly status: AgentStatus
  readonly turn: number
  readonly actor: string
  readonly actorEmail: string
  readonly reason: string
  /** As the API writes them; null where there is none. */
  readonly startDttm: string
  readonly endDttm: string | null
  readonly branch: string
  readonly commitHash: string
  readonly pullRequest: string
  readonly parentSessionId: string | null
}

const sessionQuery = (id: string): string =>
  `query { dinoaiAgentRun(agentSessionId: "${id}") { ok agentSessionId status messages { ts role content } childSessionIds } }`

/** The form of a run's webhook: a session has no schedule and no commands. */
export function agentWebhook(event: string, report: AgentReport): string {
  const { session } = report
  return JSON.stringify({
    event,
    api_url: report.apiUrl,
    workspace: { uid: report.workspace.uid, name: report.workspace.name },
    schedule: null,
    agent: { name: report.agent },
    run: {
      id: session.id,
      state: session.status.toUpperCase(),
      turn: session.turn,
      actor: session.actor,
      actor_email: session.actorEmail,
      reason: session.reason,
      start_dttm: session.startDttm,
      end_dttm: session.endDttm,
      branch: session.branch,
      commit_hash: session.commitHash,
      pull_request_url: session.pullRequest || null,
      parent_session_id: session.parentSessionId,
      api_query: sessionQuery(session.id),
    },
    commands: [],
  })
}
