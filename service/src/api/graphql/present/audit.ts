import type { AuditRecord } from '../../../app/audit.ts'
import type { Actor } from '../../../domain/actor.ts'
import type { AuditLog } from '../wire-types.ts'
import { presentJson } from './client.ts'

export function presentAuditLog(actor: Actor, record: AuditRecord): AuditLog {
  const metadata = JSON.parse(record.metadata) as Record<string, unknown>
  return {
    id: record.id,
    createdDttm: record.createdAt,
    updatedDttm: record.updatedAt,
    workspaceId: record.workspaceId,
    workspaceName: record.workspaceName,
    actorType: record.actorType,
    actorUserId: record.actorUserId,
    actorEmail: record.actorEmail,
    eventSourceId: record.eventSourceId,
    eventSource: record.eventSource,
    eventId: record.eventId,
    eventType: record.eventType,
    metadataJson: presentJson(actor, record.refusals === null ? metadata : { ...metadata, count: record.refusals }),
  }
}
