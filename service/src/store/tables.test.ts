// The types of tables.ts are gone when the code runs, so their source is read: which interfaces there are, which columns
// they name, and whether a column may be null, may be left out, or is given by the database alone.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { testDatabase } from '../../test/support/database.ts'

interface Column {
  readonly type: string
  readonly nullable: boolean
  readonly optional: boolean
  readonly always: boolean
}

type Shape = Record<string, Record<string, Column>>

const SOURCE = readFileSync(join(import.meta.dirname, 'tables.ts'), 'utf8')

function readTypes(source: string): Shape {
  const interfaces = new Map(
    [...source.matchAll(/export interface (\w+) \{\n(.*?)\n\}/gs)].map(([, name, body]) => [name!, body!]),
  )
  const members = (body: string): [string, string][] =>
    [...body.matchAll(/^ {2}(\w+): (.+)$/gm)].map(([, name, type]) => [name!, type!])
  return Object.fromEntries(
    members(interfaces.get('Tables')!).map(([table, type]) => [
      table,
      Object.fromEntries(members(interfaces.get(type)!).map(([column, text]) => [column, columnOf(text)])),
    ]),
  )
}

function columnOf(text: string): Column {
  const always = text.startsWith('GeneratedAlways<')
  const generated = /^Generated<(.+)>$/.exec(text)?.[1]
  const inner = (/^GeneratedAlways<(.+)>$/.exec(text)?.[1] ?? generated ?? text).replace(' | null', '')
  const time = /^(Nullable)?Time$|^ColumnType<Date/.test(inner)
  const nullable = text.endsWith('| null') || text === 'NullableTime'
  const optional = always || generated !== undefined || nullable || text === 'Time'
  return { type: time ? 'Date' : inner, nullable, optional, always }
}

/** What pg's parsers make of a column. */
const TYPES: Readonly<Record<string, string>> = {
  int4: 'number',
  date: 'string',
  float8: 'number',
  int2: 'number',
  text: 'string',
  bool: 'boolean',
  bytea: 'Buffer',
  timestamptz: 'Date',
  _text: 'string[]',
  int8: 'number',
  jsonb: 'unknown',
  uuid: 'string',
}

test('the types of the tables are the columns of the database', async () => {
  await using t = await testDatabase()
  const { rows } = await sql<{
    table: string
    column: string
    type: string
    nullable: boolean
    defaulted: boolean
    always: boolean
  }>`select table_name as table, column_name as column, udt_name as type, is_nullable = 'YES' as nullable,
      column_default is not null as defaulted, coalesce(identity_generation = 'ALWAYS', false) as always
    from information_schema.columns where table_schema = 'yardmaster' and table_name <> 'migration'
      and not (select relispartition from pg_class where oid = (quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass)
    order by table_name, ordinal_position`.execute(t.owner.kysely)
  const real: Shape = {}
  for (const row of rows) {
    real[row.table] ??= {}
    real[row.table]![row.column] = {
      type: TYPES[row.type] ?? row.type,
      nullable: row.nullable,
      optional: row.nullable || row.defaulted || row.always,
      always: row.always,
    }
  }
  const typed = readTypes(SOURCE)
  // The head is made by the migration and only changed after it: nobody inserts one, so nothing there is left out.
  for (const column of ['last_id', 'last_mac'])
    real.audit_head![column] = { ...real.audit_head![column]!, optional: false }
  assert.deepEqual(typed, real)
})

test('a column too many, one too few and one of another type would be seen', () => {
  const typed = readTypes(SOURCE)
  const other = readTypes(
    SOURCE.replace('export interface NodeTable {\n', 'export interface NodeTable {\n  extra: string | null\n')
      .replace('  host: string\n', '')
      .replace('  pid: number\n', '  pid: string\n'),
  )
  assert.deepEqual(
    Object.keys(other.node!).sort(),
    [...Object.keys(typed.node!), 'extra'].filter((one) => one !== 'host').sort(),
  )
  assert.equal(other.node!.pid!.type, 'string')
  assert.deepEqual(other.node!.extra, { type: 'string', nullable: true, optional: true, always: false })
})
