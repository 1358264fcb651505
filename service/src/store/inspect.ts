// What `doctor` asks of a database. Every statement bears a database that is empty, older or newer than this program.
import { sql } from 'kysely'
import type { Db } from './database.ts'

export const DURABILITY = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

export interface ServerFacts {
  readonly version: string
  readonly role: string
  readonly settings: Readonly<Record<string, string>>
  /** How many connections this role may have at most, those for superusers left out, and how many all have now. */
  readonly limit: number
  readonly used: number
}

export async function server(db: Db): Promise<ServerFacts> {
  const { rows } = await sql<ServerFacts>`/* inspect_server */ select
      current_setting('server_version') as version, current_user as role,
      (select json_object_agg(name, setting) from pg_settings where name = any(${[...DURABILITY]}::text[])) as settings,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as limit,
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`.execute(db)
  return rows[0]!
}

/** The server's clock, in milliseconds since 1970. */
export async function now(db: Db): Promise<number> {
  const { rows } = await sql<{ now: number }>`/* inspect_clock */
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`.execute(db)
  return rows[0]!.now
}

export interface AppliedMigration {
  readonly version: number
  readonly name: string
  readonly checksum: string
  readonly breaking: boolean
}

/** Null where nothing of ours is there yet. */
export async function appliedMigrations(db: Db): Promise<AppliedMigration[] | null> {
  const there = await sql<{ there: boolean }>`/* inspect_migration_table */
    select to_regclass('yardmaster.migration') is not null as there`.execute(db)
  if (!there.rows[0]?.there) return null
  const { rows } = await sql<AppliedMigration>`/* inspect_migrations */
    select version, name, checksum, breaking from yardmaster.migration order by version`.execute(db)
  return rows
}

export const AUDIT_TRIGGERS = ['audit_log_is_append_only', 'audit_log_is_not_truncated'] as const

export interface AuditFacts {
  readonly role: string
  readonly superuser: boolean
  readonly owner: string
  /** Whether the role has the rights of the owner, by being it or a member of it. */
  readonly owned: boolean
  /** Each trigger of the table with when it fires; only `always` is in force whatever a session sets. */
  readonly triggers: Readonly<Record<string, 'always' | 'origin' | 'replica' | 'disabled'>>
  readonly headId: number
}

export async function audit(db: Db): Promise<AuditFacts> {
  const { rows } = await sql<AuditFacts>`/* inspect_audit */ select current_user as role,
      (select rolsuper from pg_roles where rolname = current_user) as superuser,
      pg_get_userbyid(c.relowner) as owner, pg_has_role(current_user, c.relowner, 'member') as owned,
      (select coalesce(json_object_agg(tgname, case tgenabled when 'A' then 'always' when 'O' then 'origin'
          when 'R' then 'replica' else 'disabled' end), '{}'::json)
        from pg_trigger where tgrelid = c.oid and not tgisinternal) as triggers,
      (select last_id from yardmaster.audit_head where id = 1) as "headId"
    from pg_class c where c.oid = 'yardmaster.audit_log'::regclass`.execute(db)
  return rows[0]!
}
