/** Compares what the clients were told with what is in the database, row by row and record by record. */
import type pg from 'pg'
import { fileWitness } from '../../service/src/adapters/audit-witness-file.ts'
import { masterKeyPath, readMasterKeys } from '../../service/src/adapters/master-key-file.ts'
import { systemClock } from '../../service/src/adapters/runtime.ts'
import { verifyAudit } from '../../service/src/app/audit.ts'
import type { Connection } from '../../service/src/store/connection.ts'
import { openDatabase } from '../../service/src/store/database.ts'
import { Vault } from '../../service/src/store/vault.ts'
import type { History, Op } from './history.ts'
import { lookInto } from './postgres.ts'

export interface Findings {
  /** Acknowledged, and not there. */
  readonly lost: readonly string[]
  /** There more than once, as a row or as an audit record. */
  readonly doubled: readonly string[]
  /** There although it was refused or never sent. */
  readonly ghosts: readonly string[]
  /** An effect without its one audit record, a record without its effect, a mail too many or too few. */
  readonly torn: readonly string[]
  /** What `verifyAudit` says, the heads kept outside the database included. */
  readonly chain: readonly string[]
  readonly auditRows: number
  readonly witnesses: number
  /** How many of unknown outcome have happened. */
  readonly unknownDone: number
}

export const faultsIn = (found: Findings): readonly string[] => [
  ...found.lost.map((text) => `lost: ${text}`),
  ...found.doubled.map((text) => `doubled: ${text}`),
  ...found.ghosts.map((text) => `ghost: ${text}`),
  ...found.torn.map((text) => `torn: ${text}`),
  ...found.chain.map((text) => `audit: ${text}`),
]

interface Place {
  readonly connection: Connection
  readonly dataFolder: string
  /** The last audit record before the load began. */
  readonly auditStart: number
}

interface Snapshot {
  /** `kind subject` to how many rows. */
  readonly rows: Map<string, number>
  readonly records: Map<string, number>
  /** Per person, the account types in the order of the records. */
  readonly roleRecords: Map<string, string[]>
  readonly roles: Map<string, string>
  readonly allRecords: number
  readonly mails: number
}

/** Call it while no client is sending. */
export async function check(place: Place, history: History): Promise<Findings> {
  const seen = await look(place)
  const lost: string[] = []
  const doubled: string[] = []
  const ghosts: string[] = []
  const torn: string[] = []
  let unknownDone = 0
  let effects = 0
  let invitations = 0
  for (const op of history.ops) {
    if (op.kind === 'role') continue
    const name = `${op.kind} ${op.subject}`
    const rows = seen.rows.get(name) ?? 0
    const records = seen.records.get(name) ?? 0
    effects += rows
    if (op.kind === 'invite') invitations += rows
    if (rows !== records) torn.push(`${name}: ${rows} rows, ${records} audit records`)
    if (Math.max(rows, records) > 1) doubled.push(`${name}: ${rows} rows, ${records} audit records`)
    if (op.outcome === 'ok' && rows === 0) lost.push(name)
    if ((op.outcome === 'refused' || op.outcome === 'waiting') && rows > 0) ghosts.push(`${name} (${op.outcome})`)
    if (op.outcome === 'unknown' && rows > 0) unknownDone++
  }
  for (const [uid, ops] of Map.groupBy(
    history.ops.filter((op) => op.kind === 'role'),
    (op) => op.subject,
  )) {
    const records = seen.roleRecords.get(uid) ?? []
    effects += records.length
    const result = compareRoles(ops, records)
    lost.push(...result.lost.map((to) => `role ${uid} to ${to}`))
    doubled.push(...result.extra.map((to) => `role ${uid} to ${to}, which nobody asked for at that point`))
    unknownDone += result.unknownDone
    const last = records.at(-1)
    if (last !== undefined && seen.roles.get(uid) !== last) {
      torn.push(`role ${uid}: is ${seen.roles.get(uid)}, the last audit record says ${last}`)
    }
  }
  if (seen.allRecords !== effects) torn.push(`${seen.allRecords} audit records for ${effects} effects`)
  if (seen.mails !== invitations) torn.push(`${seen.mails} mails in the queue for ${invitations} invitations`)
  const { rows, faults, witnesses } = await verify(place)
  return { lost, doubled, ghosts, torn, chain: faults, auditRows: rows, witnesses, unknownDone }
}

