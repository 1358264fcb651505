// The composition root of a serving process: what is made here, in which order, and how it goes down again.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { createMailer } from '../adapters/mail/mailer.ts'
import { giveBackAfterStart } from '../adapters/memory-relief.ts'
import { createDeliveryMetrics } from '../api/http/delivery-metrics.ts'
import { stopServer } from '../api/server.ts'
import type { PushedBranch } from '../app/git-hooks.ts'
import { askForSync } from '../app/schedule-sync.ts'
import { withListeningPort } from '../config/public-url.ts'
import type { Config } from '../config/schema.ts'
import { auditWitness } from '../engine/audit-witness.ts'
import { heartbeat, housekeeping } from '../engine/housekeeping.ts'
import { startMailSender } from '../engine/mail-sender.ts'
import { type Service, startPeriodic } from '../engine/periodic.ts'
import { retentionTask } from '../engine/retention.ts'
import { startScheduleSync } from '../engine/schedule-sync.ts'
import { startScheduler } from '../engine/scheduler.ts'
import type { Worker } from '../engine/worker/worker.ts'
import type { Log } from '../ports/runtime.ts'
import * as deliveries from '../store/deliveries.ts'
import { removeServiceFile, writeServiceFile } from '../store/embedded-postgres.ts'
import * as nodes from '../store/nodes.ts'
import { agentDeps, sessionReaper, startAgents } from './agents.ts'
import { blobMarker, type OpenedBlobs, openBlobs } from './blobs.ts'
import { startDeliveries } from './deliveries.ts'
import { type FirstStart, firstStart } from './first-start.ts'
import { createHttp } from './http.ts'
import { type Opened, openApp } from './open.ts'
import { VERSION } from './version.ts'
import { type Environment, hostProcesses, openSource, runReaper, startRunWorker } from './worker.ts'

export interface Running {
  readonly url: string
  readonly first: FirstStart | null
  /** Readiness off, drain, then everything down in the order in which it stands. Safe to call twice. */
  stop(): Promise<void>
}

export interface ServeOptions {
  readonly log: Log
  /** Where the text of a mail goes when no mail is set up: outside the log, which would mask its link. */
  readonly showMail: (text: string) => void
  /** The variables of the process: commands of runs see those that the settings allow. */
  readonly environment: Environment
  /** The service cannot go on, such as when it lost its data folder to another process. */
  readonly onLost: (error: Error) => void
}

export async function startService(config: Config, options: ServeOptions): Promise<Running> {
  const { log } = options
  const opened = await openApp(config, log, { purpose: 'serve', onLost: options.onLost })
  const node: nodes.NodeInfo = {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    roles: config.roles,
    labels: config.worker.labels,
    kids: opened.app.vault.kids,
    version: VERSION,
  }
  const state = { draining: false }
  const mailer = createMailer({
    smtpUrl: config.mail.smtpUrl?.reveal() ?? null,
    from: config.mail.from,
    write: options.showMail,
  })
  let server: FastifyInstance | undefined
  let worker: Worker | undefined
  let sessions: readonly Service[] = []
  let store: OpenedBlobs | undefined
  const services: { stop(): Promise<void> }[] = []

  const stop = async (): Promise<void> => {
    state.draining = true
    // Requests, runs and sessions come to their ends beside each other.
    await Promise.all([
      worker?.stop(),
      ...sessions.map((one) => one.stop()),
      server && stopServer(server, config.drainSeconds * 1000),
    ])
    for (const service of services.reverse()) await service.stop()
    await opened.queue.stop()
    mailer.close()
    store?.close()
    await witnessLast(opened)
    await nodes.leave(opened.app.db, node.id).catch(() => {})
    await removeServiceFile(config.data)
    await opened.close()
  }

  try {
    await opened.queue.start()
    await startMailSender(opened.app, opened.queue, mailer)
    services.push(
      startPeriodic(log, auditWitness(opened.app, opened.witness)),
      startPeriodic(log, heartbeat(opened.app, node)),
      startPeriodic(log, housekeeping(opened.app)),
    )
    // A push or a merge may have changed the files that hold schedules. Lost, it is seen at the next look.
    const onPushed = ({ workspaceId }: PushedBranch): void => {
      askForSync({ db: opened.app.db, queue: opened.queue }, workspaceId).catch((error: unknown) =>
        log.warn({ err: error }, 'schedule files will be looked at later: the job could not be sent'),
      )
    }
    store = await openBlobs(config)
    const { blobs } = store
    const metrics = createDeliveryMetrics(() => deliveries.countOpen(opened.app.db))
    const agents = agentDeps(config, opened.app, options.environment)
    server = await createHttp(config, { ...opened, blobs, agents, metrics: metrics.all, onPushed }, node, state)
    const url = await listen(server, config, opened)
    const first = config.demo ? await firstStart(opened.app, config.data, options.environment.PATH ?? '') : null
    services.push(startPeriodic(log, blobMarker(opened.app, blobs)))
    const host = hostProcesses()
    if (config.roles.includes('scheduler')) {
      const { runDays, logDays, fileDays, deliveryDays } = config.retention
      const days = { runs: runDays, logs: logDays, files: fileDays, deliveries: deliveryDays }
      services.push(startScheduler(opened.app), startPeriodic(log, retentionTask(opened.app, blobs, days)))
      const source = openSource(config, opened.app, options.environment)
      services.push(await startScheduleSync(opened.app, opened.queue, { source, names: config.schedules }))
      services.push(...(await startDeliveries(config, opened, { mailer, agents, observe: metrics.observe })))
    }
    if (config.roles.includes('scheduler') || config.roles.includes('worker')) {
      services.push(startPeriodic(log, runReaper(config, opened, host)))
      services.push(startPeriodic(log, sessionReaper(config, opened, host)))
    }
    if (config.roles.includes('worker')) {
      const { environment } = options
      const drainMs = config.drainSeconds * 1000
      const runs = await startRunWorker(config, opened, { host, blobs, environment, drainMs })
      worker = runs
      sessions = await startAgents(config, opened, {
        host,
        blobs,
        environment,
        agents,
        executes: runs.executes,
        drainMs,
      })
    }
    giveBackAfterStart()
    const startedAt = opened.app.clock.now().toISOString()
    await writeServiceFile(config.data, { pid: process.pid, startedAt, url, version: VERSION })
    let stopped: Promise<void> | undefined
    return {
      url,
      first,
      stop: () => {
        stopped ??= stop()
        return stopped
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The last head is written outside also at a clean end, so that a cut after it is found. */
async function witnessLast(opened: Opened): Promise<void> {
  try {
    await auditWitness(opened.app, opened.witness).runOnce()
  } catch (error) {
    opened.app.log.warn({ err: error }, 'the last head of the audit log was not written outside the database')
  }
}

async function listen(server: FastifyInstance, config: Config, opened: Opened): Promise<string> {
  await server.listen({ host: config.host, port: config.port })
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : config.port
  const { publicUrl } = withListeningPort(config, port)
  opened.setPublicUrl(publicUrl)
  return publicUrl
}
