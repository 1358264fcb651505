// Stands for use cases that are not there yet.
import type { AgentBudget, AgentSession, AgentStatus, Usage } from '../domain/agent-session.ts'
import type { Models } from '../ports/model.ts'
import type { AgentDefinitions } from './agent-definitions.ts'
import type { Context } from './context.ts'

export interface AgentDeps {
  readonly definitions: AgentDefinitions
  readonly models: Models
}
export interface AgentMessage {
  readonly ts: number
  readonly role: 'user' | 'assistant'
  readonly content: string
}
export interface AgentStep {
  readonly id: number
  readonly seq: number
  readonly ts: number
  readonly endTs: number | null
  readonly turn: number
  readonly kind: 'message' | 'model' | 'tool' | 'child' | 'status' | 'budget' | 'compaction' | 'note'
  readonly title: string
  readonly text: string
  readonly tool: string
  readonly call: string
  readonly input: string
  readonly output: string
  readonly outputChars: number
  readonly isRunning: boolean
  readonly isError: boolean
  readonly childSessionId: string | null
  readonly model: string
  readonly usage: Usage | null
}
export interface AgentSessionView {
  readonly session: AgentSession
  readonly messages: readonly AgentMessage[]
  readonly childSessionIds: readonly string[]
}
export interface AgentPolicy {
  readonly tools: readonly string[] | null
  readonly egressHosts: readonly string[]
  readonly budget: AgentBudget
  readonly commitName: string
  readonly commitEmail: string
}
export interface ModelFamily {
  readonly name: string
  readonly provider: 'anthropic' | 'openai' | 'google' | 'bedrock' | 'openai_compatible'
  readonly model: string
  readonly isDefault: boolean
  readonly settings: Readonly<Record<string, string>>
  readonly secretNames: readonly string[]
}
export interface McpServer {
  readonly name: string
  readonly url: string
  readonly tools: readonly string[] | null
  readonly headerNames: readonly string[]
}
const later = async (): Promise<never> => {
  throw new Error('not yet')
}
type Later<T> = (...args: never[]) => Promise<T>
export const triggerAgent = later as Later<{ sessionId: string; warning: string | null }> as (
  ctx: Context,
  deps: AgentDeps,
  input: {
    agent: string | null
    message: string | null
    slack: { channel: string; threadTs: string } | null
    baseBranch: string | null
    modelFamily: string | null
  },
) => Promise<{ sessionId: string; warning: string | null }>
export const sendAgentMessage: (
  ctx: Context,
  input: { sessionId: string; message: string },
) => Promise<{ sessionId: string }> = later
export const stopAgent: (ctx: Context, input: { sessionId: string }) => Promise<{ status: AgentStatus }> = later
export const getAgentSession: (ctx: Context, id: string) => Promise<AgentSessionView> = later
export const getStartupSteps: (ctx: Context, id: string) => Promise<readonly AgentStep[]> = later
export const getAgentSteps: (
  ctx: Context,
  id: string,
  wanted: { after: number | null; includeToolIo: boolean; maxChars: number | null },
) => Promise<readonly AgentStep[]> = later
export const getAgentOutput: (ctx: Context, id: string, call: string) => Promise<{ text: string }> = later
export const listAgentSessions: (
  ctx: Context,
  wanted: {
    agent: string | null
    statuses: readonly AgentStatus[] | null
    parentId: string | null
    offset: number | null
    limit: number | null
  },
) => Promise<{ sessions: readonly AgentSession[]; totalCount: number }> = later
export const getAgentPolicy: (ctx: Context) => Promise<AgentPolicy> = later
export const setAgentPolicy: (ctx: Context, input: object) => Promise<unknown> = later
export const listModelFamilies: (ctx: Context) => Promise<readonly ModelFamily[]> = later
export const setModelFamily: (ctx: Context, input: object) => Promise<unknown> = later
export const removeModelFamily: (ctx: Context, name: string) => Promise<unknown> = later
export const testModelFamily: (ctx: Context, models: Models, name: string) => Promise<{ ok: boolean; text: string }> =
  later
export const listMcpServers: (ctx: Context) => Promise<readonly McpServer[]> = later
export const setMcpServer: (ctx: Context, input: object) => Promise<unknown> = later
export const removeMcpServer: (ctx: Context, name: string) => Promise<unknown> = later
