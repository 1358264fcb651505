import { timingSafeEqual } from 'node:crypto'
import { chainInput } from '../domain/audit.ts'
import { invalidInput } from '../domain/errors.ts'
import { parseInstant } from '../domain/text.ts'
import type { WitnessedHead } from '../ports/audit-witness.ts'
import type { AuditRecord, ChainedRow } from '../store/audit.ts'
import * as audit from '../store/audit.ts'
import type { Db } from '../store/database.ts'
import type { Vault } from '../store/vault.ts'
import type { Context } from './context.ts'

export interface AuditQuery {
  readonly offset: number | null
  readonly limit: number | null
  readonly from: string | null
  readonly to: string | null
  readonly eventType: string | null
  readonly actorEmail: string | null
}

export type { AuditRecord } from '../store/audit.ts'

export const MAX_AUDIT_ROWS = 10_000

export async function listAuditLogs(
  ctx: Context,
  query: AuditQuery,
): Promise<{ records: AuditRecord[]; total: number }> {
  const { offset, limit } = query
  if (limit !== null && (limit < 1 || limit > MAX_AUDIT_ROWS)) throw invalidInput(`limit: 1 to ${MAX_AUDIT_ROWS}.`)
  if (offset !== null && offset < 0) throw invalidInput('offset: 0 or more.')
  return await audit.list(ctx.db, {
    visible: ctx.visible,
    offset: offset ?? 0,
    limit: limit ?? MAX_AUDIT_ROWS,
    from: query.from === null ? null : parseInstant(query.from, 'from'),
    to: query.to === null ? null : parseInstant(query.to, 'to'),
    eventType: query.eventType,
    actorEmail: query.actorEmail,
  })
}

// --- verification

export interface Verification {
  readonly rows: number
  readonly head: audit.AuditHead
  readonly witnesses: number
  readonly faults: readonly string[]
}

const BATCH = 5000
const MAX_FAULTS = 20
const GENESIS = Buffer.alloc(32)

const same = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** Reads the whole chain and says everything that does not fit, at most twenty faults. */
export async function verifyAudit(db: Db, vault: Vault, witnesses: readonly WitnessedHead[]): Promise<Verification> {
  const faults: string[] = []
  const fault = (text: string): void => {
    if (faults.length < MAX_FAULTS) faults.push(text)
  }
  // The head first: rows that commit while we read come after it and are not asked of it.
  const head = await audit.readHead(db)
  const waiting = new Map<number, WitnessedHead[]>()
  for (const one of witnesses) waiting.set(one.id, [...(waiting.get(one.id) ?? []), one])
  let previous: Buffer = GENESIS
  let last = 0
  let rows = 0
  let headSeen = head.id === 0 && same(head.mac, GENESIS)
  for (;;) {
    const batch: ChainedRow[] = await audit.readChain(db, last, BATCH)
    for (const row of batch) {
      rows++
      if (row.id !== last + 1) fault(`rows ${last + 1} to ${row.id - 1} are missing`)
      if (!vault.kids.includes(row.kid))
        fault(`row ${row.id} names the master key ${row.kid}, which is not in the ring`)
      else if (!same(vault.auditMac(chainInput(previous, row), row.kid), row.mac)) {
        fault(`row ${row.id} was changed, or what stands before it was`)
      }
      for (const witness of waiting.get(row.id) ?? []) {
        if (!same(witness.mac, row.mac)) fault(`row ${row.id} is not the one that ${witness.where} saw`)
      }
      waiting.delete(row.id)
      if (row.id === head.id && same(row.mac, head.mac)) headSeen = true
      previous = row.mac
      last = row.id
    }
    if (batch.length < BATCH) break
  }
  if (!headSeen) fault(`the head in the database (row ${head.id}) is not in the log`)
  for (const missing of [...waiting.values()].flat()) {
    if (missing.id > 0) fault(`row ${missing.id}, which ${missing.where} saw, is gone: the newest rows were cut off`)
  }
  for (const count of await audit.readRefusals(db)) {
    if (!audit.refusalMacs(vault, count).some((mac) => same(mac, count.mac))) {
      fault(`the count of refusals beside row ${count.auditId} was changed`)
    }
    if (count.auditId > last) fault(`row ${count.auditId}, whose refusals are counted, is gone`)
  }
  return { rows, head, witnesses: witnesses.length, faults }
}

/** All rows in the order of the chain, for an export that another program can verify again. */
export async function* exportAudit(db: Db): AsyncGenerator<ChainedRow> {
  let last = 0
  for (;;) {
    const batch = await audit.readChain(db, last, 1000)
    yield* batch
    if (batch.length < 1000) return
    last = batch.at(-1)!.id
  }
}
