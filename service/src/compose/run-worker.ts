// The composition root of `yardmaster worker`: no port, no schedules, only runs and sessions of agents.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'
import { heartbeat } from '../engine/housekeeping.ts'
import { type Service, startPeriodic } from '../engine/periodic.ts'
import type { Worker } from '../engine/worker/worker.ts'
import type { Log } from '../ports/runtime.ts'
import * as nodes from '../store/nodes.ts'
import { agentDeps, sessionReaper, startAgents } from './agents.ts'
import { type OpenedBlobs, openBlobs, requireSharedBlobs } from './blobs.ts'
import { openApp } from './open.ts'
import { VERSION } from './version.ts'
import { type Environment, hostProcesses, runReaper, startRunWorker } from './worker.ts'

export interface RunningWorker {
  readonly id: string
  /** Takes nothing new and waits for its runs. Safe to call twice. */
  stop(): Promise<void>
  /** Ends its runs, also while `stop` waits for them. */
  stopNow(): Promise<void>
}

export async function startWorkerProcess(config: Config, log: Log, environment: Environment): Promise<RunningWorker> {
  if (config.database.url === undefined) {
    throw new Error(
      'yardmaster worker needs the database of the servers: set DATABASE_URL. One host alone needs no worker of its ' +
        'own: yardmaster serve executes runs too.',
    )
  }
  const opened = await openApp(config, log, { purpose: 'worker' })
  const services: { stop(): Promise<void> }[] = []
  let worker: Worker | undefined
  let sessions: readonly Service[] = []
  let store: OpenedBlobs | undefined
  const node: nodes.NodeInfo = {
    id: randomUUID(),
    host: hostname(),
    pid: process.pid,
    roles: ['worker'],
    labels: config.worker.labels,
    kids: opened.app.vault.kids,
    version: VERSION,
  }
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    for (const service of services.reverse()) await service.stop()
    await opened.queue.stop()
    store?.close()
    await nodes.leave(opened.app.db, node.id).catch(() => {})
    await opened.close()
  }
  const closing = (): Promise<void> => {
    closed ??= close()
    return closed
  }
  try {
    store = await openBlobs(config)
    const { blobs } = store
    await requireSharedBlobs(opened.app, blobs, config)
    await opened.queue.start()
    const host = hostProcesses()
    services.push(
      startPeriodic(log, heartbeat(opened.app, node)),
      startPeriodic(log, runReaper(config, opened, host)),
      startPeriodic(log, sessionReaper(config, opened, host)),
    )
    const drainMs = config.worker.drainSeconds === 0 ? null : config.worker.drainSeconds * 1000
    const runs = await startRunWorker(config, opened, { host, blobs, environment, drainMs })
    worker = runs
    sessions = await startAgents(config, opened, {
      host,
      blobs,
      environment,
      agents: agentDeps(config, opened.app, environment),
      executes: runs.executes,
      drainMs: config.drainSeconds * 1000,
    })
    const stopSessions = (): Promise<unknown> => Promise.all(sessions.map((one) => one.stop()))
    return {
      id: runs.id,
      stop: async () => {
        await Promise.all([runs.stop(), stopSessions()])
        await closing()
      },
      stopNow: async () => {
        await Promise.all([runs.stopNow(), stopSessions()])
        await closing()
      },
    }
  } catch (error) {
    await Promise.all([worker?.stopNow(), ...sessions.map((one) => one.stop())])
    await closing()
    throw error
  }
}
