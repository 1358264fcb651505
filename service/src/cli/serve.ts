import { createLog } from '../adapters/log.ts'
import type { FirstStart } from '../compose/first-start.ts'
import { startService } from '../compose/serve.ts'
import { secretTexts } from '../config/describe.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Cli } from './io.ts'

const SAME_SIGNAL_MS = 500

/** Runs until a signal. The first one drains; a second one, or the deadline, ends it now. */
export async function runServe({ config }: LoadedConfig, environment: Cli['env']): Promise<number> {
  const log = createLog({ level: config.log.level })
  for (const secret of secretTexts(config)) log.mask(secret)
  if (process.getuid?.() === 0) {
    log.warn({}, 'running as root: PostgreSQL is run in a user namespace of its own; a user of its own is better')
  }
  const ended = Promise.withResolvers<number>()
  const running = await startService(config, {
    log,
    environment,
    showMail: (text) => process.stderr.write(`${text}\n`),
    onLost: (error) => {
      log.error({ err: error }, 'the service cannot go on')
      ended.resolve(1)
    },
  })
  process.stdout.write(banner(running.url, running.first))
  log.info({ url: running.url, roles: config.roles }, 'serving')

  // One Ctrl-C may arrive twice: from the terminal and from npm, which passes on what it gets.
  let asked: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked !== undefined) {
      if (asked.signal === signal && performance.now() - asked.at < SAME_SIGNAL_MS) return
      log.warn({ signal }, 'second signal: ending now')
      process.exit(130)
    }
    asked = { signal, at: performance.now() }
    log.info({ signal }, 'stopping; a second signal ends it now')
    ended.resolve(0)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const code = await ended.promise
  // Draining has its own deadline; this one is for whatever else does not come to an end.
  const deadline = setTimeout(() => process.exit(1), (config.drainSeconds + 20) * 1000)
  await running.stop()
  clearTimeout(deadline)
  log.info({}, 'stopped')
  return code
}

function banner(url: string, first: FirstStart | null): string {
  if (first === null) return `\nYardmaster is running at ${url}\n`
  return `
Yardmaster is running at ${url}

  Sign in once, within 24 hours   ${first.signInLink}
  Workspace Demo                  ${first.workspaceUid}
  Its schedule "hello"            ${first.scheduleSlug}, every five minutes; run ${first.runId} is on its way
  Account key, shown this once    ${first.key}
                                  (also in ${first.keyFile}, which only you can read)

What the run did, with its output:

  curl -s ${url}/graphql -H 'Content-Type: application/json' \\
    -H 'Authorization: Bearer ${first.key}' \\
    -H 'X-Service-Workspace: ${first.workspaceUid}' \\
    -d '{"query":"{ boltRunStatus(runId: ${first.runId}) { state commands { command stdout returnCode } } }"}'

Its schedule "customers" fails on purpose. An agent explains why, with no model set up:

  npx yardmaster agents run explainer --wait

or, over the API, then ask again with the agentSessionId that it gives:

  curl -s ${url}/graphql -H 'Content-Type: application/json' \\
    -H 'Authorization: Bearer ${first.key}' \\
    -H 'X-Service-Workspace: ${first.workspaceUid}' \\
    -d '{"query":"mutation { triggerDinoaiAgentRun(agent: \\"explainer\\") { agentSessionId status } }"}'

Files of runs, and more: sign in and open ${url}/graphiql

`
}
