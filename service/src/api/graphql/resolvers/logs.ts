import { commandLogs, searchLog } from '../../../app/command-logs.ts'
import type { Context } from '../../../app/context.ts'
import { workspaceOf } from '../../../app/context.ts'
import { watchLog } from '../../../app/live.ts'
import { logUrl } from '../../../app/log-links.ts'
import { parseStream, presentBatch, presentMatches } from '../present/log.ts'
import type {
  BoltCommandLogs,
  BoltLogMatches,
  CommandLogUrl,
  QueryBoltCommandLogsArgs,
  QueryCommandLogUrlArgs,
  QuerySearchCommandLogArgs,
  SubscriptionBoltCommandLogArgs,
} from '../wire-types.ts'

const SOME_MATCHES = 100

export const logResolvers = {
  async boltCommandLogs(ctx: Context, args: QueryBoltCommandLogsArgs): Promise<BoltCommandLogs> {
    return presentBatch(await commandLogs(ctx, args.commandId, args.cursor ?? null))
  },
  async searchCommandLog(ctx: Context, args: QuerySearchCommandLogArgs): Promise<BoltLogMatches> {
    const command = { workspaceId: workspaceOf(ctx).id, id: args.commandId }
    return presentMatches(await searchLog(ctx.db, command, args.text, args.limit ?? SOME_MATCHES))
  },
  async commandLogUrl(ctx: Context, args: QueryCommandLogUrlArgs): Promise<CommandLogUrl> {
    return { ok: true, url: await logUrl(ctx, args.commandId, parseStream(args.stream)) }
  },
  async boltCommandLog(
    ctx: Context,
    args: SubscriptionBoltCommandLogArgs,
    signal: AbortSignal,
  ): Promise<AsyncIterable<BoltCommandLogs>> {
    const batches = await watchLog(ctx, { commandId: args.commandId, cursor: args.cursor ?? null }, signal)
    return (async function* () {
      for await (const batch of batches) yield presentBatch(batch)
    })()
  },
}
