// Agents: what starting a session needs, and what works on sessions.
import { agentGit } from '../adapters/agent-git/agent-git.ts'
import { openModel } from '../adapters/models/index.ts'
import { outgoingFetch } from '../adapters/outgoing-fetch.ts'
import { outgoingHttp } from '../adapters/outgoing-http.ts'
import { type ProbedSandbox, probeSandbox } from '../adapters/sandbox/probe.ts'
import { agentDefinitions } from '../app/agent-definitions.ts'
import type { AgentDeps } from '../app/agent-sessions.ts'
import type { App } from '../app/context.ts'
import { modelsOf } from '../app/model-families.ts'
import type { Config } from '../config/schema.ts'
import type { AgentBudget } from '../domain/agent-session.ts'
import { startAgentWorker } from '../engine/agent/agent-worker.ts'
import { TURN_SETTINGS } from '../engine/agent/ports.ts'
import { type QueryRunnerDeps, queryRunner } from '../engine/agent/query-runner.ts'
import { agentReaper } from '../engine/agent/reaper.ts'
import { agentPlace, repositoryOf, sessionPorts } from '../engine/agent/session-ports.ts'
import { sessionVenv } from '../engine/agent/session-venv.ts'
import { checkoutTools } from '../engine/agent/tools/checkout-tools.ts'
import { openMcpTools, openTools } from '../engine/agent/tools/index.ts'
import type { Periodic, Service } from '../engine/periodic.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { HostProcesses } from '../ports/host-processes.ts'
import { containerEngine } from './executor.ts'
import { hiddenFrom } from './hidden.ts'
import type { Opened } from './open.ts'
import { type Environment, gitOptions, openSource } from './worker.ts'

/** What starting a session needs, in any process. */
export const agentDeps = (config: Config, app: App, environment: Environment): AgentDeps => ({
  definitions: agentDefinitions({ source: openSource(config, app, environment) }),
  models: modelsOf(app, openModel({ fetch: outgoingFetch(outgoingOf(config)) })),
  budget: budgetOf(config),
})

const outgoingOf = ({ outgoing: { allow, allowHttp } }: Config) => ({ allow, allowHttp })

const budgetOf = ({ agents: { steps, seconds, tokens, costCents } }: Config): AgentBudget => ({
  steps,
  seconds,
  tokens,
  costMicrodollars: costCents * 10_000,
})

export interface AgentServices {
  readonly blobs: BlobStore
  readonly host: HostProcesses
  readonly environment: Environment
  readonly agents: AgentDeps
  /** What executes runs in this process, for queries; null where nothing does. */
  readonly executes: Omit<QueryRunnerDeps, 'app'> | null
  /** How long a stop waits for what sessions are in the middle of. */
  readonly drainMs: number
}

const MCP_MS = 60_000
/** A session loses nothing when it is given to another worker in the middle of an answer: nobody waits long for one. */
const LONGEST_DRAIN_MS = 10_000

/** Works on sessions, where this process is to; nothing with no slots. */
export async function startAgents(config: Config, opened: Opened, deps: AgentServices): Promise<Service[]> {
  const { app } = opened
  const { agents, host, executes } = deps
  if (config.agents.slots === 0) return []
  const git = agentGit(gitOptions(config, app, deps.environment))
  const http = outgoingHttp(outgoingOf(config))
  const queries = executes === null ? null : queryRunner({ app, ...executes })
  // Trying a sandbox takes a moment, and nobody waits for it but the first session.
  const probed = sandboxOf(config, opened, deps.environment)
  probed.then(
    ({ sandbox, why }) => app.log.info({ sandbox: sandbox?.kind ?? 'none', why }, 'shell commands of agents'),
    (error: unknown) => app.log.error({ err: error }, 'no sandbox could be tried: agents have no shell'),
  )
  const ports = sessionPorts(app, {
    git,
    blobs: deps.blobs,
    place: agentPlace(config.data),
    models: agents.models,
    mcpTools: openMcpTools({ app, http: outgoingHttp({ ...outgoingOf(config), timeoutMs: MCP_MS }) }),
    toolsOf: async (session, policy) => {
      const { sandbox } = await probed.catch(() => ({ sandbox: null }))
      const author = {
        name: policy.commitName || config.agents.commitName,
        email: policy.commitEmail || config.agents.commitEmail,
      }
      const own = checkoutTools({
        git,
        sandbox,
        repositoryOf: (of) => repositoryOf(app, of),
        author,
        egressHosts: policy.egressHosts,
        venv: async (of) => (executes === null ? null : await sessionVenv({ app, ...executes }, session, of.checkout)),
      })
      return openTools({ app, http, agents, queries, checkoutTools: own }, session)
    },
  })
  const { shownChars, keptChars, slots } = config.agents
  const worker = await startAgentWorker(app, {
    queue: opened.queue,
    connection: opened.connections.service,
    host,
    slots,
    ports,
    settings: { ...TURN_SETTINGS, shownChars, keptChars },
    leaseMs: config.worker.leaseSeconds * 1000,
    drainMs: Math.min(deps.drainMs, LONGEST_DRAIN_MS),
    log: app.log,
  })
  const stop = async (): Promise<void> => {
    await worker.stop()
    const tried = await probed.catch(() => null)
    tried?.close()
  }
  return [{ stop }]
}

/** Sessions of workers that are gone are given on by whoever sees it. */
export const sessionReaper = (config: Config, opened: Opened, host: HostProcesses): Periodic =>
  agentReaper(opened.app, { host, leaseMs: config.worker.leaseSeconds * 1000, place: agentPlace(config.data) })

/** Also for `doctor`. */
export function sandboxOf(
  config: Config,
  opened: { readonly connections: Pick<Opened['connections'], 'service'> },
  environment: Environment,
): Promise<ProbedSandbox> {
  const { sandbox, image } = config.agents
  const chosen = image ?? config.commands.image
  const engine = chosen === undefined ? null : containerEngine(config, environment)
  return probeSandbox({
    wanted: sandbox === 'off' ? 'none' : sandbox,
    hidden: hiddenFrom(config, opened.connections.service, environment),
    outgoing: outgoingOf(config),
    container: chosen === undefined || engine === null ? null : { ...engine, image: chosen, network: 'none' },
  })
}
