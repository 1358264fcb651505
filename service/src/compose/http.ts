// Every route of the service, over what is open and not yet listening.
import type { FastifyInstance } from 'fastify'
import type { Metric } from 'prom-client'
import { clearing } from '../adapters/memory-relief.ts'
import { oidcProvider } from '../adapters/oidc.ts'
import { ownOriginsOf, workspaceHeaderNames } from '../api/auth.ts'
import type { Call, Denial } from '../api/edge.ts'
import { createResolvers } from '../api/graphql/resolvers/index.ts'
import { registerGraphQL } from '../api/graphql/route.ts'
import { createSchema, operationsOf } from '../api/graphql/schema.ts'
import { registerArtifacts } from '../api/http/artifacts.ts'
import { registerGitHooks } from '../api/http/git-hooks.ts'
import { registerGraphiql } from '../api/http/graphiql.ts'
import { registerHealth } from '../api/http/health.ts'
import { registerLogs } from '../api/http/logs.ts'
import { createMetrics, registerMetrics } from '../api/http/metrics.ts'
import { registerSlackEvents } from '../api/http/slack-events.ts'
import { registerPages } from '../api/pages/register.ts'
import { signedInContext } from '../api/pages/session.ts'
import { createRateLimiter } from '../api/rate-limit.ts'
import { createServer } from '../api/server.ts'
import { createSignInLimiter } from '../api/sign-in-limit.ts'
import type { AgentDeps } from '../app/agent-sessions.ts'
import { authenticate } from '../app/authenticate.ts'
import type { App, Context } from '../app/context.ts'
import type { PushedBranch } from '../app/git-hooks.ts'
import { RefusalRecorder } from '../app/refusals.ts'
import type { Config } from '../config/schema.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { IdentityProvider } from '../ports/identity-provider.ts'
import { isUnavailable } from '../store/database.ts'
import * as nodes from '../store/nodes.ts'
import type { Opened } from './open.ts'

/** Tests of the gate ask this one, without a port. */
export async function createHttp(
  config: Config,
  opened: Pick<Opened, 'app' | 'database'> & {
    readonly blobs: BlobStore
    readonly agents: AgentDeps
    /** Shown beside those of the server. */
    readonly metrics?: readonly Metric[]
    /** A branch has new commits: whoever reads files of it may look. */
    readonly onPushed?: (pushed: PushedBranch) => void
  },
  node: nodes.NodeInfo,
  state: { readonly draining: boolean },
): Promise<FastifyInstance> {
  const { app, database } = opened
  const now = () => performance.now()
  const schema = createSchema<Context>(createResolvers({ agents: opened.agents }))
  const metrics = createMetrics({
    operations: operationsOf(schema),
    pool: () => {
      const { open, idle, waiting } = database.connections()
      return { total: open, idle, waiting }
    },
  })
  for (const one of opened.metrics ?? []) metrics.registry.registerMetric(one)
  const server = createServer({
    log: app.log,
    trustProxy: config.trustProxy,
    tls: config.tls,
    maxConnections: config.limits.maxConnections,
    isUnavailable,
    draining: () => state.draining,
    onAnswered: metrics.answered,
  })
  const refusals = new RefusalRecorder(app)
  const ownOrigins = originsOf(app)
  registerHealth(server, {
    ready: () => nodes.beat(app.db, node),
    draining: () => state.draining,
    now,
    log: app.log,
  })
  registerMetrics(server, metrics, { token: config.metrics.token?.reveal() ?? null })
  if (config.roles.includes('api')) {
    registerGraphQL<Context>(server, {
      schema,
      gatekeeper: { authenticate: (credentials, uid) => authenticate(app, credentials, uid) },
      limiter: createRateLimiter(config.limits, now),
      now,
      ownOrigins,
      workspaceHeaders: workspaceHeaderNames(config.workspaceHeaders),
      contextFor: (call) => contextOf(app, call),
      onDenied: (denial) => recordDenial(refusals, denial),
      observe: metrics.operation,
      relieve: clearing(),
      isUnavailable,
      log: app.log,
    })
    registerPages(server, {
      app,
      refusals,
      limiter: createSignInLimiter(config.limits, now),
      ownOrigins,
      provider: providerOf(config),
      isUnavailable,
    })
    registerArtifacts(server, { app, blobs: opened.blobs })
    registerLogs(server, { app })
    registerGitHooks(server, { app, onPushed: opened.onPushed ?? (() => {}) })
    registerSlackEvents(server, { app })
    registerGraphiql(server, { personOf: (request) => signedInContext(app, request) })
  }
  return server
}

/** The configuration gives all three or none. */
function providerOf({ oidc }: Config): IdentityProvider | null {
  const { issuer, clientId, clientSecret, name } = oidc
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return null
  return oidcProvider({ issuer, clientId, clientSecret: clientSecret.reveal(), name })
}

/** Made anew only when the address changes, which it does once: when a server on a free port knows its port. */
function originsOf(app: App): () => ReadonlySet<string> {
  let made = { url: '', origins: ownOriginsOf(app.settings.publicUrl) }
  return () => {
    const url = app.settings.publicUrl
    if (made.url !== url) made = { url, origins: ownOriginsOf(url) }
    return made.origins
  }
}

const contextOf = (app: App, { identity, admission, request, idempotency }: Call): Context => ({
  ...app,
  actor: identity.actor,
  workspace: admission.workspace,
  visible: admission.visible,
  request,
  idempotency,
})

async function recordDenial(refusals: RefusalRecorder, denial: Denial): Promise<void> {
  const { actor, selection } = denial.identity
  await refusals.record({
    actor,
    address: denial.request.address,
    event: 'mutation_denied',
    metadata: { operations: denial.operations, code: denial.code },
    at: selection.kind === 'found' ? selection.workspace : 'account',
  })
}