/** One client changes this person, one change after the other: the records must be its changes, unknown ones or not. */
function compareRoles(ops: readonly Op[], records: readonly string[]) {
  const lost: string[] = []
  const extra: string[] = []
  let unknownDone = 0
  let at = 0
  for (const op of ops) {
    if (op.outcome !== 'ok' && op.outcome !== 'unknown') continue
    if (records[at] === op.to) {
      at++
      if (op.outcome === 'unknown') unknownDone++
    } else if (op.outcome === 'ok') {
      lost.push(op.to)
    }
  }
  extra.push(...records.slice(at))
  return { lost, extra, unknownDone }
}

async function look({ connection, auditStart }: Place): Promise<Snapshot> {
  const client = await lookInto(connection)
  try {
    // One picture of everything: rows and records that commit together are seen together. The clients work with keys;
    // what the service does by itself meanwhile is on record too, and none of their business.
    await client.query('begin isolation level repeatable read read only')
    const rows = new Map<string, number>()
    const records = new Map<string, number>()
    const read = async (into: Map<string, number>, text: string, values: unknown[] = []): Promise<void> => {
      const result: pg.QueryResult<{ name: string; count: number }> = await client.query(text, values)
      for (const { name, count } of result.rows) into.set(name, count)
    }
    await read(
      rows,
      `select 'invite ' || email as name, count(*) from invitation group by email
       union all select 'workspace ' || name, count(*) from workspace group by name
       union all select 'key ' || name, count(*) from api_key group by name
       union all select 'variable ' || name, count(*) from variable group by name
       union all select 'secret ' || name, count(*) from secret where kind = 'variable' group by name`,
    )
    await read(
      records,
      `select case event_type when 'user_invited' then 'invite ' when 'workspace_created' then 'workspace '
          when 'api_key_created' then 'key ' when 'variable_set' then 'variable ' when 'secret_set' then 'secret '
          else event_type || ' ' end || coalesce(metadata::jsonb ->> 'email', metadata::jsonb ->> 'name') as name, count(*)
       from audit_log where id > $1 and actor_type = 'api_key' and event_type <> 'user_account_type_updated' group by 1`,
      [auditStart],
    )
    const changes: pg.QueryResult<{ uid: string; to: string }> = await client.query(
      `select metadata::jsonb ->> 'uid' as uid, metadata::jsonb ->> 'to' as to
       from audit_log where id > $1 and event_type = 'user_account_type_updated' order by id`,
      [auditStart],
    )
    const roleRecords = new Map<string, string[]>()
    for (const { uid, to } of changes.rows) roleRecords.set(uid, [...(roleRecords.get(uid) ?? []), to])
    const members: pg.QueryResult<{ uid: string; type: string }> = await client.query(
      'select p.uid, m.account_type as type from membership m join person p on p.id = m.person_id',
    )
    const counts: pg.QueryResult<{ records: number; mails: number }> = await client.query(
      `select (select count(*) from audit_log where id > $1 and actor_type = 'api_key') as records,
         (select count(*) from pgboss.job where name = 'mail') as mails`,
      [auditStart],
    )
    const { records: allRecords, mails } = counts.rows[0]!
    const roles = new Map(members.rows.map(({ uid, type }) => [uid, type]))
    return { rows, records, roleRecords, roles, allRecords, mails }
  } finally {
    await client.end()
  }
}

async function verify({ connection, dataFolder }: Place) {
  const keys = await readMasterKeys(masterKeyPath(dataFolder))
  if (keys === null) throw new Error(`There is no master key in ${dataFolder}`)
  const database = openDatabase(connection, {
    poolSize: 1,
    queryTimeoutMs: 20_000,
    applicationName: 'yardmaster e2e verifies',
  })
  try {
    const witnesses = await fileWitness(`${dataFolder}/audit-heads.jsonl`, systemClock).read()
    return await verifyAudit(database.kysely, new Vault(keys), witnesses)
  } finally {
    await database.close()
  }
}
