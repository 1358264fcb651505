// Which session a thread of Slack belongs to: the one that was started from it, else the one whose texts stand in it.
import { sql } from 'kysely'
import type { Db } from './database.ts'

/** Slack says channels by their ids, sessions may name theirs: what was posted tells which it is. Of the threads of children none answers: they are written to by their parents. */
export async function findSession(
  db: Db,
  workspaceId: number,
  thread: { readonly channel: string; readonly ts: string },
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`/* slack_thread_session */ select s.id from agent_session s
    where s.workspace_id = ${workspaceId} and s.parent_id is null and (
      (s.slack_channel = ${thread.channel} and s.slack_thread_ts = ${thread.ts})
      or exists (select 1 from delivery d where d.workspace_id = s.workspace_id and d.line = 'agent ' || s.id
        and d.channel = 'slack' and d.result ->> 'channel' = ${thread.channel}
        and (s.slack_thread_ts = ${thread.ts} or (s.slack_thread_ts = '' and d.result ->> 'thread' = ${thread.ts}))))
    order by s.created_at desc, s.id limit 1`.execute(db)
  return rows[0]?.id ?? null
}
