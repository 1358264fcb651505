import { getAgentPolicy, setAgentPolicy } from '../../../app/agent-policy.ts'
import type { AgentDeps } from '../../../app/agent-sessions.ts'
import type { Context } from '../../../app/context.ts'
import * as servers from '../../../app/mcp-servers.ts'
import * as families from '../../../app/model-families.ts'
import { parseProvider, presentMcpServer, presentModelFamily, presentPolicy } from '../present/agent-settings.ts'
import { valuesOf } from '../present/integration.ts'
import type {
  AgentPolicy,
  McpServers,
  ModelFamilies,
  ModelFamilyTest,
  MutationRemoveMcpServerArgs,
  MutationRemoveModelFamilyArgs,
  MutationSetAgentPolicyArgs,
  MutationSetMcpServerArgs,
  MutationSetModelFamilyArgs,
  MutationTestModelFamilyArgs,
  Ok,
} from '../wire-types.ts'

/** Not given stays as it is, 0 takes the limit away. */
const limitOf = (given: number | null | undefined): number | null | undefined =>
  given === 0 ? null : (given ?? undefined)

/** Before the request is given up, which is after ten seconds; the command line waits longer. */
const TEST_MS = 8000

export const agentSettingResolvers = ({ models }: AgentDeps) => ({
  async listModelFamilies(ctx: Context): Promise<ModelFamilies> {
    return { ok: true, families: (await families.listModelFamilies(ctx)).map(presentModelFamily) }
  },
  async setModelFamily(ctx: Context, args: MutationSetModelFamilyArgs): Promise<Ok> {
    await families.setModelFamily(ctx, {
      name: args.name,
      provider: args.provider == null ? undefined : parseProvider(args.provider),
      model: args.model ?? undefined,
      isDefault: args.isDefault ?? undefined,
      settings: valuesOf(args.settings),
      secrets: valuesOf(args.secrets),
    })
    return { ok: true }
  },
  async removeModelFamily(ctx: Context, args: MutationRemoveModelFamilyArgs): Promise<Ok> {
    await families.removeModelFamily(ctx, args.name)
    return { ok: true }
  },
  async testModelFamily(ctx: Context, args: MutationTestModelFamilyArgs): Promise<ModelFamilyTest> {
    return await families.testModelFamily(ctx, models, args.name, TEST_MS)
  },
  async agentPolicy(ctx: Context): Promise<AgentPolicy> {
    return presentPolicy(await getAgentPolicy(ctx))
  },
  async setAgentPolicy(ctx: Context, { policy }: MutationSetAgentPolicyArgs): Promise<Ok> {
    const cost = policy.maxCostDollars
    await setAgentPolicy(ctx, {
      tools: policy.allTools === true ? null : (policy.tools ?? undefined),
      egressHosts: policy.egressHosts ?? undefined,
      budget: {
        steps: limitOf(policy.maxSteps),
        seconds: limitOf(policy.maxSeconds),
        tokens: limitOf(policy.maxTokens),
        costMicrodollars: limitOf(cost == null ? cost : Math.round(cost * 1e6)),
      },
      commitName: policy.commitName ?? undefined,
      commitEmail: policy.commitEmail ?? undefined,
    })
    return { ok: true }
  },
  async listMcpServers(ctx: Context): Promise<McpServers> {
    return { ok: true, servers: (await servers.listMcpServers(ctx)).map(presentMcpServer) }
  },
  async setMcpServer(ctx: Context, args: MutationSetMcpServerArgs): Promise<Ok> {
    const tools = args.allTools === true ? null : args.tools
    await servers.setMcpServer(ctx, {
      name: args.name,
      url: args.url ?? null,
      ...(tools !== undefined && (tools !== null || args.allTools === true) && { tools }),
      headers: args.headers == null ? null : valuesOf(args.headers),
    })
    return { ok: true }
  },
  async removeMcpServer(ctx: Context, args: MutationRemoveMcpServerArgs): Promise<Ok> {
    await servers.removeMcpServer(ctx, args.name)
    return { ok: true }
  },
})
