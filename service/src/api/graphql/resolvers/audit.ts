import * as audit from '../../../app/audit.ts'
import type { Context } from '../../../app/context.ts'
import { presentAuditLog } from '../present/audit.ts'
import type { AuditLogs, QueryGetAuditLogsArgs } from '../wire-types.ts'

export const auditResolvers = {
  async getAuditLogs(ctx: Context, args: QueryGetAuditLogsArgs): Promise<AuditLogs> {
    const { records, total } = await audit.listAuditLogs(ctx, {
      offset: args.offset ?? null,
      limit: args.limit ?? null,
      from: args.from ?? null,
      to: args.to ?? null,
      eventType: args.eventType ?? null,
      actorEmail: args.actorEmail ?? null,
    })
    return { ok: true, auditLogs: records.map((one) => presentAuditLog(ctx.actor, one)), totalCount: total }
  },
}
