// What executes runs, inside a server or as a process of its own: the source, the executor, dependencies, logs and files
// behind one worker.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { hostProcesses } from '../adapters/host-processes.ts'
import { clearing } from '../adapters/memory-relief.ts'
import { type GitSourceOptions, gitSource } from '../adapters/source/git.ts'
import type { App } from '../app/context.ts'
import type { Config } from '../config/schema.ts'
import { DEFAULT_ALLOW_LIST } from '../domain/command-environment.ts'
import type { Periodic } from '../engine/periodic.ts'
import { reaper } from '../engine/reaper.ts'
import { planInstall } from '../engine/worker/dependencies.ts'
import { runExtras } from '../engine/worker/lay-state.ts'
import { leaseTimes } from '../engine/worker/lease-keeper.ts'
import { openLog } from '../engine/worker/log-shipper.ts'
import type { RunPorts, RunSettings } from '../engine/worker/ports.ts'
import { runFiles } from '../engine/worker/run-files.ts'
import { laySecretFiles } from '../engine/worker/secret-files.ts'
import type { WorkPlace } from '../engine/worker/work-folder.ts'
import { startWorker, type Worker } from '../engine/worker/worker.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { HostProcesses } from '../ports/host-processes.ts'
import type { FileSource, Source } from '../ports/source.ts'
import { openExecutor } from './executor.ts'
import { hiddenFrom } from './hidden.ts'
import type { Opened } from './open.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface RunWorkerOptions {
  readonly blobs: BlobStore
  readonly host: HostProcesses
  /** The variables of the process, of which commands see what the allow-list names. */
  readonly environment: Environment
  /** How long a stop waits for runs; null is without limit. */
  readonly drainMs: number | null
}

const MIB = 1024 * 1024
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const workPlace = ({ data }: Config): WorkPlace => ({
  work: join(data, 'work'),
  cache: join(data, 'cache'),
  owner: null,
})

/** Mirrors and their locks are shared by everything that works in one data folder. */
export const gitOptions = (config: Config, app: App, environment: Environment): GitSourceOptions => ({
  folder: join(config.data, 'mirrors'),
  path: environment.PATH ?? SYSTEM_PATH,
  variables: networkOf(environment),
  closed: [config.data, config.blobs.folder],
  open: [join(config.data, 'demo-repository')],
  now: () => app.clock.now().getTime(),
})

export const openSource = (config: Config, app: App, environment: Environment): Source & FileSource =>
  gitSource(gitOptions(config, app, environment))

export interface RunWorker extends Worker {
  /** What it executes runs with, for others in this process; not after its stop. */
  readonly executes: { readonly ports: RunPorts; readonly settings: RunSettings; readonly place: WorkPlace }
}

export async function startRunWorker(config: Config, opened: Opened, options: RunWorkerOptions): Promise<RunWorker> {
  const { app } = opened
  const { environment, blobs } = options
  const { executor, user, close } = await openExecutor(config, environment, app.log)
  const relieve = clearing()
  const ports: RunPorts = {
    source: openSource(config, app, environment),
    executor,
    dependencies: { plan: planInstall, python: await pythonOf(environment), laySecretFiles },
    openLog: (commandId, { secrets, lost }) =>
      openLog(app.db, commandId, {
        secrets,
        signal: lost,
        capBytes: config.commands.outputMib * MIB,
        relieve,
      }),
    files: runFiles(app, blobs),
    extras: runExtras(app.db, blobs),
  }
  const executes = {
    ports,
    settings: settingsOf(config, opened, environment),
    place: { ...workPlace(config), owner: user },
  }
  const worker = await startWorker(app, {
    ...executes,
    queue: opened.queue,
    connection: opened.connections.service,
    host: options.host,
    slots: config.worker.slots,
    labels: config.worker.labels,
    lease: leaseTimes(config.worker.leaseSeconds * 1000),
    drainMs: options.drainMs,
    log: app.log,
  })
  app.log.info({ worker: worker.id, slots: config.worker.slots, labels: config.worker.labels }, 'taking runs')
  const closing =
    <T>(stop: () => Promise<T>) =>
    async (): Promise<T> => {
      try {
        return await stop()
      } finally {
        close()
      }
    }
  return {
    id: worker.id,
    executes,
    get going() {
      return worker.going
    },
    stop: closing(worker.stop),
    stopNow: closing(worker.stopNow),
  }
}

/** What git needs of the host to reach another one. */
function networkOf(environment: Environment): Record<string, string> {
  const names = ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()])
  const certificates = environment.GIT_SSL_CAINFO ?? environment.SSL_CERT_FILE
  const found = names.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
  return { ...Object.fromEntries(found), ...(certificates !== undefined && { GIT_SSL_CAINFO: certificates }) }
}

function settingsOf(config: Config, opened: Opened, environment: Environment): RunSettings {
  const { memoryMib, processes, fileMib, timeLimitSeconds } = config.commands
  return {
    workerEnvironment: environment,
    allowList: [...DEFAULT_ALLOW_LIST, ...config.commands.environment],
    hidden: hiddenFrom(config, opened.connections.service, environment),
    limits: {
      // Runs have a time limit; a command has none of its own.
      seconds: null,
      memoryBytes: memoryMib === 0 ? null : memoryMib * MIB,
      processes: processes === 0 ? null : processes,
      fileBytes: fileMib === 0 ? null : fileMib * MIB,
    },
    timeLimitSeconds,
  }
}

/** Runs of workers that are gone are ended by whoever sees it. */
export function runReaper(config: Config, opened: Opened, host: HostProcesses): Periodic {
  const { leaseSeconds, waitLimitSeconds } = config.worker
  return reaper(opened.app, { host, leaseMs: leaseSeconds * 1000, waitLimitSeconds, place: workPlace(config) })
}

export { hostProcesses }

/** Such as `3.13.5 linux-x64`, part of the key under which virtual environments are kept. */
async function pythonOf(environment: Environment): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)('python3', ['--version'], {
      env: { PATH: environment.PATH ?? SYSTEM_PATH },
      timeout: 10_000,
    })
    return `${stdout.trim().replace(/^Python /, '')} ${process.platform}-${process.arch}`
  } catch {
    return null
  }
}
