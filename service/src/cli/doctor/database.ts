// The database, the master key and the audit log, looked at without changing anything: nothing is migrated here.
import { fileURLToPath } from 'node:url'
import { fileWitness } from '../../adapters/audit-witness-file.ts'
import { masterKeyPath, readMasterKeys } from '../../adapters/master-key-file.ts'
import { systemClock } from '../../adapters/runtime.ts'
import { sourceText } from '../../config/faults.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { parseMasterKeys } from '../../config/rules.ts'
import type { Config } from '../../config/schema.ts'
import type { Connection } from '../../store/connection.ts'
import { type Db, openDatabase } from '../../store/database.ts'
import { startEmbeddedPostgres } from '../../store/embedded-postgres.ts'
import * as inspect from '../../store/inspect.ts'
import { planMigrations, readMigrations } from '../../store/migrate.ts'
import { checkMasterKeys } from '../../store/secrets.ts'
import { Vault } from '../../store/vault.ts'
import { commandLog, hasDatabase } from '../app.ts'
import { check, type Finding, fail, ok, warn } from './finding.ts'
import { modelChecks } from './models.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations', import.meta.url))

export async function databaseChecks(loaded: LoadedConfig): Promise<Finding[]> {
  const { config } = loaded
  if (!(await hasDatabase(config))) {
    return [await check('database', '', () => ok('not made yet; the first start makes an embedded PostgreSQL'))]
  }
  let reached: Reached | undefined
  const reach = await check('database', reachAdvice(config), async () => {
    reached = await reachDatabase(loaded)
    const { version, role } = await inspect.server(reached.db)
    return ok(`${reached.embedded ? 'embedded' : 'external'} PostgreSQL ${version}, reached as ${role}`)
  })
  if (reached === undefined) return [reach]
  const { db, close } = reached
  try {
    if (reach.status === 'fail') return [reach]
    return [reach, ...(await inspectAll(loaded, db))]
  } finally {
    await close()
  }
}

async function inspectAll(loaded: LoadedConfig, db: Db): Promise<Finding[]> {
  const { config } = loaded
  const again = 'Look at the message; yardmaster doctor can be run again at any time.'
  const found = [
    await check('durability', again, () => durability(db)),
    await check('connections', again, () => connections(config, db)),
    await check('clock', again, () => clock(db)),
  ]
  const applied = await inspect.appliedMigrations(db)
  found.push(await check('migrations', again, () => migrations(applied)))
  if (applied === null) return found
  return [
    ...found,
    await check('master key', 'Restore the master key that this database was set up with.', () =>
      masterKey(loaded, db),
    ),
    await check('audit owner', again, () => auditOwner(db)),
    await check('audit log', again, () => auditLog(config, db)),
    ...(await modelChecks(config, db, async () => new Vault((await masterKeysOf(loaded)) ?? []))),
  ]
}

interface Reached {
  readonly db: Db
  readonly embedded: boolean
  close(): Promise<void>
}

async function reachDatabase(loaded: LoadedConfig): Promise<Reached> {
  const { config } = loaded
  const url = config.database.url?.reveal()
  const embedded =
    url === undefined
      ? await startEmbeddedPostgres({ dataFolder: config.data, purpose: 'command', log: commandLog(loaded) })
      : undefined
  const connection: Connection = embedded?.service ?? { url: url ?? '' }
  const database = openDatabase(connection, {
    poolSize: 1,
    queryTimeoutMs: config.database.queryTimeoutMs,
    applicationName: 'yardmaster doctor',
  })
  const close = async (): Promise<void> => {
    await database.close()
    await embedded?.stop()
  }
  return { db: database.kysely, embedded: embedded !== undefined, close }
}

const reachAdvice = (config: Config): string =>
  config.database.url === undefined
    ? `Look into ${config.data}/postgres.log.`
    : 'Is the server running, and is DATABASE_URL right? Address, user, password and database are all in it.'

async function durability(db: Db) {
  const { settings } = await inspect.server(db)
  const said = inspect.DURABILITY.map((name) => `${name} ${settings[name]}`).join(', ')
  const off = inspect.DURABILITY.filter((name) => settings[name] === 'off')
  if (off.length === 0) return ok(said)
  return fail(
    said,
    `Set ${off.map((name) => `${name} = on`).join(', ')} on the server and reload it (select pg_reload_conf()).`,
  )
}

