/**
 * Numbered SQL files, forward only. Each runs in a transaction with the row that says it was applied, under a lock,
 * so any number of nodes may start at once: one migrates, the others wait and find nothing to do.
 *
 * The first line of a file may be a comment with marks, separated by commas:
 *
 *   `-- breaking`        an older binary must not run on this schema. Without it, it may: that is what lets nodes be
 *                        replaced one by one.
 *   `-- no transaction`  for what PostgreSQL refuses inside one (create index concurrently). Its statements are sent
 *                        one by one and must bear being run again (`if not exists`), since a crash in the middle
 *                        leaves no record. A statement ends at a semicolon at the end of a line; no dollar quotes.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Connection, connect } from './connection.ts'

export interface MigrateOptions {
  /** The role the service signs in as, when it is not the owner: it gets its grants. null: one role does both. */
  readonly serviceRole: string | null
  readonly folder?: string
}

export interface Migrated {
  readonly version: number
  readonly applied: readonly string[]
  /** Applied by a newer binary, and not breaking for this one. */
  readonly unknown: readonly string[]
}

export interface Migration {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly breaking: boolean
  readonly transaction: boolean
  readonly text: string
}

const FOLDER = join(import.meta.dirname, '..', '..', 'migrations')
const LOCK = 'select pg_try_advisory_lock(1497453124, 10) as locked' // 'YARD'
const LOCK_PATIENCE = 10

export async function migrate(owner: Connection, options: MigrateOptions): Promise<Migrated> {
  const migrations = await readMigrations(options.folder ?? FOLDER)
  const client = await connect(owner, { applicationName: 'yardmaster migrate', queryTimeoutMs: 0 })
  try {
    // Tried again and again rather than waited for: a session that waits inside a statement holds a snapshot, and
    // `create index concurrently` of the one that works would wait for it, for ever.
    while (!(await client.query<{ locked: boolean }>(LOCK)).rows[0]?.locked) await pause(100)
    await prepare(client)
    const before = await readApplied(client)
    const plan = planMigrations(migrations, before)
    for (const migration of plan.pending) await apply(client, migration)
    const { serviceRole } = options
    if (serviceRole !== null && (await lacksRights(client, serviceRole))) await grant(client, serviceRole)
    else await client.query('/* migrate.queue_schema */ create schema if not exists pgboss')
    return {
      version: Math.max(0, ...migrations.map((m) => m.version), ...before.map((a) => a.version)),
      applied: plan.pending.map(label),
      unknown: plan.unknown.map(label),
    }
  } finally {
    // Ends the session, and with it the lock.
    await client.end()
  }
}

export async function readMigrations(folder: string): Promise<Migration[]> {
  const migrations: Migration[] = []
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()) {
    const match = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file)
    if (!match) throw new Error(`Migration ${file} is not named NNNN_name.sql`)
    const version = Number(match[1])
    if (version !== migrations.length + 1) {
      throw new Error(
        `Migration ${file} should be number ${migrations.length + 1}: numbers have no gaps and no doubles`,
      )
    }
    // Line ends do not count: git may change them at checkout.
    const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n')
    const marks =
      /^--(.*)\n/
        .exec(text)?.[1]
        ?.split(',')
        .map((mark) => mark.trim()) ?? []
    migrations.push({
      version,
      name: match[2]!,
      checksum: createHash('sha256').update(text).digest('hex'),
      breaking: marks.includes('breaking'),
      transaction: !marks.includes('no transaction'),
      text,
    })
  }
  return migrations
}

interface Applied {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly breaking: boolean
}

/** What is to be done, or an error that says why nothing may be. */
export function planMigrations(
  known: readonly Migration[],
  applied: readonly Applied[],
): { pending: readonly Migration[]; unknown: readonly Applied[] } {
  for (const done of applied) {
    const migration = known[done.version - 1]
    if (migration && migration.checksum !== done.checksum) {
      throw new Error(
        `Migration ${label(migration)} was changed after this database applied it${
          done.name === migration.name ? '' : ` (as ${label(done)})`
        }: restore the file, and put the change into a new migration`,
      )
    }
  }
  const unknown = applied.filter((done) => known[done.version - 1] === undefined)
  const breaking = unknown.filter((done) => done.breaking)
  if (breaking.length > 0) {
    throw new Error(
      `This database was migrated by a newer Yardmaster (${breaking.map(label).join(', ')}), and this one cannot work ` +
        'with it: install that version again, or restore a backup made before the upgrade',
    )
  }
  const done = new Set(applied.map((row) => row.version))
  return { pending: known.filter((migration) => !done.has(migration.version)), unknown }
}

