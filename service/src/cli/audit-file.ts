// The form of an exported audit log, and the check of one without a database. It repeats what app/audit.ts does on the
// table, on lines that may be of another machine and that anybody may have edited: nothing in them is believed.
import { timingSafeEqual } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { type AuditRow, chainInput } from '../domain/audit.ts'
import { invalidInput } from '../domain/errors.ts'
import type { WitnessedHead } from '../ports/audit-witness.ts'
import type { ChainedRow } from '../store/audit.ts'
import type { Vault } from '../store/vault.ts'

export const EXPORT_FORM =
  'One JSON object a line, in the order of the chain, with every column of the log: id, created_at, workspace_id, ' +
  'workspace_name, actor_type, actor_user_id, actor_email, event_source_id, event_source, event_id, event_type, ' +
  'metadata (a text that holds JSON), kid (which master key) and mac (in hex). The mac of a line is the HMAC-SHA-256 of ' +
  'the JSON array, without spaces, of the mac of the line before it (64 zeros before the first) and all columns from ' +
  'id to kid; its key is HKDF-SHA-256 of the master key with an empty salt, the info "yardmaster audit v1" and 32 ' +
  'bytes. How often a refusal was repeated is counted beside the log and not exported.'

const lineShape = z.strictObject({
  id: z.int(),
  created_at: z.string(),
  workspace_id: z.int(),
  workspace_name: z.string(),
  actor_type: z.string(),
  actor_user_id: z.int(),
  actor_email: z.string(),
  event_source_id: z.int(),
  event_source: z.string(),
  event_id: z.int(),
  event_type: z.string(),
  metadata: z.string(),
  kid: z.string(),
  mac: z.string().regex(/^[0-9a-f]{64}$/),
})

type Line = z.infer<typeof lineShape>

export function exportLine(row: ChainedRow): string {
  const line: Line = {
    id: row.id,
    created_at: row.createdAt,
    workspace_id: row.workspaceId,
    workspace_name: row.workspaceName,
    actor_type: row.actorType,
    actor_user_id: row.actorUserId,
    actor_email: row.actorEmail,
    event_source_id: row.eventSourceId,
    event_source: row.eventSource,
    event_id: row.eventId,
    event_type: row.eventType,
    metadata: row.metadata,
    kid: row.kid,
    mac: row.mac.toString('hex'),
  }
  return `${JSON.stringify(line)}\n`
}

const rowOf = (line: Line): AuditRow => ({
  id: line.id,
  createdAt: line.created_at,
  workspaceId: line.workspace_id,
  workspaceName: line.workspace_name,
  actorType: line.actor_type,
  actorUserId: line.actor_user_id,
  actorEmail: line.actor_email,
  eventSourceId: line.event_source_id,
  eventSource: line.event_source,
  eventId: line.event_id,
  eventType: line.event_type,
  metadata: line.metadata,
  kid: line.kid,
})

const MAX_FAULTS = 20

/**
 * Heads that are newer than the end of the file are no fault: an export grows old. That its end was cut off shows
 * where a head of the same time was kept, which is why the head is printed.
 */
export async function verifyExport(
  path: string,
  vault: Vault,
  witnesses: readonly WitnessedHead[],
): Promise<{ rows: number; head: { id: number; mac: string }; witnesses: number; faults: string[] }> {
  const faults: string[] = []
  const fault = (text: string): void => {
    if (faults.length < MAX_FAULTS) faults.push(text)
  }
  const seen = Map.groupBy(witnesses, (one) => one.id)
  let previous: Buffer = Buffer.alloc(32)
  let last = 0
  let rows = 0
  let compared = 0
  for await (const { text, number } of linesOf(path)) {
    const line = parseLine(text)
    if (line === null) {
      fault(`line ${number} is not a row of an export`)
      continue
    }
    rows++
    const row = rowOf(line)
    const mac = Buffer.from(line.mac, 'hex')
    if (row.id !== last + 1) fault(`line ${number} is row ${row.id}, where row ${last + 1} belongs`)
    if (!vault.kids.includes(row.kid)) fault(`row ${row.id} names the master key ${row.kid}, which is not in the ring`)
    else if (!timingSafeEqual(vault.auditMac(chainInput(previous, row), row.kid), mac)) {
      fault(`row ${row.id} was changed, or what stands before it was`)
    }
    for (const witness of seen.get(row.id) ?? []) {
      compared++
      if (!witness.mac.equals(mac)) fault(`row ${row.id} is not the one that ${witness.where} saw`)
    }
    previous = mac
    last = row.id
  }
  return { rows, head: { id: last, mac: previous.toString('hex') }, witnesses: compared, faults }
}

/** By line feeds alone: readline also ends a line at U+2028, which JSON leaves as it is in a text. */
async function* linesOf(path: string): AsyncGenerator<{ text: string; number: number }> {
  let rest = ''
  let number = 0
  try {
    for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const text of lines) yield { text, number: ++number }
    }
  } catch (error) {
    throw invalidInput(`The export ${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? error}).`)
  }
  if (rest !== '') yield { text: rest, number: ++number }
}

function parseLine(text: string): Line | null {
  try {
    return lineShape.parse(JSON.parse(text))
  } catch {
    return null
  }
}
