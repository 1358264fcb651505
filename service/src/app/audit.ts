import { timingSafeEqual } from 'node:crypto'
import { chainInput, isCounted } from '../domain/audit.ts'
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

/** Reads the whole chain and says everything that does not fit, at most twenty faults. Safe beside a running service. */
export async function verifyAudit(db: Db, vault: Vault, witnesses: readonly WitnessedHead[]): Promise<Verification> {
  const faults: string[] = []
  const fault = (text: string): void => {
    if (faults.length < MAX_FAULTS) faults.push(text)
  }
  const known = new Set(vault.kids)
  // The head first: rows that commit while we read come after it and are not asked of it.
  const head = await audit.readHead(db)
  const waiting = Map.groupBy(witnesses, (one) => one.id)
  const uncounted = new Set<number>()
  let previous: Buffer = GENESIS
  let last = 0
  let rows = 0
  let headSeen = head.id === 0 && same(head.mac, GENESIS)
  for (;;) {
    const batch: ChainedRow[] = await audit.readChain(db, last, BATCH)
    for (const row of batch) {
      rows++
      if (row.id !== last + 1) fault(`rows ${last + 1} to ${row.id - 1} are missing`)
      if (!known.has(row.kid)) fault(`row ${row.id} names the master key ${row.kid}, which is not in the ring`)
      else if (!same(vault.auditMac(chainInput(previous, row), row.kid), row.mac)) {
        fault(`row ${row.id} was changed, or what stands before it was`)
      }
      for (const witness of waiting.get(row.id) ?? []) {
        if (!same(witness.mac, row.mac)) fault(`row ${row.id} is not the one that ${witness.where} saw`)
      }
      waiting.delete(row.id)
      if (row.id === head.id && same(row.mac, head.mac)) headSeen = true
      if (isCounted(row.eventType)) uncounted.add(row.id)
      previous = row.mac
      last = row.id
    }
    if (batch.length < BATCH) break
  }
  if (!headSeen) fault(`the head in the database (row ${head.id}) is not in the log`)
  if ((await audit.countUpTo(db, last)) !== rows) fault('there are rows that do not belong to the chain')
  for (const missing of [...waiting.values()].flat()) {
    if (missing.id > 0) fault(`row ${missing.id}, which ${missing.where} saw, is gone: the newest rows were cut off`)
  }
  const counts = await audit.readRefusals(db)
  for (const count of counts) {
    if (!audit.refusalMacs(vault, count).some((mac) => same(mac, count.mac))) {
      fault(`the count of refusals beside row ${count.auditId} was changed`)
    }
    // Refusals that were recorded after the walk are not asked for their row.
    if (!uncounted.delete(count.auditId) && count.auditId <= last) {
      fault(`there is a count of refusals beside row ${count.auditId}, which is none`)
    }
  }
  for (const id of uncounted) fault(`the count of refusals beside row ${id} is gone`)
  // The head last, too: a row and the head that names it are written together, so no row lies beyond it.
  const end = await audit.readHead(db)
  for (const id of [last, ...counts.map((one) => one.auditId)]) {
    if (id > end.id) fault(`row ${id} lies beyond the head in the database (row ${end.id})`)
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
