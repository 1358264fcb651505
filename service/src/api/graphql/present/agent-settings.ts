import type { AgentPolicy } from '../../../app/agent-policy.ts'
import type { McpServer } from '../../../app/mcp-servers.ts'
import type { ModelFamily } from '../../../app/model-families.ts'
import { TOOL_NAMES } from '../../../domain/agent-tools.ts'
import type {
  ModelProvider,
  AgentPolicy as WireAgentPolicy,
  McpServer as WireMcpServer,
  ModelFamily as WireModelFamily,
} from '../wire-types.ts'

const PROVIDERS = {
  anthropic: 'ANTHROPIC',
  openai: 'OPENAI',
  google: 'GOOGLE',
  bedrock: 'BEDROCK',
  openai_compatible: 'OPENAI_COMPATIBLE',
} as const satisfies Record<ModelFamily['provider'], ModelProvider>

export const parseProvider = (word: ModelProvider): ModelFamily['provider'] =>
  word.toLowerCase() as Lowercase<ModelProvider>

export const presentModelFamily = (one: ModelFamily): WireModelFamily => ({
  name: one.name,
  provider: PROVIDERS[one.provider],
  model: one.model,
  isDefault: one.isDefault,
  settings: Object.entries(one.settings).map(([name, value]) => ({ name, value: String(value) })),
  secretNames: [...one.secretNames],
})

export const presentPolicy = ({
  tools,
  egressHosts,
  budget,
  commitName,
  commitEmail,
}: AgentPolicy): WireAgentPolicy => ({
  ok: true,
  tools: tools === null ? null : [...tools],
  knownTools: [...TOOL_NAMES],
  egressHosts: [...egressHosts],
  maxSteps: budget.steps ?? null,
  maxSeconds: budget.seconds ?? null,
  maxTokens: budget.tokens ?? null,
  maxCostDollars: budget.costMicrodollars === undefined ? null : budget.costMicrodollars / 1e6,
  commitName,
  commitEmail,
})

export const presentMcpServer = ({ name, url, tools, headerNames }: McpServer): WireMcpServer => ({
  name,
  url,
  tools: tools === null ? null : [...tools],
  headerNames: [...headerNames],
})
