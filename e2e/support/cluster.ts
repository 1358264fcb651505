/**
 * Servers and workers as processes of their own on one PostgreSQL: each has its own data folder, all have the same master
 * key and one folder of blobs. Every worker has a relay between itself and the database, and a label of its own, so that
 * a run can be given to that one alone. The database knows each node by its name.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { type ExternalPostgres, externalPostgres } from './external-postgres.ts'
import { lookInto } from './postgres.ts'
import { type Relay, startRelay } from './relay.ts'
import { type Client, clientOf } from './runs.ts'
import { type Launched, launch, type ServiceProcess, startProcess, temporaryFolder } from './service.ts'
import { ENVIRONMENT } from './storm.ts'
import { makeWitness, type Witness } from './witness.ts'
import { keepJournal, type WriteJournal } from './write-journal.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

export interface ClusterOptions {
  readonly servers: number
  readonly workers: number
  readonly leaseSeconds: number
  readonly slots: number
  /** The `main.ts` of another build. */
  readonly entry?: string
}

export interface ClusterServer {
  readonly name: string
  readonly process: ServiceProcess
  readonly client: Client
}

export interface ClusterWorker {
  /** Of the node in the database's eyes, and the label that is its alone. */
  readonly name: string
  readonly relay: Relay
  readonly process: Launched
  /** As runs name their worker. */
  readonly id: string
  /** The slug of an environment whose runs go here and nowhere else. */
  readonly environment: string
}

export interface Cluster {
  readonly postgres: ExternalPostgres
  /** A superuser's connection, past every relay; another one after `reconnect`. */
  readonly database: pg.Client
  reconnect(): Promise<void>
  readonly journal: WriteJournal
  readonly witness: Witness
  readonly servers: ClusterServer[]
  readonly workers: ClusterWorker[]
  /** Of the first server. */
  readonly client: Client
  /** The slug of an environment for any worker. */
  readonly environment: string
  /** As the client's own; its slug is remembered. */
  schedule: Client['schedule']
  readonly slugs: readonly string[]
  /** Puts another process into the place of one that has ended, under another name. */
  restartServer(index: number): Promise<ClusterServer>
  restartWorker(index: number): Promise<ClusterWorker>
  stop(): Promise<void>
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const postgres = await externalPostgres(undefined, { max_connections: '300' })
  const started: Launched[] = []
  try {
    return await startNodes(options, postgres, started)
  } catch (error) {
    for (const one of started) one.signal('SIGKILL')
    await Promise.all(started.map((one) => one.exited))
    await postgres.stop()
    throw error
  }
}

/** On a host that has much else to do. */
const LONGEST_START_MS = 180_000

