// Opens what every process of the service stands on, a command as much as a server: the data folder, the database
// with its schema, the master keys, the queue. Closing goes the other way round.
import { fileWitness } from '../adapters/audit-witness-file.ts'
import { makeMasterKey, masterKeyPath, readMasterKeys } from '../adapters/master-key-file.ts'
import { systemClock } from '../adapters/runtime.ts'
import type { App, AppSettings } from '../app/context.ts'
import { parseMasterKeys } from '../config/rules.ts'
import type { Config } from '../config/schema.ts'
import type { AuditWitness } from '../ports/audit-witness.ts'
import type { Log } from '../ports/runtime.ts'
import { type Connection, userOf } from '../store/connection.ts'
import { type Database, type Db, openDatabase } from '../store/database.ts'
import { assertDurable } from '../store/durability.ts'
import { startEmbeddedPostgres } from '../store/embedded-postgres.ts'
import { prepareDataFolder } from '../store/embedded-postgres-files.ts'
import { migrate } from '../store/migrate.ts'
import { openQueue, type QueueService } from '../store/queue.ts'
import * as secrets from '../store/secrets.ts'
import { Vault } from '../store/vault.ts'

export const WORKSPACE_HEADER = 'X-Service-Workspace'

export interface Opened {
  readonly app: App
  readonly database: Database
  readonly queue: QueueService
  readonly witness: AuditWitness
  readonly connections: Connections
  /** The address that links are made from; a server on a free port sets it once it listens. */
  setPublicUrl(url: string): void
  close(): Promise<void>
}

export interface Connections {
  readonly service: Connection
  readonly owner: Connection
  readonly embedded: boolean
  /** Whether the service's own role owns the tables, the audit log among them. */
  readonly serviceOwnsTables: boolean
  stop(): Promise<void>
}

export interface OpenOptions {
  /** A worker of another host works on the servers' database and has none of its own. */
  readonly purpose: 'serve' | 'worker' | 'command'
  /** A serving process lost its data folder to another one and must stop. */
  readonly onLost?: (error: Error) => void
}

export async function openApp(config: Config, log: Log, options: OpenOptions): Promise<Opened> {
  const data = await prepareDataFolder(config.data)
  const connections = await connect(config, data, log, options)
  let database: Database | undefined
  try {
    const { service, owner, serviceOwnsTables } = connections
    await migrate(owner, { serviceRole: serviceOwnsTables ? null : (userOf(service) ?? null) })
    database = openDatabase(service, {
      poolSize: options.purpose === 'command' ? 3 : config.database.poolSize,
      queryTimeoutMs: config.database.queryTimeoutMs,
      applicationName: `yardmaster ${options.purpose}`,
    })
    await assertDurable(database.kysely)
    const vault = await openVault(config, data, database.kysely)
    const mode = options.purpose === 'command' ? 'send' : 'full'
    const queue = openQueue(service, {
      mode,
      onError: (error) => log.warn({ err: error }, 'the queue reported an error'),
    })
    const address = { publicUrl: config.publicUrl }
    const settings: AppSettings = {
      get publicUrl() {
        return address.publicUrl
      },
      sessionHours: config.session.hours,
      workspaceHeader: WORKSPACE_HEADER,
    }
    const opened = database
    return {
      app: { db: opened.kysely, vault, queue, clock: systemClock, log, settings },
      database: opened,
      queue,
      witness: fileWitness(`${data}/audit-heads.jsonl`, systemClock),
      connections,
      setPublicUrl: (url) => {
        address.publicUrl = url
      },
      close: async () => {
        await queue.stop()
        await opened.close()
        await connections.stop()
      },
    }
  } catch (error) {
    await database?.close()
    await connections.stop()
    throw error
  }
}

async function connect(config: Config, data: string, log: Log, options: OpenOptions): Promise<Connections> {
  const url = config.database.url?.reveal()
  if (url === undefined) {
    const purpose = options.purpose === 'serve' ? 'serve' : 'command'
    const embedded = await startEmbeddedPostgres({ dataFolder: data, log, ...options, purpose })
    const { service, owner } = embedded
    return { service, owner, embedded: true, serviceOwnsTables: false, stop: () => embedded.stop() }
  }
  const service = { url }
  const ownerUrl = config.database.ownerUrl?.reveal()
  const owner = ownerUrl === undefined ? service : { url: ownerUrl }
  const serviceOwnsTables = ownerUrl === undefined || userOf(owner) === userOf(service)
  return { service, owner, embedded: false, serviceOwnsTables, stop: async () => {} }
}

async function openVault(config: Config, data: string, db: Db): Promise<Vault> {
  const given = config.masterKey?.reveal()
  const path = masterKeyPath(data)
  const stored = given === undefined ? await readMasterKeys(path) : null
  // A new key is made for a new database only: for any other, the right one exists somewhere and must be given.
  const keys = given === undefined ? (stored ?? (await newKeys(path, db))) : parseMasterKeys(given)
  const vault = new Vault(keys)
  const check = await secrets.checkMasterKeys(db, vault)
  if (check.kind === 'missing') throw new Error(wrongKeyText(path, check.kids))
  await secrets.rememberMasterKey(db, vault)
  return vault
}

async function newKeys(path: string, db: Db): Promise<Buffer[]> {
  const known = await secrets.knownMasterKeys(db)
  if (known.length > 0) throw new Error(wrongKeyText(path, known))
  return await makeMasterKey(path)
}

const wrongKeyText = (path: string, kids: readonly string[]): string =>
  `This database was set up with the master key ${kids.join(', ')}, which is not at hand. Give it with ` +
  `YARDMASTER_MASTER_KEY_FILE, or put the file back as ${path}.`
