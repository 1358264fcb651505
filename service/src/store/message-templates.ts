// Rows of message templates.
import { sql } from 'kysely'
import type { NoticeChannel, TemplateText } from '../domain/messages/notice.ts'
import type { Db } from './database.ts'

export interface MessageTemplate extends TemplateText {
  readonly channel: NoticeChannel
  /** As on the wire. */
  readonly createdAt: string
  readonly updatedAt: string
}

const columns = sql`slug, name, channel, subject, text, wire_time(created_at) as "createdAt",
  wire_time(updated_at) as "updatedAt"`

/** By name. */
export async function list(db: Db, workspaceId: number): Promise<MessageTemplate[]> {
  const { rows } = await sql<MessageTemplate>`/* message_template_list */ select ${columns} from message_template
    where workspace_id = ${workspaceId} order by name, slug`.execute(db)
  return rows
}

export async function find(db: Db, workspaceId: number, slug: string): Promise<MessageTemplate | null> {
  const { rows } = await sql<MessageTemplate>`/* message_template_find */ select ${columns} from message_template
    where workspace_id = ${workspaceId} and slug = ${slug}`.execute(db)
  return rows[0] ?? null
}

/** The names of those that are there, by slug. */
export async function namesOf(
  db: Db,
  workspaceId: number,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (slugs.length === 0) return new Map()
  const { rows } = await sql<{ slug: string; name: string }>`/* message_template_names */ select slug, name
    from message_template where workspace_id = ${workspaceId} and slug = any(${[...slugs]}::text[])`.execute(db)
  return new Map(rows.map((one) => [one.slug, one.name]))
}

/** Locked to the end of the transaction. */
export async function lock(tx: Db, workspaceId: number, slug: string): Promise<MessageTemplate | null> {
  const { rows } = await sql<MessageTemplate>`/* message_template_lock */ select ${columns} from message_template
    where workspace_id = ${workspaceId} and slug = ${slug} for update`.execute(tx)
  return rows[0] ?? null
}

export type TemplateValues = Pick<MessageTemplate, 'name' | 'subject' | 'text'>

/** False when the slug is taken, also by somebody who came in a moment ago. */
export async function insert(
  tx: Db,
  workspaceId: number,
  one: TemplateValues & Pick<MessageTemplate, 'slug' | 'channel'>,
): Promise<boolean> {
  const done = await sql`/* message_template_insert */ insert into message_template (workspace_id, slug, name, channel,
      subject, text)
    values (${workspaceId}, ${one.slug}, ${one.name}, ${one.channel}, ${one.subject}, ${one.text})
    on conflict (workspace_id, slug) do nothing`.execute(tx)
  return done.numAffectedRows === 1n
}

/** Under `lock`. */
export async function update(tx: Db, workspaceId: number, slug: string, values: TemplateValues): Promise<void> {
  await sql`/* message_template_update */ update message_template set name = ${values.name},
      subject = ${values.subject}, text = ${values.text}, updated_at = clock_timestamp()
    where workspace_id = ${workspaceId} and slug = ${slug}`.execute(tx)
}

/** Under `lock`. Deliveries hold the words that they were written with. */
export async function remove(tx: Db, workspaceId: number, slug: string): Promise<void> {
  await sql`/* message_template_delete */ delete from message_template
    where workspace_id = ${workspaceId} and slug = ${slug}`.execute(tx)
}

export async function count(db: Db, workspaceId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`/* message_template_count */ select count(*)::int as count
    from message_template where workspace_id = ${workspaceId}`.execute(db)
  return rows[0]!.count
}