async function startNodes(options: ClusterOptions, postgres: ExternalPostgres, started: Launched[]): Promise<Cluster> {
  const blobs = join(await temporaryFolder('blobs'), 'blobs')
  const { port } = new URL(postgres.url)
  const shared = {
    ...ENVIRONMENT,
    YARDMASTER_MASTER_KEY: MASTER_KEY,
    YARDMASTER_BLOBS_FOLDER: blobs,
    YARDMASTER_WORKER_LEASE_SECONDS: String(options.leaseSeconds),
    YARDMASTER_DATABASE_POOL_SIZE: '8',
  }
  const databaseUrl = (name: string, at: string): string => {
    const url = new URL(postgres.url)
    url.port = at
    url.searchParams.set('application_name', name)
    return url.href
  }
  const build = options.entry === undefined ? {} : { entry: options.entry }
  let first: ServiceProcess | undefined
  const startServer = async (name: string, dataFolder?: string): Promise<ClusterServer> => {
    const process = await startProcess({
      ...build,
      env: { ...shared, DATABASE_URL: databaseUrl(name, port), YARDMASTER_ROLES: 'api,scheduler' },
      ...(dataFolder !== undefined && { dataFolder }),
    })
    started.push({ ...process, address: Promise.resolve(process.url) })
    first ??= process
    return { name, process, client: clientOf({ url: process.url, key: first.key, workspaceUid: first.workspaceUid }) }
  }
  const servers = [await startServer('server-1')]
  const { client } = servers[0]!
  let database = await lookInto(postgres.superuser)
  const journal = await keepJournal(() => database)
  const witness = await makeWitness()
  const environment = await client.environment(witness.repository)

  const startWorker = async (
    label: string,
    name: string,
    relay: Relay,
    place: { readonly environment: string; readonly dataFolder?: string },
  ): Promise<ClusterWorker> => {
    const process = await launch({
      ...build,
      env: { ...shared, DATABASE_URL: databaseUrl(name, String(relay.port)) },
      args: ['worker', '--slots', String(options.slots), '--labels', label],
      ...(place.dataFolder !== undefined && { dataFolder: place.dataFolder }),
    })
    started.push(process)
    const id = await client.until(async () => {
      const said = /Yardmaster worker (\S+) is taking runs/.exec(process.stdout())?.[1]
      if (said === undefined && hasExited(process.pid)) throw new Error(`a worker did not start: ${process.stderr()}`)
      return said
    }, LONGEST_START_MS)
    return { name, relay, process, id, environment: place.environment }
  }
  const [others, workers] = await Promise.all([
    Promise.all(Array.from({ length: options.servers - 1 }, (_, at) => startServer(`server-${at + 2}`))),
    Promise.all(
      Array.from({ length: options.workers }, async (_, at) => {
        const label = `worker-${at + 1}`
        const relay = await startRelay({ host: '127.0.0.1', port: Number(port) })
        const own = await client.environment(witness.repository, { workerLabels: [label] })
        return await startWorker(label, label, relay, { environment: own })
      }),
    ),
  ])
  servers.push(...others)
  // A lease of seconds may run out while a process still wakes up on a busy host. That is no fault, and not looked for.
  await Promise.all(
    workers.map(async (worker) => {
      const slug = await client.schedule(worker.environment, ['true'])
      for (let state = ''; state !== 'SUCCESS'; ) state = (await client.ended(await client.trigger(slug), 60_000)).state
    }),
  )

  const slugs: string[] = []
  let starts = 0
  return {
    postgres,
    get database() {
      return database
    },
    reconnect: async () => {
      database = await lookInto(postgres.superuser)
    },
    journal,
    witness,
    servers,
    workers,
    client,
    environment,
    slugs,
    schedule: async (...wanted) => {
      const slug = await client.schedule(...wanted)
      slugs.push(slug)
      return slug
    },
    restartServer: async (index) => {
      const old = servers[index]!
      const { dataFolder } = old.process
      servers[index] = await startServer(`server-${index + 1}.${++starts}`, dataFolder)
      return servers[index]
    },
    restartWorker: async (index) => {
      const old = workers[index]!
      const { dataFolder } = old.process
      const label = `worker-${index + 1}`
      const place = { environment: old.environment, dataFolder }
      workers[index] = await startWorker(label, `${label}.${++starts}`, old.relay, place)
      return workers[index]
    },
    stop: async () => {
      for (const { relay } of workers) relay.goOn()
      for (const worker of workers) worker.process.signal('SIGCONT')
      for (const worker of workers) worker.process.signal('SIGTERM')
      // After a failure runs may be going that a worker would wait for.
      const impatient = setTimeout(() => {
        for (const worker of workers) worker.process.signal('SIGKILL')
      }, 20_000)
      await Promise.all(workers.map((worker) => worker.process.exited))
      clearTimeout(impatient)
      await Promise.all(servers.map((server) => server.process.stop()))
      await Promise.all(workers.map((worker) => worker.relay.close()))
      await database.end().catch(() => {})
      await postgres.stop()
    },
  }
}

function hasExited(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return true
  }
}
