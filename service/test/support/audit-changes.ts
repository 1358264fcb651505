// What somebody with every right on the database, but without the master key, can do to the audit log; and, where it
// says so, with the key too. Each makes one random change and says in words what it was.
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { chainInput } from '../../src/domain/audit.ts'
import type { WitnessedHead } from '../../src/ports/audit-witness.ts'
import type { ChainedRow } from '../../src/store/audit.ts'
import * as audit from '../../src/store/audit.ts'
import type { Db } from '../../src/store/database.ts'
import { Vault } from '../../src/store/vault.ts'

export interface Log {
  readonly tx: Db
  readonly vault: Vault
  readonly rows: number
  /** The last of them saw the newest row. */
  readonly witnesses: readonly WitnessedHead[]
}

/** Whole numbers from 0 up to, and without, the one given. */
export type Dice = (below: number) => number

/** Small and repeatable; not for secrets. */
export function random(seed: number): Dice {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Change = (log: Log, dice: Dice) => Promise<string>

const NUMBERS = ['workspace_id', 'actor_user_id', 'event_source_id', 'event_id'] as const
const TEXTS = ['workspace_name', 'actor_type', 'actor_email', 'event_source', 'event_type', 'metadata', 'kid'] as const
const COLUMNS = sql`created_at, workspace_id, workspace_name, actor_type, actor_user_id, actor_email, event_source_id,
  event_source, event_id, event_type, metadata, kid, mac`

const anyRow = (log: Log, dice: Dice): number => 1 + dice(log.rows)

/** Still JSON where it was, so that the guard of the column does not find it first. */
function otherText(column: string, text: string, dice: Dice): string {
  if (column === 'metadata') {
    const data = JSON.parse(text) as Record<string, unknown>
    const forms = [
      () => JSON.stringify({ ...data, number: Number(data.number) + 1 }),
      () => JSON.stringify({}),
      () => `${text} `,
      () => text.replace(':', ': '),
      () => JSON.stringify(Object.fromEntries(Object.entries(data).reverse())),
    ]
    return forms[dice(forms.length)]!()
  }
  const forms = [`${text}x`, `x${text}`, text === '' ? ' ' : text.slice(1), text === '' ? '\t' : '', `${text} `]
  return forms[dice(forms.length)]!
}

async function writeChain(log: Log, rows: readonly ChainedRow[], sealer: Vault, kid: string | null): Promise<void> {
  let previous: Buffer = Buffer.alloc(32)
  const values = rows.map((one, index) => {
    const row = { ...one, id: index + 1, kid: kid ?? one.kid }
    previous = sealer.auditMac(chainInput(previous, row), kid === null ? row.kid : sealer.kid)
    return sql`(${row.id}, ${`${row.createdAt}Z`}, ${row.workspaceId}, ${row.workspaceName}, ${row.actorType},
      ${row.actorUserId}, ${row.actorEmail}, ${row.eventSourceId}, ${row.eventSource}, ${row.eventId}, ${row.eventType},
      ${row.metadata}, ${row.kid}, ${previous})`
  })
  await sql`delete from audit_log`.execute(log.tx)
  await sql`insert into audit_log (id, ${COLUMNS}) values ${sql.join(values)}`.execute(log.tx)
  await sql`update audit_head set last_id = ${rows.length}, last_mac = ${previous}`.execute(log.tx)
}

const flipped = (bytes: Buffer, dice: Dice): Buffer => {
  const copy = Buffer.from(bytes)
  const bit = dice(copy.length * 8)
  copy[bit >> 3]! ^= 1 << (bit & 7)
  return copy
}

async function rowAt(log: Log, id: number): Promise<ChainedRow> {
  return (await audit.readChain(log.tx, id - 1, 1))[0]!
}

async function refusalAt(log: Log, dice: Dice): Promise<audit.RefusalCount> {
  const all = await audit.readRefusals(log.tx)
  return all[dice(all.length)]!
}

export const CHANGES: Readonly<Record<string, Change>> = {
  'a number is changed': async (log, dice) => {
    const [id, column] = [anyRow(log, dice), NUMBERS[dice(NUMBERS.length)]!]
    const by = [1, -1, 1000, 2 ** 20][dice(4)]!
    await sql`update audit_log set ${sql.ref(column)} = ${sql.ref(column)} + ${by} where id = ${id}`.execute(log.tx)
    return `${column} of row ${id} by ${by}`
  },
  'a text is changed': async (log, dice) => {
    const [id, column] = [anyRow(log, dice), TEXTS[dice(TEXTS.length)]!]
    const { rows } = await sql<{ text: string }>`
      select ${sql.ref(column)} as text from audit_log where id = ${id}`.execute(log.tx)
    const text = otherText(column, rows[0]!.text, dice)
    await sql`update audit_log set ${sql.ref(column)} = ${text} where id = ${id}`.execute(log.tx)
    return `${column} of row ${id} to ${JSON.stringify(text)}`
  },
  'a time is changed': async (log, dice) => {
    const id = anyRow(log, dice)
    const forms = [
      sql`created_at + interval '1 microsecond'`,
      sql`created_at - interval '1 year'`,
      sql`created_at + interval '1 hour'`,
      sql`(wire_time(created_at) || 'Z BC')::timestamptz`,
      sql`'infinity'::timestamptz`,
    ]
    const form = dice(forms.length)
    await sql`update audit_log set created_at = ${forms[form]!} where id = ${id}`.execute(log.tx)
    return `time of row ${id}, form ${form}`
  },
  'a mac is changed': async (log, dice) => {
    const id = anyRow(log, dice)
    const { mac } = await rowAt(log, id)
    const forms = [flipped(mac, dice), randomBytes(32), Buffer.alloc(32)]
    await sql`update audit_log set mac = ${forms[dice(forms.length)]!} where id = ${id}`.execute(log.tx)
    return `mac of row ${id}`
  },
  'a row is said to be of the other master key': async (log, dice) => {
    const id = anyRow(log, dice)
    const { kid } = await rowAt(log, id)
    const other = log.vault.kids.find((one) => one !== kid)!
    await sql`update audit_log set kid = ${other} where id = ${id}`.execute(log.tx)
    return `kid of row ${id}`
  },
  'a row is deleted': async (log, dice) => {
    const id = anyRow(log, dice)
    await sql`delete from audit_log where id = ${id}`.execute(log.tx)
    return `row ${id}`
  },
  'rows in a row are deleted': async (log, dice) => {
    const from = anyRow(log, dice)
    const to = from + dice(log.rows)
    await sql`delete from audit_log where id between ${from} and ${to}`.execute(log.tx)
    return `rows ${from} to ${to}`
  },
  'a row is deleted and those after it move up': async (log, dice) => {
    const id = anyRow(log, dice)
    await sql`delete from audit_log where id = ${id}`.execute(log.tx)
    await sql`update audit_log set id = id - 1 where id > ${id}`.execute(log.tx)
    const newest = await rowAt(log, log.rows - 1)
    await sql`update audit_head set last_id = ${log.rows - 1}, last_mac = ${newest.mac}`.execute(log.tx)
    return `row ${id}`
  },
  'two rows change places': async (log, dice) => {
    const [one, two] = [anyRow(log, dice), anyRow(log, dice)]
    const other = one === two ? (two % log.rows) + 1 : two
    await sql`update audit_log set id = ${one + other} - id where id in (${one}, ${other})`.execute(log.tx)
    return `rows ${one} and ${other}`
  },
  'two rows change what they say and keep their ids and macs': async (log, dice) => {
    const one = anyRow(log, dice)
    const other = (one % log.rows) + 1
    await sql`update audit_log a set actor_email = b.actor_email, metadata = b.metadata, event_type = b.event_type
      from audit_log b where a.id in (${one}, ${other}) and b.id = ${one + other} - a.id`.execute(log.tx)
    return `rows ${one} and ${other}`
  },
  'ids are shifted': async (log, dice) => {
    const [from, by] = [anyRow(log, dice), [1, 7, -1000][dice(3)]!]
    await sql`update audit_log set id = id + ${by} where id >= ${from}`.execute(log.tx)
    return `from row ${from} by ${by}`
  },
  'a row is copied to another id': async (log, dice) => {
    const [id, place] = [anyRow(log, dice), [log.rows + 1, log.rows + 50, 0, -3][dice(4)]!]
    await sql`insert into audit_log (id, ${COLUMNS}) select ${place}, ${COLUMNS} from audit_log
      where id = ${id}`.execute(log.tx)
    return `row ${id} to ${place}`
  },
  'a row is doubled under its own id': async (log, dice) => {
    const id = anyRow(log, dice)
    await sql`insert into audit_log (id, ${COLUMNS}) select id, ${COLUMNS} from audit_log where id = ${id}`.execute(
      log.tx,
    )
    return `row ${id}`
  },
  'a row is made up': async (log, dice) => {
    const [id, place] = [anyRow(log, dice), [log.rows + 1, 0, -1][dice(3)]!]
    await sql`insert into audit_log select ${place}, created_at, workspace_id, workspace_name, actor_type, actor_user_id,
      'mallory@example.com', event_source_id, event_source, event_id, event_type, metadata, kid, ${randomBytes(32)}
      from audit_log where id = ${id}`.execute(log.tx)
    return `at ${place}`
  },
  'the newest rows are cut off': async (log, dice) => {
    const left = dice(log.rows)
    await sql`delete from audit_log where id > ${left}`.execute(log.tx)
    return `after row ${left}`
  },
  'the newest rows are cut off, their counts too, and the head is set back to fit': async (log, dice) => {
    const left = dice(log.rows)
    const mac = left === 0 ? Buffer.alloc(32) : (await rowAt(log, left)).mac
    await sql`delete from audit_log where id > ${left}`.execute(log.tx)
    await sql`delete from audit_refusal where audit_id > ${left}`.execute(log.tx)
    await sql`update audit_head set last_id = ${left}, last_mac = ${mac}`.execute(log.tx)
    return `after row ${left}`
  },
  'the head alone is changed': async (log, dice) => {
    const id = dice(log.rows)
    const forms: [number, Buffer][] = [
      [id, id === 0 ? Buffer.alloc(32) : (await rowAt(log, id)).mac],
      [log.rows, randomBytes(32)],
      [log.rows + 5, randomBytes(32)],
    ]
    const [last, mac] = forms[dice(forms.length)]!
    await sql`update audit_head set last_id = ${last}, last_mac = ${mac}`.execute(log.tx)
    return `to row ${last}`
  },
  'the whole chain is written anew under a key of their own': async (log, dice) => {
    const rows = await audit.readChain(log.tx, 0, log.rows)
    const stranger = new Vault([randomBytes(32)])
    const named = [log.vault.kid, stranger.kid][dice(2)]!
    await writeChain(log, rows, stranger, named)
    return `named ${named === stranger.kid ? 'as it is' : 'as ours'}`
  },
  'the whole chain is written anew with the right key and other content': async (log, dice) => {
    const rows = await audit.readChain(log.tx, 0, log.rows)
    const at = dice(rows.length)
    const changed = rows.map((row, index) => (index === at ? { ...row, actorEmail: 'somebody@example.com' } : row))
    await writeChain(log, changed, log.vault, null)
    return `row ${at + 1}`
  },
  'the whole chain is written anew with the right key and one row less': async (log, dice) => {
    const rows = await audit.readChain(log.tx, 0, log.rows)
    // A row with a count beside it would be missed by that alone.
    const plain = rows.filter((row) => row.eventType !== 'mutation_denied')
    const gone = plain[dice(plain.length)]!
    await writeChain(
      log,
      rows.filter((row) => row.id !== gone.id),
      log.vault,
      null,
    )
    return `row ${gone.id}`
  },
  'a count of refusals is changed': async (log, dice) => {
    const { auditId } = await refusalAt(log, dice)
    const forms = [
      sql`count = count - 1`,
      sql`count = 0`,
      sql`count = count + 1000`,
      sql`updated_at = updated_at - interval '1 minute'`,
      sql`hour = hour - interval '1 hour'`,
      sql`principal = 'key:9999'`,
      sql`event_id = event_id + 1`,
      sql`audit_id = audit_id + 1`,
      sql`mac = ${randomBytes(32)}`,
    ]
    const form = dice(forms.length)
    await sql`update audit_refusal set ${forms[form]!} where audit_id = ${auditId}`.execute(log.tx)
    return `beside row ${auditId}, form ${form}`
  },
  'a count of refusals is deleted': async (log, dice) => {
    const { auditId } = await refusalAt(log, dice)
    await sql`delete from audit_refusal where audit_id = ${auditId}`.execute(log.tx)
    return `beside row ${auditId}`
  },
  'a count of refusals is copied to another row': async (log, dice) => {
    const { auditId } = await refusalAt(log, dice)
    await sql`insert into audit_refusal select principal || 'x', event_id, hour, audit_id + 1, count, updated_at, mac
      from audit_refusal where audit_id = ${auditId}`.execute(log.tx)
    return `of row ${auditId}`
  },
  'two refusals change their counts': async (log, dice) => {
    const all = await audit.readRefusals(log.tx)
    const one = dice(all.length)
    const [first, second] = [all[one]!, all[(one + 1) % all.length]!]
    await sql`update audit_refusal a set count = b.count, mac = b.mac, updated_at = b.updated_at from audit_refusal b
      where a.audit_id in (${first.auditId}, ${second.auditId})
        and b.audit_id = ${first.auditId + second.auditId} - a.audit_id`.execute(log.tx)
    return `beside rows ${first.auditId} and ${second.auditId}`
  },
}