/** Beside the pool, a process holds a few connections for the queue and its locks. */
const BESIDE_POOL = 6

async function connections(config: Config, db: Db) {
  const { limit, used } = await inspect.server(db)
  const needed = config.database.poolSize + BESIDE_POOL
  const text = `${used} of ${limit} in use; one process needs up to ${needed}`
  if (limit >= needed) return ok(text)
  return warn(text, 'Raise max_connections on the server, or lower YARDMASTER_DATABASE_POOL_SIZE.')
}

const CLOCKS_AGREE_MS = 2000

async function clock(db: Db) {
  const before = systemClock.now().getTime()
  const theirs = await inspect.now(db)
  const after = systemClock.now().getTime()
  // The database read its clock somewhere between the two.
  const apart = Math.max(0, before - theirs, theirs - after)
  const text = `${(apart / 1000).toFixed(1)} s between this machine and the database`
  return apart <= CLOCKS_AGREE_MS ? ok(text) : warn(text, 'Keep both clocks right with NTP.')
}

async function migrations(applied: inspect.AppliedMigration[] | null) {
  const known = await readMigrations(MIGRATIONS)
  const start = 'Start the service once: it migrates the database.'
  if (applied === null) return warn('this database was never set up', start)
  const { pending, unknown } = planMigrations(known, applied)
  if (pending.length > 0) return warn(`${pending.length} of ${known.length} are not applied yet`, start)
  if (unknown.length > 0) {
    return warn(`${unknown.length} were applied by a newer Yardmaster`, 'Upgrade this one as well.')
  }
  return ok(`current (${known.length})`)
}

async function masterKeysOf({ config }: LoadedConfig): Promise<readonly Buffer[] | null> {
  const given = config.masterKey?.reveal()
  return given === undefined ? await readMasterKeys(masterKeyPath(config.data)) : parseMasterKeys(given)
}

async function masterKey(loaded: LoadedConfig, db: Db) {
  const { config, sources } = loaded
  const given = config.masterKey?.reveal()
  const path = masterKeyPath(config.data)
  const keys = await masterKeysOf(loaded)
  const where = given === undefined ? `${path}, mode 0600` : `given by ${sourceText(sources.get('masterKey')!)}`
  if (keys === null) {
    return fail(`${path} is missing`, 'Put the file back, or give the key with YARDMASTER_MASTER_KEY_FILE.')
  }
  const found = await checkMasterKeys(db, new Vault(keys))
  if (found.kind === 'missing') {
    return fail(`${where}: it lacks ${found.kids.join(', ')}`, 'Add the missing key behind the current one.')
  }
  return ok(`${where}, fits the database (${keys.length === 1 ? 'one key' : `${keys.length} keys`})`)
}

async function auditOwner(db: Db) {
  const { role, owner, owned, superuser } = await inspect.audit(db)
  if (superuser) {
    return warn(`${role}, the service's role, is a superuser`, 'Give the service a role without superuser rights.')
  }
  if (!owned) return ok(`the service's role (${role}) does not own the audit table (${owner} does)`)
  return warn(
    `the service's role (${role}) owns the audit table, and could take its protection away`,
    "Give the owner's address in YARDMASTER_DATABASE_OWNER_URL, and another role in DATABASE_URL.",
  )
}

async function auditLog(config: Config, db: Db) {
  const { triggers, headId } = await inspect.audit(db)
  const missing = inspect.AUDIT_TRIGGERS.filter((name) => triggers[name] !== 'always')
  if (missing.length > 0) {
    const advice = 'Somebody took the protection of the log away: run yardmaster audit verify, and find out who.'
    return fail(`its triggers are not in force: ${missing.join(', ')}`, advice)
  }
  const witnessed = (await fileWitness(`${config.data}/audit-heads.jsonl`, systemClock).read()).at(-1)
  const text = `append-only, ${headId} rows`
  if (headId === 0) return ok(`${text}; nothing to witness yet`)
  if (witnessed === undefined) {
    return warn(`${text}, and no head outside the database`, 'The service writes one a minute while it runs: start it.')
  }
  if (witnessed.id > headId) return fail(`${text}, while row ${witnessed.id} was seen`, 'Run yardmaster audit verify.')
  return ok(`${text}, head outside the database at row ${witnessed.id}; yardmaster audit verify checks them all`)
}