function label(migration: { version: number; name: string }): string {
  return `${String(migration.version).padStart(4, '0')}_${migration.name}`
}

async function prepare(client: pg.Client): Promise<void> {
  // Asked first, because `if not exists` needs the right to create even where there is nothing to create.
  const { rows } = await client.query<{ there: boolean }>(
    "/* migrate.schema */ select to_regnamespace('yardmaster') is not null as there",
  )
  if (!rows[0]?.there) await client.query('/* migrate.create_schema */ create schema yardmaster')
  await client.query(`/* migrate.table */ create table if not exists yardmaster.migration (
    version     integer primary key,
    name        text not null,
    checksum    text not null,
    breaking    boolean not null,
    applied_at  timestamptz not null default clock_timestamp()
  )`)
}

async function readApplied(client: pg.Client): Promise<Applied[]> {
  const { rows } = await client.query<Applied>(
    '/* migrate.applied */ select version, name, checksum, breaking from yardmaster.migration order by version',
  )
  return rows
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    if (!migration.transaction) {
      for (const statement of statementsOf(migration)) await client.query(statement)
      await record(client, migration)
      return
    }
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query('begin')
        // A change that waits for a lock makes every later query on that table wait behind it, on all nodes that are
        // still serving. So it gives way, and tries again.
        await client.query("set local lock_timeout = '3s'")
        await client.query(migration.text)
        await record(client, migration)
        await client.query('commit')
        return
      } catch (error) {
        await client.query('rollback')
        if (attempt >= LOCK_PATIENCE || !(error instanceof pg.DatabaseError && error.code === '55P03')) throw error
        await pause(500)
      }
    }
  } catch (error) {
    throw new Error(`Migration ${label(migration)} failed: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

async function record(client: pg.Client, { version, name, checksum, breaking }: Migration): Promise<void> {
  await client.query(
    '/* migrate.record */ insert into yardmaster.migration (version, name, checksum, breaking) values ($1, $2, $3, $4)',
    [version, name, checksum, breaking],
  )
}

function statementsOf(migration: Migration): string[] {
  if (migration.text.includes('$$')) throw new Error('dollar quotes cannot be used without a transaction')
  return migration.text
    .split(/;[ \t]*(?:\n|$)/)
    .filter((statement) => statement.replaceAll(/--.*$/gm, '').trim() !== '')
}

/** What the service may not do although it may do it to every other table. */
const EXCEPTIONS: Readonly<Record<string, string>> = { audit_log: 'select, insert', migration: 'select' }

/** Every command comes by here, and a grant makes every running node plan its statements again: only when needed. */
async function lacksRights(client: pg.Client, serviceRole: string): Promise<boolean> {
  const { rows } = await client.query<{ lacks: boolean }>(
    `/* migrate.lacks_rights */
    select to_regnamespace('pgboss') is null or exists (
      select from pg_class c
      where c.relnamespace = 'yardmaster'::regnamespace and c.relkind in ('r', 'p')
        and (not has_table_privilege($1, c.oid, 'select')
          or has_table_privilege($1, c.oid, 'delete') = (c.relname = any ($2)))
    ) as lacks`,
    [serviceRole, Object.keys(EXCEPTIONS)],
  )
  return rows[0]?.lacks !== false
}

async function grant(client: pg.Client, serviceRole: string): Promise<void> {
  const role = pg.escapeIdentifier(serviceRole)
  const exceptions = Object.entries(EXCEPTIONS).map(
    ([table, rights]) => `
      if to_regclass('yardmaster.${table}') is not null then
        revoke all on yardmaster.${table} from ${role};
        grant ${rights} on yardmaster.${table} to ${role};
      end if;`,
  )
  await client.query(`/* migrate.grant */
    begin;
    grant usage on schema yardmaster to ${role};
    grant select, insert, update, delete on all tables in schema yardmaster to ${role};
    grant usage, select on all sequences in schema yardmaster to ${role};
    do $grant$ begin ${exceptions.join('')}
      if to_regnamespace('pgboss') is null then
        create schema pgboss;
        -- An owner who is no superuser may be unable to give a schema away. The tables in it are the service's anyway.
        if pg_has_role(${pg.escapeLiteral(serviceRole)}, 'set') then
          alter schema pgboss owner to ${role};
        else
          grant usage, create on schema pgboss to ${role};
        end if;
      end if;
    end $grant$;
    commit`)
}
